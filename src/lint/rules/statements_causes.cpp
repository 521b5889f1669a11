// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "catalog/gpu_instances.h"
#include "lint/rules/statements.h"
#include "lint/words.h"

/// DOC002, DOC003, DOC006: causes of errors, and advice against them.
namespace aliquot::lint {

using findings::Severity;

namespace {

/// Statements of one heading, in the file's order.
struct Section {
    int heading = -1;
    std::string path;
    std::vector<const Statement*> statements;

    [[nodiscard]] bool mentions(std::span<const std::string_view> words) const {
        return contains_any(path, words) ||
               std::any_of(statements.begin(), statements.end(), [words](const Statement* some) {
                   return contains_any(some->text, words);
               });
    }
};

std::vector<Section> sections_of(const File& file) {
    std::vector<Section> sections;
    for (const auto& statement : file.statements) {
        if (sections.empty() || sections.back().heading != statement.heading) {
            sections.push_back(
                {statement.heading, lower(file.heading_path(statement.heading)), {}});
        }
        sections.back().statements.push_back(&statement);
    }
    return sections;
}

constexpr std::array<std::string_view, 7> kAboutArchitecture{
    "architecture", "compute capability", "sm_", "arch list", "arch_list",
    "gencode",      "kernel image for"};

/// "no kernel image" is a program without code for this GPU; drivers have no part in it.
void check_kernel_image(const Section& section, Report& report) {
    constexpr std::array<std::string_view, 1> kError{"no kernel image"};
    if (!section.mentions(kError) || section.mentions(kAboutArchitecture)) {
        return;
    }
    constexpr std::array<std::string_view, 8> kVerdicts{
        "mismatch", "wrong", "incompatib", "match", "update", "upgrade", "too old", "install"};
    bool behind = contains(section.path, kError.front());
    for (const auto* statement : section.statements) {
        const std::string_view text = statement->text;
        behind = behind || contains(text, "no kernel image");
        const bool blames = contains(text, "driver") || contains(text, "cuda version") ||
                            contains(text, "cuda toolkit");
        if (behind && blames && contains_any(text, kVerdicts)) {
            report
                .add("DOC002", statement->mark,
                     "\"no kernel image\" means that the program has no code for this GPU; the "
                     "driver's version has no part in it")
                .expected("a build or image for the GPU's compute capability");
            return;
        }
    }
}

/// OOMKilled is the memory of the node, CUDA out of memory is that of the GPU.
void check_killed(const Section& section, Report& report) {
    for (const auto* statement : section.statements) {
        const std::string_view text = statement->text;
        const bool killed = contains(text, "oomkilled") || contains(text, "exit code 137");
        if (killed && (contains(text, "gpu memory") || contains(text, "vram")) &&
            !is_negated(text) && !contains(text, "host") && !contains(text, "system") &&
            !contains(text, " vs") && !contains(text, "ram ") && !contains(text, " or ")) {
            report
                .add("DOC002", statement->mark,
                     "OOMKilled is about the container's memory limit, not about GPU memory")
                .expected("limits.memory of the container");
            return;
        }
    }
    constexpr std::array<std::string_view, 3> kKilled{"oomkilled", "exit 137", "exit code 137"};
    constexpr std::array<std::string_view, 8> kContainers{
        "limits.memory", "memory limit",  "memory.limit", "resources.limits",
        "host memory",   "system memory", "memory:",      "cuda"};
    const auto title = section.path.substr(section.path.rfind('>') + 1);
    if (!contains_any(title, kKilled) || contains(title, "cuda") || contains(title, "gpu") ||
        section.mentions(kContainers)) {
        return;
    }
    constexpr std::array<std::string_view, 10> kTooLarge{
        "bigger than vram",      "larger than vram",      "exceeds vram",
        "exceeds gpu memory",    "not fit in vram",       "not fit in gpu memory",
        "not enough vram",       "not enough gpu memory", "insufficient gpu memory",
        "gpu-memory-utilization"};
    for (const auto* statement : section.statements) {
        if (contains_any(statement->text, kTooLarge)) {
            report
                .add("DOC002", statement->mark,
                     "OOMKilled is about the container's memory limit, not about GPU memory")
                .expected("limits.memory of the container");
            return;
        }
    }
}

/// "nvidia-smi: command not found" has other causes than a missing driver.
void check_missing_program(const Section& section, Report& report) {
    constexpr std::array<std::string_view, 4> kErrors{
        "nvidia-smi not found", "nvidia-smi: command not found", "nvidia-smi: not found",
        "nvidia-smi: executable"};
    constexpr std::array<std::string_view, 6> kOthers{"runtime", "toolkit", "capabilit",
                                                      "cdi",     "$path",   "path variable"};
    if (!section.mentions(kErrors) || section.mentions(kOthers)) {
        return;
    }
    const Statement* where = nullptr;
    for (const auto* statement : section.statements) {
        const std::string_view text = statement->text;
        if (contains(text, "driver") && contains(text, "not installed")) {
            where = statement;
        } else if (where == nullptr && contains_any(text, kErrors)) {
            where = statement;
        }
    }
    if (where != nullptr) {
        report
            .add(
                "DOC002", where->mark,
                "nvidia-smi is also missing where the container runtime injects no GPU, or without "
                "the capability 'utility'")
            .severity(Severity::kInfo);
    }
}

/// dcgm-exporter sends nothing to CloudWatch.
void check_cloudwatch(const File& file, Report& report) {
    constexpr std::array<std::string_view, 8> kAgents{"cloudwatch agent",   "cloudwatch-agent",
                                                      "amazon-cloudwatch",  "adot",
                                                      "opentelemetry",      "otel",
                                                      "container insights", "aws-for-fluent"};
    if (!file.mentions("cloudwatch") || !file.mentions("dcgm") ||
        std::any_of(kAgents.begin(), kAgents.end(),
                    [&file](std::string_view word) { return file.mentions(word); })) {
        return;
    }
    for (const auto& command : file.commands) {
        const auto path = lower(file.heading_path(command.heading));
        const auto last = path.rfind(" > ");
        const auto heading = last == std::string::npos ? path : path.substr(last);
        if (command.block >= 0 && contains(command.text, "dcgm-exporter") &&
            heading.find("cloudwatch") != std::string::npos &&
            (command.is("kubectl") || command.is("helm"))) {
            report
                .add("DOC002", command.mark,
                     "dcgm-exporter sends nothing to CloudWatch: it waits to be scraped")
                .fix("the CloudWatch agent or an OpenTelemetry collector that scrapes port 9400");
        }
    }
}

bool is_gpu_document(const File& file) {
    return !file.headings.empty() && contains(file.headings[0].text, "gpu");
}

/// The section is about the memory of the GPU.
bool is_about_gpu_memory(const File& file, const Section& section) {
    const auto& path = section.path;
    const auto last = path.rfind(" > ");
    const auto heading =
        last == std::string::npos ? std::string_view(path) : std::string_view(path).substr(last);
    const bool memory =
        heading.find("memory") != std::string_view::npos || contains_word(heading, "oom");
    const bool out = heading.find("out of") != std::string_view::npos ||
                     contains_word(heading, "oom") ||
                     heading.find("error") != std::string_view::npos ||
                     heading.find("insufficient") != std::string_view::npos;
    return memory && out &&
           (heading.find("gpu") != std::string_view::npos ||
            heading.find("cuda") != std::string_view::npos || is_gpu_document(file));
}

/// Lists under "**Out of memory errors**" without a heading of their own.
bool begins_memory_list(const Statement& statement) {
    const std::string_view text = statement.text;
    return text.size() < 80 && (contains(text, "out of memory") || contains(text, "cuda oom")) &&
           statement.kind != Statement::Kind::kComment;
}

class MemoryAdvice {
public:
    MemoryAdvice(const File& file, Report& report) : file_(file), report_(report) {
        infers_ = file.mentions("inference") || file.mentions("serving");
        trains_ = file.mentions("training") || file.mentions("train ") ||
                  file.mentions("trainer") || file.mentions("fine-tun") ||
                  file.mentions("finetun") || file.mentions("epoch");
    }

    void check(const Section& section) {
        const bool in_section = is_about_gpu_memory(file_, section);
        constexpr std::array<std::string_view, 4> kHost{"oomkilled", "host memory", "system memory",
                                                        "137"};
        const bool also_host = section.mentions(kHost);
        bool in_list = false;
        unsigned told_line = 0;  // where CUDA out of memory was last spoken of
        for (const auto* statement : section.statements) {
            constexpr unsigned kNear = 4;
            const bool tells = contains(statement->text, "cuda out of memory") ||
                               contains(statement->text, "cuda oom") ||
                               contains(statement->text, "cuda error: out of memory") ||
                               contains(statement->text, "gpu out of memory") ||
                               contains(statement->text, "gpu oom");
            if (tells) told_line = statement->mark.line;
            if (!in_section && !in_list && told_line != 0 &&
                statement->mark.line <= told_line + kNear) {
                judge_limit(*statement, also_host);
            }
            if (begins_memory_list(*statement)) {
                in_list = true;
                continue;
            }
            if (in_list && statement->kind != Statement::Kind::kListItem) {
                in_list = false;
            }
            if (in_list && statement->text.size() < 60 && statement->text.starts_with("**")) {
                in_list = false;  // the next item of the outer list
            }
            if (in_section || in_list) {
                judge(*statement, also_host);
            }
        }
    }

private:
    /// A larger limits.memory as the answer.
    void judge_limit(const Statement& statement, bool also_host) {
        const std::string_view text = statement.text;
        const bool raises =
            contains(text, "increase") || contains(text, "raise") || contains(text, "bump");
        const bool host = contains(text, "memory limit") || contains(text, "limits.memory") ||
                          contains(text, "resources.limits") || contains(text, "memory request") ||
                          contains(text, "system ram");
        if (raises && host && !also_host && !is_negated(text) && !contains(text, "gpu memory") &&
            !contains(text, "gpumem") && !contains(text, "host")) {
            report_
                .add("DOC003", statement.mark,
                     "a memory limit is about the node's memory; GPU memory does not grow with it")
                .expected("smaller batch or model, a GPU with more memory, fewer pods on the GPU");
        }
    }

    void judge(const Statement& statement, bool also_host) {
        judge_limit(statement, also_host);
        const std::string_view text = statement.text;
        if (infers_ && !trains_ && !is_negated(text) &&
            (contains(text, "gradient checkpointing") || contains(text, "gradient accumulation"))) {
            report_
                .add("DOC003", statement.mark,
                     "gradients are there in training only; this is about inference")
                .expected("smaller batch, lower precision, a shorter context");
        }
        if (contains(text, "hook") && (contains(text, "cleanup") || contains(text, "clean up")) &&
            contains(text, "memory")) {
            report_
                .add("DOC003", statement.mark,
                     "GPU memory is free again when the process ends; look for processes that "
                     "are left over")
                .fix("nvidia-smi --query-compute-apps=pid,used_memory --format=csv");
        }
        check_larger_machine(statement);
    }

    /// DOC006: another size of a machine with the same GPU.
    void check_larger_machine(const Statement& statement) {
        const std::string_view text = statement.text;
        if (!contains(text, "larger") && !contains(text, "bigger") && !contains(text, "scale up") &&
            !contains(text, "upgrade")) {
            return;
        }
        for (const auto& instance : catalog::gpu_instances()) {
            if (!contains(text, instance.type)) {
                continue;
            }
            const auto family = instance.type.substr(0, instance.type.find('.'));
            for (const auto& other : catalog::gpu_instances()) {
                if (other.type != instance.type &&
                    other.type.substr(0, other.type.find('.')) == family &&
                    other.vcpu < instance.vcpu && other.gpu_count == instance.gpu_count &&
                    other.gpu_memory_mib == instance.gpu_memory_mib &&
                    file_.mentions(lower(other.type))) {
                    report_
                        .add("DOC006", statement.mark,
                             std::string(instance.type) + " has the same GPU memory as " +
                                 std::string(other.type) + ": " +
                                 std::to_string(instance.gpu_memory_mib / 1024) + " GiB")
                        .expected("a machine with another GPU");
                    return;
                }
            }
        }
    }

    const File& file_;
    Report& report_;
    bool infers_ = false;
    bool trains_ = false;
};

/// empty_cache() after every request.
void check_empty_cache(const File& file, Report& report) {
    if (!file.mentions("empty_cache")) {
        return;
    }
    constexpr std::array<std::string_view, 6> kEveryTime{
        "between", "after each", "after every", "every request", "each request", "before each"};
    for (const auto& block : file.blocks) {
        if (block.setting != Setting::kFence) {
            continue;
        }
        const std::string_view text = block.text;
        const auto at = text.find("torch.cuda.empty_cache(");
        if (at == std::string_view::npos) {
            continue;
        }
        const auto before = text.substr(0, text.rfind('\n', at) + 1);
        const auto comment_begin =
            before.size() < 2 ? std::string_view::npos : before.rfind('\n', before.size() - 2);
        const auto comment =
            before.substr(comment_begin == std::string_view::npos ? 0 : comment_begin + 1);
        if (comment.find('#') != std::string_view::npos && contains_any(comment, kEveryTime)) {
            report.add(
                "DOC003", block.place(at),
                "empty_cache() frees no memory that is in use, and every call makes the next "
                "request slower");
        }
    }
}

}  // namespace

void check_causes(const File& file, Report& report) {
    if (file.mentions("cloudwatch")) {
        check_cloudwatch(file, report);
    }
    const bool has_errors = file.mentions("no kernel image") || file.mentions("nvidia-smi") ||
                            file.mentions("oomkilled") || file.mentions("137");
    if (!has_errors) {
        return;
    }
    for (const auto& section : sections_of(file)) {
        check_kernel_image(section, report);
        check_killed(section, report);
        check_missing_program(section, report);
    }
}

void check_memory_advice(const File& file, Report& report) {
    check_empty_cache(file, report);
    if (!file.mentions("memory")) {
        return;
    }
    MemoryAdvice advice(file, report);
    for (const auto& section : sections_of(file)) {
        advice.check(section);
    }
}

}  // namespace aliquot::lint
