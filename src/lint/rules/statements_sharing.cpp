// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text.h"
#include "lint/rules/statements.h"
#include "lint/words.h"

/// DOC001, DOC004, DOC005, DOC008, SH011: what sharing, limits and displays promise.
namespace aliquot::lint {

using findings::Severity;

namespace {

/// "1/4", "50%", "half", "a quarter": a part of a whole.
bool names_a_part(std::string_view text) {
    constexpr std::array<std::string_view, 6> kWords{"half ",   "quarter",     "one third",
                                                     "a third", "equal share", "1/n"};
    if (contains_any(text, kWords)) {
        return true;
    }
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
        if (!is_digit(text[at])) {
            continue;
        }
        auto end = at;
        while (end < text.size() && is_digit(text[end])) {
            ++end;
        }
        if (end < text.size() && text[end] == '%' && text.substr(at, end - at) != "100") {
            return true;
        }
        const bool alone =
            at == 0 || text[at - 1] == ' ' || text[at - 1] == '(' || text[at - 1] == '~';
        if (text.substr(at, end - at) == "1" && alone && end + 1 < text.size() &&
            text[end] == '/' && is_digit(text[end + 1])) {
            return true;
        }
        at = end;
    }
    return false;
}

/// DOC004: a share of time is a slot in a queue, not a part of the GPU.
void check_share(const File& file, const Statement& statement, Report& report) {
    const std::string_view text = statement.text;
    constexpr std::array<std::string_view, 6> kGets{"get",       "receive",   "each",
                                                    "guarantee", "every pod", "represent"};
    constexpr std::array<std::string_view, 12> kOfGpu{"gpu time",
                                                      "gpu compute",
                                                      "gpu's time",
                                                      "gpu power",
                                                      "of the gpu",
                                                      "of a gpu",
                                                      "gpu performance",
                                                      "of one gpu",
                                                      "of a physical gpu",
                                                      "of the physical gpu",
                                                      "of one physical gpu",
                                                      "of each physical gpu"};
    constexpr std::array<std::string_view, 14> kHonest{
        "up to", "at most", "if all", "when all", "no guarantee", "busy",      "idle",
        "assum", "depends", "may ",   "can use",  "when other",   "gpu limit", "mps"};
    if (!contains_any(text, kGets) || !contains_any(text, kOfGpu) || !names_a_part(text) ||
        is_negated(text) || contains_any(text, kHonest) || contains_word(text, "mig") ||
        contains(text, "instance") || contains(text, "vgpu")) {
        return;
    }
    const auto path = lower(file.heading_path(statement.heading));
    const bool sliced = contains(text, "slic") || path.find("slic") != std::string::npos ||
                        file.mentions("timeslicing") || file.mentions("time-slicing");
    const auto last = path.rfind(" > ");
    const auto heading =
        last == std::string::npos ? std::string_view(path) : std::string_view(path).substr(last);
    if (!sliced || contains_word(heading, "mps") || contains_word(heading, "mig") ||
        heading.find("hami") != std::string_view::npos) {
        return;
    }
    report
        .add("DOC004", statement.mark,
             "time-slicing gives no pod a fixed part: each gets a turn while others are busy, and "
             "all "
             "the time while they are not")
        .expected("a number of slots, with neither a share of time nor of memory");
}

/// DOC004 as advice: a GPU limit counts GPUs.
void check_limit(const Statement& statement, Report& report) {
    const std::string_view text = statement.text;
    constexpr std::array<std::string_view, 4> kExcess{"runaway", "excessive gpu", "overuse",
                                                      "overconsum"};
    if (contains(text, "limit") && contains(text, "prevent") && contains(text, "gpu") &&
        contains_any(text, kExcess)) {
        report
            .add(
                "DOC004", statement.mark,
                "a limit of nvidia.com/gpu counts GPUs; it does not hold back what a pod does with "
                "them")
            .severity(Severity::kInfo);
    }
}

/// DOC005: without a limit a pod does not become a CPU pod by itself.
void check_fallback(const File& file, Report& report) {
    const Statement* removal = nullptr;
    for (const auto& statement : file.statements) {
        const std::string_view text = statement.text;
        const bool removes = (contains(text, "remov") || contains(text, "delete") ||
                              contains(text, "drop") || contains(text, "unset")) &&
                             (contains(text, "nvidia.com/gpu") || contains(text, "gpu limit") ||
                              contains(text, "gpu request") || contains(text, "gpu resource"));
        if (removes) {
            removal = &statement;
        }
        const bool falls = contains(text, "fall back to cpu") ||
                           contains(text, "falls back to cpu") ||
                           contains(text, "fallback to cpu") || contains(text, "back to the cpu");
        const bool near = removal != nullptr && removal->heading == statement.heading &&
                          statement.mark.line - removal->mark.line <= 3;
        if (falls && near && !is_negated(text)) {
            report
                .add("DOC005", removal->mark,
                     "without the limit a program that is told to use CUDA stops, and where nvidia "
                     "is the default runtime the pod still sees every GPU")
                .expected("the CPU image or setting together with the removal");
            removal = nullptr;
        } else if (contains(text, "cpu fallback") && statement.kind == Statement::Kind::kListItem &&
                   (contains(text, "implement") || contains(text, "enable"))) {
            report
                .add("DOC005", statement.mark,
                     "a silent fallback to the CPU hides that the GPU is idle or missing")
                .severity(Severity::kInfo)
                .expected("a metric or log line that says which device is used");
        }
    }
}

/// DOC008: GPU-Util tells that some kernel ran, not how much of the GPU it used.
void check_utilization(const File& file, const Statement& statement, Report& report) {
    constexpr std::array<std::string_view, 10> kContention{
        "reduce replica", "reduce the replica",
        "fewer replica",  "contention",
        "oversubscri",    "overcommit",
        "too many pods",  "overloaded",
        "contended",      "reduce the number of r"};
    const auto is_full = [](std::string_view text) {
        return contains(text, "util") &&
               (contains(text, "100%") || contains(text, "100 %") || contains(text, "99%"));
    };
    const bool titled = statement.heading >= 0 && statement.kind != Statement::Kind::kComment &&
                        is_full(file.headings[static_cast<std::size_t>(statement.heading)].text);
    std::string_view rest = statement.text;
    while (!rest.empty()) {  // sentence by sentence
        const auto end = rest.find(". ");
        const auto text = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 2);
        if ((titled || is_full(text)) && contains_any(text, kContention) && !is_negated(text)) {
            report
                .add("DOC008", statement.mark,
                     "100 % GPU-Util means that some kernel ran all the time; one pod alone can "
                     "show it")
                .expected("latency, queue length, or DCGM_FI_PROF_SM_ACTIVE");
            return;
        }
    }
}

/// SH011: the number that nvidia-smi calls "CUDA Version".
void check_cuda_version(const Statement& statement, Report& report) {
    const std::string_view text = statement.text;
    constexpr std::array<std::string_view, 10> kRight{"maximum", "highest",   "up to",  "max ",
                                                      "support", "latest",    "newest", "driver's",
                                                      "at most", "driver api"};
    constexpr std::array<std::string_view, 6> kShows{
        "shows cuda version",       "shows the cuda version", "displays the cuda version",
        "reports the cuda version", "tells the cuda version", "installed cuda version"};
    if (contains(text, "nvidia-smi") && contains_any(text, kShows) && !contains_any(text, kRight) &&
        !is_negated(text)) {
        report
            .add("SH011", statement.mark,
                 "nvidia-smi shows the newest CUDA version that the driver runs, not the one that "
                 "is "
                 "installed")
            .expected("the version in the image's tag");
    }
}

/// DOC001: MPS is not streams.
void check_mps(const Statement& statement, Report& report) {
    const std::string_view text = statement.text;
    const bool mps = contains_word(text, "MPS") || contains(text, "multi-process service");
    if (!mps || is_negated(text)) {
        return;
    }
    constexpr std::array<std::string_view, 5> kStreams{"(cuda streams)", "using cuda streams",
                                                       "via cuda streams", "through cuda streams",
                                                       "with cuda streams"};
    if (contains_any(text, kStreams)) {
        report.add(
            "DOC001", statement.mark,
            "MPS joins the contexts of several processes; CUDA streams are inside one process");
    }
}

/// DOC001: a GPU can be shared, in three ways at least.
void check_unshareable(const File& file, const Statement& statement, Report& report) {
    const std::string_view text = statement.text;
    if (statement.kind == Statement::Kind::kComment) return;  // of the setting beside it
    constexpr std::array<std::string_view, 5> kCannot{
        "gpus cannot be shared", "gpus can't be shared", "gpus can not be shared",
        "gpu cannot be shared", "gpu can't be shared"};
    constexpr std::array<std::string_view, 9> kBounded{"default",        "unless", "without",
                                                       "native",         "whole",  "except",
                                                       "out of the box", "before", "namespace"};
    if (!contains_any(text, kCannot) || contains_any(text, kBounded)) return;
    if (!contains(text, "pod") && !contains(text, "container") && !contains(text, "workload")) {
        return;
    }
    const bool knows = file.mentions("time-slic") || file.mentions("timeslic") ||
                       file.mentions("time slic") || file.mentions("multi-instance") ||
                       file.mentions("nvidia.com/mig") || file.mentions("multi-process service");
    if (knows) return;
    report
        .add("DOC001", statement.mark,
             "GPUs can be shared: by time-slicing and MPS on any, by MIG on those that have it")
        .expected("by default a GPU is given to one pod");
}

/// DOC001 as advice: the count is kept by the scheduler alone.
void check_exclusive(const Statement& statement, Report& report) {
    const std::string_view text = statement.text;
    if (contains(text, "exclusive access") && contains(text, "gpu") &&
        (contains(text, "pod") || contains(text, "container")) && !is_negated(text)) {
        report
            .add("DOC001", statement.mark,
                 "the count is exclusive, the GPU is not: where nvidia is the default runtime, a "
                 "pod "
                 "that asks for none can see it")
            .severity(Severity::kInfo);
    }
}

}  // namespace

void check_promises_of_sharing(const File& file, Report& report) {
    for (const auto& statement : file.statements) {
        if (statement.text.size() > 2'000) {
            continue;
        }
        check_share(file, statement, report);
        check_limit(statement, report);
        check_utilization(file, statement, report);
        check_cuda_version(statement, report);
        check_mps(statement, report);
        check_exclusive(statement, report);
        check_unshareable(file, statement, report);
    }
    check_fallback(file, report);
}

}  // namespace aliquot::lint
