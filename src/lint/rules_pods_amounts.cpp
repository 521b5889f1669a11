// SPDX-License-Identifier: Apache-2.0
// What pods ask for: POD001, POD002, POD008, POD019, POD023.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalog/mig_profiles.h"
#include "lint/evidence.h"
#include "lint/pod_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// Resources that are counted in whole devices.
bool is_counted(std::string_view name) {
    return name == "nvidia.com/gpu" || name == "nvidia.com/gpu.shared" ||
           !mig_profile(name).empty() || name == "amd.com/gpu";
}

std::string quoted(const ResourceValue& value) { return value.name + ": " + value.text; }

/// A limit beside a lone request: written above `requests:`, in the same indentation.
void add_limit(const File& file, const Node& resources, const ResourceValue& request,
               Report::Entry& entry) {
    const Node::Entry* requests = entry_at(resources, "requests");
    if (requests == nullptr || !begins_line(file, requests->first.mark)) return;
    const Node::Entry* limits = entry_at(resources, "limits");
    const std::string line = request.name + ": " + request.text + "\n";
    if (limits == nullptr) {
        const unsigned column = requests->first.mark.column;
        const std::string indent(column - 1, ' ');
        entry.edit(file, requests->first.mark, 0, "limits:\n" + indent + "  " + line + indent);
        return;
    }
    if (!limits->second.is_mapping() || limits->second.entries.empty()) return;
    const Mark first = limits->second.entries.front().first.mark;
    if (!begins_line(file, first)) return;
    entry.edit(file, first, 0, line + std::string(first.column - 1, ' '));
}

void check_pair(const File& file, const Node& resources, const ResourceValue& request,
                const ResourceValue* limit, bool whole, Report& report) {
    if (is_placeholder(request.text) || !request.amount) return;
    if (limit == nullptr) {
        if (!whole || *request.amount == 0) return;
        auto entry = report.add("POD001", request.key->mark,
                                "'" + quoted(request) + "' is requested without a limit");
        entry.expected("the same number under limits; limits alone would do");
        entry.fix("limits:\n  " + quoted(request));
        add_limit(file, resources, request, entry);
        return;
    }
    if (is_placeholder(limit->text) || !limit->amount || *limit->amount == *request.amount) return;
    auto entry = report.add(
        "POD001", request.key->mark,
        request.name + " is requested " + request.text + " times, but its limit is " + limit->text);
    entry.expected("the same number in both").fix(quoted(*limit));
    const std::size_t length = written_length(file, *request.value);
    const std::size_t from = written_length(file, *limit->value);
    if (length == 0 || from == 0) return;
    entry.edit(file, request.value->mark, length,
               file.original.substr(file.offset(limit->value->mark), from));
}

/// "?*", ">=1", "1-8": what a policy asks of other objects.
bool is_pattern(std::string_view text) {
    return text.find_first_of("*?<>|!&") != std::string_view::npos;
}

void check_number(const ResourceValue& value, Report& report) {
    if (is_placeholder(value.text) || !is_counted(value.name)) return;
    if (is_pattern(value.text)) return;
    if (!value.amount) {
        if (value.text.empty() || value.value->is_mapping()) return;
        report.add("POD001", value.key->mark, "'" + quoted(value) + "' is no quantity")
            .expected("a whole number")
            .fix(value.name + ": 1");
        return;
    }
    const double amount = *value.amount;
    constexpr double kAbsurd = 1'000;
    if (std::abs(amount - std::round(amount)) > 1e-9) {
        report.add("POD001", value.key->mark, "'" + quoted(value) + "' is no whole number")
            .expected(
                "a whole number; a part of a GPU is a MIG device or a share of the device "
                "plugin")
            .fix(value.name + ": " + number_text(std::max(1.0, std::ceil(amount))));
    } else if (amount >= kAbsurd || amount < 0) {
        report.add("POD001", value.key->mark, "'" + quoted(value) + "' counts GPUs, not memory")
            .expected("a whole number of GPUs")
            .fix(value.name + ": 1");
    }
}

void check_amounts(const File& file, const Node& resources,
                   const std::vector<ResourceValue>& requests,
                   const std::vector<ResourceValue>& limits, bool whole, Report& report) {
    for (const ResourceValue& request : requests) {
        if (!is_gpu_resource(request.name)) continue;
        const auto limit =
            std::find_if(limits.begin(), limits.end(),
                         [&](const ResourceValue& one) { return one.name == request.name; });
        check_number(request, report);
        check_pair(file, resources, request, limit == limits.end() ? nullptr : &*limit, whole,
                   report);
    }
    for (const ResourceValue& limit : limits) {
        const bool requested =
            std::any_of(requests.begin(), requests.end(),
                        [&](const ResourceValue& one) { return one.name == limit.name; });
        if (!requested || !limit.amount) check_number(limit, report);
    }
}

/// The right name for a wrong one; empty: the name may be right.
std::string right_name(const std::string& name) {
    static constexpr std::array<std::string_view, 14> kWrong{
        "gpus",       "GPU",         "Gpu",         "gpu-shared", "gpu_shared",
        "shared-gpu", "gpushared",   "gpu.share",   "gpu-share",  "gpu.count",
        "gpu.memory", "gpu.product", "gpu.present", "GPUs"};
    const auto slash = name.find('/');
    if (slash == std::string::npos) {
        if (name == "gpu" || name == "gpus" || name == "nvidia-gpu" || name == "nvidia.gpu" ||
            name == "nvidia.com.gpu" || name == "nvidia.com" || name == "nvidia") {
            return "nvidia.com/gpu";
        }
        return starts_with(name, "mig-") ? "nvidia.com/" + name : std::string();
    }
    if (name == "alpha.kubernetes.io/nvidia-gpu") return "nvidia.com/gpu";
    const std::string domain = name.substr(0, slash);
    const std::string rest = name.substr(slash + 1);
    if (domain == "nvidia.com") {
        if (std::find(kWrong.begin(), kWrong.end(), rest) != kWrong.end()) {
            return rest.find("share") != std::string::npos ? "nvidia.com/gpu.shared"
                                                           : "nvidia.com/gpu";
        }
        if (ends_with(rest, ".share")) return name + "d";
        if (starts_with(rest, "mig") && !starts_with(rest, "mig-"))
            return "nvidia.com/mig-<profile>";
        return {};
    }
    if (rest != "gpu" && rest != "gpus" && rest != "gpu.shared" && !starts_with(rest, "mig-")) {
        return {};
    }
    const bool near = domain == "nvidia" || domain == "nvidia.io" || domain == "nvidia.org" ||
                      domain == "www.nvidia.com" || domain == "kubernetes.io" ||
                      (!contains(domain, "amd") && !contains(domain, "intel") &&
                       nearest(domain, {"nvidia.com"}) == "nvidia.com");
    if (!near) return {};
    return "nvidia.com/" + (rest == "gpus" ? std::string("gpu") : rest);
}

void check_name(const ResourceValue& value, Report& report) {
    if (is_placeholder(value.name)) return;
    const std::string right = right_name(value.name);
    if (right.empty()) return;
    auto entry =
        report.add("POD002", value.key->mark, "no node offers the resource '" + value.name + "'");
    entry.expected(right).fix(right + ": " + value.text);
}

/// Whether every sharing entry of the file for whole GPUs renames them (or none does).
enum class Renaming : std::uint8_t { kUnknown, kAll, kNone };
Renaming renaming_of(const File& file) {
    unsigned renamed = 0;
    unsigned kept = 0;
    for (const Object& object : file.objects) {
        if (object.role != Role::kDevicePluginConfig) continue;
        for (const std::string_view way : {"sharing.timeSlicing", "sharing.mps"}) {
            const Node* block = at_path(*object.node, way);
            if (block == nullptr || block->find("resources") == nullptr) continue;
            ++(text_at(*block, "renameByDefault") == "true" ? renamed : kept);
        }
    }
    if (renamed > 0 && kept == 0) return Renaming::kAll;
    return kept > 0 && renamed == 0 ? Renaming::kNone : Renaming::kUnknown;
}

void check_shared_names(const File& file, Report& report) {
    const Renaming renaming = renaming_of(file);
    if (renaming == Renaming::kUnknown || file.mentions("rename:")) return;
    for (const PodSpec& pod : file.pods) {
        const GpuNeed need = gpu_need(pod);
        if (need.value == nullptr) continue;
        if (renaming == Renaming::kNone && need.value->name == "nvidia.com/gpu.shared") {
            report
                .add("POD002", need.value->key->mark,
                     "'nvidia.com/gpu.shared' is offered only with renameByDefault: true, and the "
                     "configuration of this file has it not")
                .expected("nvidia.com/gpu")
                .fix("nvidia.com/gpu: " + need.value->text);
        } else if (renaming == Renaming::kAll && need.value->name == "nvidia.com/gpu") {
            report
                .add("POD002", need.value->key->mark,
                     "the configuration of this file renames shared GPUs: no node offers "
                     "'nvidia.com/gpu'")
                .expected("nvidia.com/gpu.shared")
                .fix("nvidia.com/gpu.shared: " + need.value->text)
                .severity(file.is_prose() ? Severity::kWarning : Severity::kError);
        }
    }
}

/// A pod that only tries whether the GPU is there.
bool is_trial(const PodSpec& pod, const Object* object) {
    if (object != nullptr && object->kind == "Pod") return true;
    return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& one) {
        if (contains(one.image, "cuda-sample") || contains(one.image, "vectoradd") ||
            contains(one.image, "vector-add") || contains(one.image, "busybox") ||
            contains(one.image, "dcgmproftester") || contains(one.image, "gpu-burn") ||
            contains(one.image, "pause")) {
            return true;
        }
        return std::any_of(one.command.begin(), one.command.end(), [](const std::string& word) {
            return contains(word, "nvidia-smi") || contains(word, "vectorAdd") || word == "sleep" ||
                   contains(word, "nbody") || contains(word, "sleep ");
        });
    });
}

/// A Job is tried again when its pod was evicted; a service is gone meanwhile.
bool runs_to_end(const Object& object) { return object.kind == "Job" || object.kind == "CronJob"; }

void check_requests(const File& file, const PodSpec& pod, Report& report) {
    const Object* object = file.object(pod);
    if (object != nullptr && (object->role == Role::kPatch || object->broken)) return;
    for (const Container& container : pod.containers) {
        const ResourceValue* gpu = container.gpu();
        if (gpu == nullptr || container.init || container.resources == nullptr) continue;
        if (!gpu->amount || *gpu->amount == 0) continue;
        if (container.find("cpu") != nullptr || container.find("memory") != nullptr) continue;
        if (container.resources->find("<<") != nullptr) continue;
        const bool weak = !pod.whole || is_trial(pod, object) ||
                          (object != nullptr && (!object->is_workload() || runs_to_end(*object)));
        auto entry = report.add("POD008", gpu->key->mark,
                                (container.name.empty() ? std::string("the container")
                                                        : "container " + container.name) +
                                    " asks for " + gpu->name + ", but for no cpu and no memory");
        if (weak) entry.severity(Severity::kInfo);
    }
}

void check_several(const PodSpec& pod, Report& report) {
    double main = 0;
    const Container* first = nullptr;
    for (const Container& container : pod.containers) {
        const ResourceValue* gpu = container.gpu();
        if (gpu == nullptr || !gpu->amount || (container.init && !container.sidecar)) continue;
        main += *gpu->amount;
        if (first != nullptr && *gpu->amount > 0 && is_counted(gpu->name)) {
            report
                .add("POD019", gpu->key->mark,
                     "container " + container.name +
                         " asks for GPUs of its own besides container " + first->name +
                         ": the pod holds " + number_text(main))
                .severity(Severity::kInfo);
        }
        if (*gpu->amount > 0) first = &container;
    }
    if (!pod.whole) return;
    for (const Container& container : pod.containers) {
        const ResourceValue* gpu = container.gpu();
        if (!container.init || container.sidecar || gpu == nullptr || !gpu->amount) continue;
        if (*gpu->amount <= main || !is_counted(gpu->name)) continue;
        report.add("POD019", gpu->key->mark,
                   "the init container " + container.name + " asks for " + gpu->text +
                       " GPUs, the containers for " + number_text(main) +
                       ": the pod holds the larger number until it ends");
    }
}

void check_many(const File& file, const PodSpec& pod, bool shares, Report& report) {
    for (const Container& container : pod.containers) {
        const ResourceValue* gpu = container.gpu();
        if (gpu == nullptr || !gpu->amount || *gpu->amount <= 1) continue;
        const bool shared = ends_with(gpu->name, ".shared");
        if (!shared && !(shares && gpu->name == "nvidia.com/gpu")) continue;
        auto entry = report.add("POD023", gpu->key->mark,
                                "'" + quoted(*gpu) + "' asks for several shares of a shared GPU");
        entry.fix(gpu->name + ": 1");
        if (!shared && file.is_prose()) entry.severity(Severity::kInfo);
    }
}

bool shares_whole_gpus(const File& file) {
    return std::any_of(file.objects.begin(), file.objects.end(), [](const Object& object) {
        if (object.role != Role::kDevicePluginConfig) return false;
        const Node* list = at_path(*object.node, "sharing.timeSlicing.resources");
        if (list == nullptr) list = at_path(*object.node, "sharing.mps.resources");
        return list != nullptr && !list->items.empty() &&
               text_at(list->items.front(), "name") == "nvidia.com/gpu" &&
               text_at(*object.node, "sharing.timeSlicing.renameByDefault") != "true";
    });
}

bool is_denied(std::string_view line) {
    constexpr std::array<std::string_view, 12> kWords{
        "not ",  "n't",     "never",       "invalid", "wrong", "reject",
        "error", "instead", "unsupported", "fail",    "bad",   "\xE2\x9D\x8C"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [line](std::string_view word) { return contains(line, word); });
}

/// "limits:" and "kind: Pod", but not "trainers -> nvidia.com/gpu: 1".
bool begins_with_key(std::string_view text) {
    const std::string_view line = trim(trim(text).substr(0, trim(text).find('\n')));
    const auto colon = line.find(':');
    return colon != std::string_view::npos &&
           line.substr(0, colon).find(' ') == std::string_view::npos;
}

/// "nvidia.com/gpu: 0.5" in a sketch or a sentence that says no ill of it.
void check_told_parts(const File& file, Report& report) {
    constexpr std::string_view kPart = "nvidia.com/gpu: 0.";
    const std::string_view text = file.text;
    for (std::size_t at = 0; (at = text.find(kPart, at)) != std::string_view::npos;
         at += kPart.size()) {
        const std::size_t digit = at + kPart.size();
        if (digit >= text.size() || text[digit] < '0' || text[digit] > '9') continue;
        const Mark mark = file.mark(at);
        const bool read =
            std::any_of(file.blocks.begin(), file.blocks.end(), [&mark](const Block& block) {
                const bool yaml =
                    block.language == Language::kYaml || block.language == Language::kJson;
                const bool sketch = block.word.empty() && !begins_with_key(block.text);
                return yaml && !sketch && mark.line >= block.line &&
                       mark.line < block.line + block.lines();
            });
        if (read || is_denied(file.line(mark.line))) continue;
        report.add("POD001", mark, "nvidia.com/gpu is counted in whole numbers")
            .expected(
                "a whole number; a part of a GPU is a MIG device or a share of the device "
                "plugin");
    }
}

}  // namespace

void check_pod_amounts(const File& file, const Set& /*set*/, const Facts* /*facts*/,
                       Report& report) {
    const bool shares = shares_whole_gpus(file);
    for (const PodSpec& pod : file.pods) {
        const Object* object = file.object(pod);
        const bool patch = object != nullptr && (object->role == Role::kPatch || object->broken);
        for (const Container& container : pod.containers) {
            if (container.resources == nullptr) continue;
            const bool whole = !patch && container.resources->find("<<") == nullptr;
            check_amounts(file, *container.resources, container.requests, container.limits, whole,
                          report);
            for (const auto* list : {&container.limits, &container.requests}) {
                for (const ResourceValue& value : *list) check_name(value, report);
            }
        }
        check_requests(file, pod, report);
        check_several(pod, report);
        check_many(file, pod, shares, report);
    }
    for (const ResourceBlock& block : loose_resources(file)) {
        if (block.gpu() == nullptr) continue;
        const Object& object = file.objects[static_cast<std::size_t>(block.object)];
        check_amounts(file, *block.node, block.requests, block.limits,
                      !object.templated && !object.broken, report);
    }
    check_shared_names(file, report);
    if (file.is_prose()) check_told_parts(file, report);
}

}  // namespace aliquot::lint
