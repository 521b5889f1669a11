// SPDX-License-Identifier: Apache-2.0
// How many GPUs pods ask for: POD001, POD019, POD023.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalog/mig_profiles.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"
#include "lint/rules/evidence.h"
#include "lint/rules/pod_rules.h"
#include "lint/rules/whole_shares.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// Resources that are counted in whole devices.
bool is_counted(std::string_view name) {
    return name == "nvidia.com/gpu" || name == "nvidia.com/gpu.shared" ||
           !k8s::mig_profile(name).empty() || name == "amd.com/gpu";
}

std::string quoted(const ResourceValue& value) { return value.name + ": " + value.text; }

/// A limit beside a lone request: written above `requests:`, in the same indentation.
void add_limit(const File& file, const Value& resources, const ResourceValue& request,
               Report::Entry& entry) {
    const Value::Entry* requests = entry_at(resources, "requests");
    if (requests == nullptr || !begins_line(file, requests->first.mark)) return;
    const Value::Entry* limits = entry_at(resources, "limits");
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

void check_pair(const File& file, const Value& resources, const ResourceValue& request,
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

/// "512m" of memory is half a byte; Mi was meant.
void check_milli_memory(const ResourceValue& value, Report& report) {
    if (value.name != "memory" && value.name != "ephemeral-storage") return;
    if (is_placeholder(value.text) || value.text.size() < 2 || !value.text.ends_with('m')) return;
    if (!std::all_of(value.text.begin(), value.text.end() - 1, [](char c) { return is_digit(c); }))
        return;
    const std::string right = value.text.substr(0, value.text.size() - 1) + "Mi";
    report
        .add("POD001", value.key->mark,
             "'" + quoted(value) + "' is in thousandths of a byte: m is a thousandth")
        .expected(right)
        .fix(value.name + ": " + right)
        .severity(findings::Severity::kWarning);
}

void check_number(const ResourceValue& value, Report& report) {
    if (is_placeholder(value.text) || !is_counted(value.name)) return;
    if (is_pattern(value.text)) return;
    if (!value.amount) {
        if (value.text.empty() || value.text == "null" || value.value->is_mapping()) return;
        report.add("POD001", value.key->mark, "'" + quoted(value) + "' is not a quantity")
            .expected("a whole number")
            .fix(value.name + ": 1");
        return;
    }
    const double amount = *value.amount;
    constexpr double kAbsurd = 1'000;
    if (std::abs(amount - std::round(amount)) > 1e-9) {
        report.add("POD001", value.key->mark, "'" + quoted(value) + "' is not a whole number")
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

void check_amounts(const File& file, const Value& resources,
                   const std::vector<ResourceValue>& requests,
                   const std::vector<ResourceValue>& limits, bool whole, Report& report) {
    for (const ResourceValue& request : requests) {
        if (!k8s::is_gpu_resource(request.name)) continue;
        const auto limit =
            std::find_if(limits.begin(), limits.end(),
                         [&](const ResourceValue& one) { return one.name == request.name; });
        check_number(request, report);
        check_pair(file, resources, request, limit == limits.end() ? nullptr : &*limit, whole,
                   report);
    }
    for (const ResourceValue& one : limits) check_milli_memory(one, report);
    for (const ResourceValue& one : requests) check_milli_memory(one, report);
    for (const ResourceValue& limit : limits) {
        const bool requested =
            std::any_of(requests.begin(), requests.end(),
                        [&](const ResourceValue& one) { return one.name == limit.name; });
        if (!requested || !limit.amount) check_number(limit, report);
    }
}

ResourceValue value_of(const Value::Entry& entry) {
    return {entry.first.scalar, entry.second.scalar, &entry.first, &entry.second,
            k8s::quantity_value(entry.second.scalar)};
}

/// `extra_resource_limits:` of JupyterHub.
void check_extra_limits(const File& file, const Object& object, Report& report) {
    if (!file.mentions("extra_resource_")) return;
    walk(*object.node, [&report](const Value::Entry& entry) {
        if (entry.first.scalar != "extra_resource_limits" &&
            entry.first.scalar != "extra_resource_guarantees") {
            return;
        }
        for (const Value::Entry& one : entry.second.entries) {
            if (is_counted(one.first.scalar)) check_number(value_of(one), report);
        }
    });
}

/// A fence that is the line alone: `nvidia.com/gpu: 0.5`.
void check_bare_lines(const Object& object, Report& report) {
    if (object.role != Role::kNothing && object.role != Role::kFragment) return;
    if (!object.node->is_mapping()) return;
    for (const Value::Entry& entry : object.node->entries) {
        const ResourceValue value = value_of(entry);
        if (is_counted(value.name) && value.amount) check_number(value, report);
    }
}

/// `- {op: replace, path: .../limits/nvidia.com~1gpu, value: "0.5"}`, also with a mapping as value.
void check_json_patch(const Value& operation, Report& report) {
    const Value* path = operation.find("path");
    const Value* value = operation.find("value");
    if (path == nullptr || value == nullptr || operation.find("op") == nullptr) return;
    std::string name = path->scalar.substr(path->scalar.rfind('/') + 1);
    if (const auto slash = name.find("~1"); slash != std::string::npos) name.replace(slash, 2, "/");
    if (is_counted(name) && value->is_string()) {
        const ResourceValue amount{name, value->scalar, value, value,
                                   k8s::quantity_value(value->scalar)};
        if (amount.amount) check_number(amount, report);
        return;
    }
    walk(*value, [&report](const Value::Entry& entry) {
        const ResourceValue amount = value_of(entry);
        if (is_counted(amount.name) && amount.amount) check_number(amount, report);
    });
}

/// `kubectl set resources deployment/x --limits=nvidia.com/gpu=0.5`.
void check_set_resources(const Command& command, Report& report) {
    if (!command.is("kubectl", "set") && !command.is("oc", "set")) return;
    for (const std::string_view flag : {"--limits", "--requests"}) {
        const auto value = command.value(flag);
        const Word* word = command.flag(flag);
        if (!value || word == nullptr) continue;
        for (const std::string_view pair : split(*value, ',')) {
            const auto equals = pair.find('=');
            if (equals == std::string_view::npos || !is_counted(pair.substr(0, equals))) continue;
            const auto amount = k8s::quantity_value(pair.substr(equals + 1));
            if (!amount || std::abs(*amount - std::round(*amount)) < 1e-9) continue;
            report.add("POD001", word->mark, "'" + std::string(pair) + "' is not a whole number")
                .expected("a whole number; a part of a GPU is a MIG device or a share");
        }
    }
}

bool is_of_windows(const File& file, const Command& command) {
    if (file.name.ends_with(".ps1")) return true;
    if (command.block < 0) return false;
    const std::string& word = file.blocks[static_cast<std::size_t>(command.block)].word;
    return contains(word, "powershell") || word == "pwsh" || word == "ps1" || word == "bat" ||
           word == "cmd";
}

/// `helm upgrade --set resources.limits."nvidia\.com/gpu"=0.5`.
void check_set_values(const File& file, const Command& command, Report& report) {
    if (!command.is("helm")) return;
    const bool windows = is_of_windows(file, command);  // a backslash is itself there
    for (const Word& word : command.values("--set")) {
        for (const std::string_view pair : split(word.text, ',')) {
            const auto equals = pair.find('=');
            if (equals == std::string_view::npos) continue;
            std::string key(pair.substr(0, equals));
            const bool cut =
                contains(key, "limits.nvidia.com/") || contains(key, "requests.nvidia.com/");
            if (cut && !(windows && contains(command.text, "\\.com/"))) {
                report
                    .add("POD002", word.mark,
                         "helm cuts 'nvidia.com/gpu' at its dot: " + std::string(pair))
                    .expected("a backslash before the dot that reaches helm")
                    .fix("--set '" + std::string(pair.substr(0, pair.find(".com/"))) + "\\" +
                         std::string(pair.substr(pair.find(".com/"))) + "'");
            }
            key.erase(std::remove_if(key.begin(), key.end(),
                                     [](char c) { return c == '\\' || c == '"' || c == '\''; }),
                      key.end());
            const bool amount_key =
                key.ends_with("limits.nvidia.com/gpu") || key.ends_with("requests.nvidia.com/gpu");
            const auto amount = k8s::quantity_value(pair.substr(equals + 1));
            if (!amount_key || !amount || std::abs(*amount - std::round(*amount)) < 1e-9) continue;
            report.add("POD001", word.mark, "'" + std::string(pair) + "' is not a whole number")
                .expected("a whole number; a part of a GPU is a MIG device or a share");
        }
    }
}

/// `resources: {nvidia.com/gpu: 1}`, with neither limits nor requests between.
void check_level(const Object* object, const Value& resources, Report& report) {
    if (object == nullptr || !object->is_workload()) return;
    for (const Value::Entry& entry : resources.entries) {
        if (!is_counted(entry.first.scalar)) continue;
        report
            .add("POD001", entry.first.mark,
                 "'" + entry.first.scalar +
                     "' stands in resources itself, where the API knows no "
                     "such field")
            .expected("limits:")
            .fix("limits:\n  " + entry.first.scalar + ": " + entry.second.scalar);
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
        const bool shared = gpu->name.ends_with(".shared");
        if (!shared && !(shares && gpu->name == "nvidia.com/gpu")) continue;
        auto entry = report.add("POD023", gpu->key->mark,
                                "'" + quoted(*gpu) + "' asks for several shares of a shared GPU");
        entry.fix(gpu->name + ": 1");
        if (!shared && file.is_prose()) entry.severity(Severity::kInfo);
    }
}

bool is_denied(std::string_view line) {
    constexpr std::array<std::string_view, 12> kWords{
        "not ",  "n't",     "never",       "invalid", "wrong", "reject",
        "error", "instead", "unsupported", "fail",    "bad",   "\xE2\x9D\x8C"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [line](std::string_view word) { return contains(line, word); });
}

/// "C) A fraction such as ...": one of the answers of a quiz.
bool is_choice(std::string_view line) {
    const std::string_view text = trim(line);
    const auto letter = text.find_first_not_of("-*( ");
    if (letter == std::string_view::npos || letter + 1 >= text.size()) return false;
    return text[letter] >= 'A' && text[letter] <= 'E' && text[letter + 1] == ')';
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
        if (read || is_denied(file.line(mark.line)) || is_choice(file.line(mark.line))) continue;
        report.add("POD001", mark, "nvidia.com/gpu is counted in whole numbers")
            .expected(
                "a whole number; a part of a GPU is a MIG device or a share of the device "
                "plugin");
    }
}

}  // namespace

void check_pod_amounts(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    bool shares = false;
    if (file.mentions("nvidia.com/gpu")) {
        const WholeShares found = whole_shares(file, set);
        const bool own = found.holder == &file;
        // Of several in a directory nobody knows which nodes have them.
        shares = own ? found.kept > 0 : found.kept == 1 && found.renamed + found.others == 0;
    }
    for (const PodSpec& pod : file.pods) {
        const Object* object = file.object(pod);
        // What a stub leaves out is the image; a lone request in it is meant as it stands.
        const bool patch = object != nullptr &&
                           ((object->role == Role::kPatch && !object->stub) || object->broken);
        for (const Container& container : pod.containers) {
            if (container.resources == nullptr) continue;
            const bool whole = !patch && container.resources->find("<<") == nullptr;
            check_level(object, *container.resources, report);
            check_amounts(file, *container.resources, container.requests, container.limits, whole,
                          report);
        }
        check_several(pod, report);
        check_many(file, pod, shares, report);
    }
    for (const Object& object : file.objects) {
        check_bare_lines(object, report);
        check_extra_limits(file, object, report);
        if (object.role != Role::kNothing || !object.node->is_sequence()) continue;
        for (const Value& item : object.node->items) check_json_patch(item, report);
    }
    for (const Command& command : file.commands) {
        check_set_resources(command, report);
        check_set_values(file, command, report);
    }
    for (const ResourceBlock& block : loose_resources(file)) {
        if (block.gpu() == nullptr) continue;
        const Object& object = file.objects[static_cast<std::size_t>(block.object)];
        // A mapping with more in it is of a program's own, which may add the limit.
        const bool pure = std::all_of(
            block.node->entries.begin(), block.node->entries.end(), [](const Value::Entry& one) {
                const std::string& key = one.first.scalar;
                return key == "limits" || key == "requests" || key == "claims" || key == "<<";
            });
        check_amounts(file, *block.node, block.requests, block.limits,
                      pure && !object.templated && !object.broken, report);
    }
    if (file.is_prose()) check_told_parts(file, report);
}

}  // namespace aliquot::lint
