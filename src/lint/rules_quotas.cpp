// SPDX-License-Identifier: Apache-2.0
// Quotas and disruption budgets: QUO001, PDB001.
#include <algorithm>
#include <optional>

#include "lint/evidence.h"
#include "lint/families.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

void check_quota(const File& file, const Object& object, Report& report) {
    const Node* hard = at_path(*object.node, "spec.hard");
    if (hard == nullptr) return;
    constexpr std::string_view kLimits = "limits.";
    for (const Node::Entry& entry : hard->entries) {
        std::string name = entry.first.scalar;
        const bool limits = starts_with(name, kLimits);
        if (limits) name.erase(0, kLimits.size());
        if (!is_gpu_resource(name)) continue;
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
bool selects(const Node& selector, const PodSpec& pod) {
    const Node* labels = pod.metadata == nullptr ? nullptr : pod.metadata->find("labels");
    if (labels == nullptr || selector.entries.empty()) return false;
    return std::all_of(selector.entries.begin(), selector.entries.end(),
                       [labels](const Node::Entry& entry) {
                           const Node* value = labels->find(entry.first.scalar);
                           return value != nullptr && value->scalar == entry.second.scalar;
                       });
}

void check_budget(const File& file, const Set& set, const Object& object, Report& report) {
    const Node* selector = at_path(*object.node, "spec.selector.matchLabels");
    const Node::Entry* least = entry_at(*object.node, "spec.minAvailable");
    const Node::Entry* most = entry_at(*object.node, "spec.maxUnavailable");
    if (selector == nullptr) return;
    for (const File* near : set.neighbours(file)) {
        for (const PodSpec& pod : near->pods) {
            if (!pod.asks_gpu() || !selects(*selector, pod)) continue;
            const double replicas = pod.replicas.value_or(1);
            const bool none =
                most != nullptr && (most->second.scalar == "0" || most->second.scalar == "0%");
            const auto wanted =
                least == nullptr ? std::nullopt : parse_quantity(least->second.scalar);
            const bool all = (wanted && *wanted >= replicas) ||
                             (least != nullptr && least->second.scalar == "100%");
            if (!none && !all) continue;
            const Node::Entry* entry = none ? most : least;
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
    for (const Object& object : file.objects) {
        if (object.role != Role::kObject) continue;
        if (object.kind == "ResourceQuota" && object.group().empty()) {
            check_quota(file, object, report);
        } else if (object.kind == "PodDisruptionBudget") {
            check_budget(file, set, object, report);
        }
    }
}

}  // namespace aliquot::lint
