// SPDX-License-Identifier: Apache-2.0
// Quotas and disruption budgets: QUO001, PDB001.
#include <algorithm>
#include <optional>

#include "k8s/quantity.h"
#include "k8s/resource_name.h"
#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// "gpu", "requests.gpu": the API server takes no such name.
bool is_bare_gpu(std::string_view name) {
    constexpr std::string_view kRequests = "requests.";
    if (name.starts_with(kRequests)) name.remove_prefix(kRequests.size());
    return name == "gpu" || name == "gpus" || name == "nvidia-gpu";
}

/// HAMi's webhook reads limits of memory and cores besides, with the prefix of limits.
bool is_counted_by_hami(const File& file, const Value& hard) {
    if (file.mentions("hami")) return true;
    return std::any_of(hard.entries.begin(), hard.entries.end(), [](const Value::Entry& one) {
        return contains(one.first.scalar, "gpumem") || contains(one.first.scalar, "gpucores");
    });
}

/// `kubectl create quota q --hard=nvidia.com/gpu=4`.
void check_quota_command(const Command& command, Report& report) {
    const auto hard = command.value("--hard");
    const Word* word = command.flag("--hard");
    if (!hard || word == nullptr) return;
    for (const std::string_view pair : split(*hard, ',')) {
        std::string name(pair.substr(0, pair.find('=')));
        if (name.starts_with("limits.")) name.erase(0, std::string_view("limits.").size());
        if (!k8s::is_gpu_resource(name)) continue;
        report
            .add("QUO001", word->mark,
                 "the quota '" + std::string(pair.substr(0, pair.find('='))) + "' counts nothing")
            .expected("requests." + name);
    }
}

/// The part of the list `hard`, wherever it stands.
void check_hard(const File& file, const Value* hard, Report& report) {
    if (hard == nullptr) return;
    constexpr std::string_view kCount = "count/";
    constexpr std::string_view kLimits = "limits.";
    for (const Value::Entry& entry : hard->entries) {
        std::string name = entry.first.scalar;
        const bool limits = name.starts_with(kLimits);
        if (limits) name.erase(0, kLimits.size());
        if (name.starts_with(kCount) && k8s::is_gpu_resource(name.substr(kCount.size()))) {
            const std::string right = "requests." + name.substr(kCount.size());
            report
                .add("QUO001", entry.first.mark,
                     "'" + entry.first.scalar + "' is refused: count/ takes kinds of objects")
                .expected(right)
                .fix(right + ": " + entry.second.scalar);
            continue;
        }
        if (is_bare_gpu(name)) {
            report
                .add("QUO001", entry.first.mark,
                     "the quota '" + entry.first.scalar + "' names no resource of a vendor")
                .expected("requests.nvidia.com/gpu")
                .fix("requests.nvidia.com/gpu: " + entry.second.scalar);
            continue;
        }
        if (!k8s::is_gpu_resource(name) || (limits && is_counted_by_hami(file, *hard))) continue;
        auto finding = report.add("QUO001", entry.first.mark,
                                  "the quota '" + entry.first.scalar + "' counts nothing");
        finding.expected("requests." + name).fix("requests." + name + ": " + entry.second.scalar);
        if (hard->find("requests." + name) != nullptr) continue;
        const std::size_t length = written_length(file, entry.first);
        if (length == 0) continue;
        const std::string right = "requests." + name;
        finding.edit(file, entry.first.mark, length,
                     entry.first.quoted ? '"' + right + '"' : right);
    }
}

/// Whether all labels of a selector stand among the template's labels.
bool selects(const Value& selector, const PodSpec& pod) {
    const Value* labels = pod.metadata == nullptr ? nullptr : pod.metadata->find("labels");
    if (labels == nullptr || selector.entries.empty()) return false;
    return std::all_of(selector.entries.begin(), selector.entries.end(),
                       [labels](const Value::Entry& entry) {
                           const Value* value = labels->find(entry.first.scalar);
                           return value != nullptr && value->scalar == entry.second.scalar;
                       });
}

void check_budget(const File& file, const Set& set, const Object& object, Report& report) {
    const Value* selector = at_path(*object.node, "spec.selector.matchLabels");
    const Value::Entry* least = entry_at(*object.node, "spec.minAvailable");
    const Value::Entry* most = entry_at(*object.node, "spec.maxUnavailable");
    if (selector == nullptr) return;
    for (const File* near : set.neighbours(file)) {
        for (const PodSpec& pod : near->pods) {
            if (!pod.asks_gpu() || !selects(*selector, pod)) continue;
            const double replicas = pod.replicas.value_or(1);
            const bool none =
                most != nullptr && (most->second.scalar == "0" || most->second.scalar == "0%");
            const auto wanted =
                least == nullptr ? std::nullopt : k8s::quantity_value(least->second.scalar);
            const bool all = (wanted && *wanted >= replicas) ||
                             (least != nullptr && least->second.scalar == "100%");
            if (!none && !all) continue;
            const Value::Entry* entry = none ? most : least;
            report.add("PDB001", entry->first.mark,
                       "the budget " + object.name + " lets no pod of the " +
                           number_text(replicas) +
                           " go: a GPU node with one of them cannot be drained");
            return;
        }
    }
}

}  // namespace

void check_quotas(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    for (const Command& command : file.commands) {
        if (!command.is("kubectl", "create") && !command.is("oc", "create")) continue;
        const auto words = command.positionals();
        if (words.size() > 1 && (words[1]->text == "quota" || words[1]->text == "resourcequota")) {
            check_quota_command(command, report);
        }
    }
    for (const Object& object : file.objects) {
        if (object.role != Role::kObject && object.role != Role::kPatch) continue;
        if (object.kind == "ResourceQuota" && object.group().empty()) {
            check_hard(file, at_path(*object.node, "spec.hard"), report);
        } else if (object.kind == "Profile" && object.group() == "kubeflow.org") {
            check_hard(file, at_path(*object.node, "spec.resourceQuotaSpec.hard"), report);
        } else if (const Value* quotas = at_path(*object.node, "spec.resourceQuotas.items");
                   quotas != nullptr && object.kind == "Tenant") {
            for (const Value& item : quotas->items) check_hard(file, item.find("hard"), report);
        }
        if (object.role == Role::kObject && object.kind == "PodDisruptionBudget") {
            check_budget(file, set, object, report);
        }
    }
}

}  // namespace aliquot::lint
