// SPDX-License-Identifier: Apache-2.0
#include "admission/separation.h"

#include <algorithm>
#include <set>
#include <string>

namespace aliquot::admission {
namespace {

using Operator = Requirement::Operator;

constexpr std::size_t kMostNames = 32;

bool all_hold(const Requirement& requirement, const Nodes& nodes) {
    return std::ranges::all_of(
        nodes, [&](const GpuNode* node) { return holds(requirement, node->labels); });
}

/// "KEY In (the values that the nodes have)"; without values where a node lacks the label.
Requirement among(const char* key, const Nodes& nodes) {
    std::set<std::string> values;
    for (const GpuNode* const node : nodes) {
        const auto found = node->labels.find(key);
        if (found == node->labels.end()) return {.key = key};
        values.insert(found->second);
    }
    return {.key = key, .operation = Operator::kIn, .values = {values.begin(), values.end()}};
}

class Work {
public:
    Work(const Nodes& wanted, Nodes unwanted) : wanted_(wanted), unwanted_(std::move(unwanted)) {}

    void add(Requirement requirement, bool always = false) {
        if (requirement.values.empty() || (!always && unwanted_.empty())) return;
        if (!all_hold(requirement, wanted_)) return;
        const auto removed = std::erase_if(
            unwanted_, [&](const GpuNode* node) { return !holds(requirement, node->labels); });
        if (removed > 0 || always) made_.requirements.push_back(std::move(requirement));
    }

    Separation take() {
        made_.left = std::move(unwanted_);
        return std::move(made_);
    }

private:
    const Nodes& wanted_;
    Nodes unwanted_;
    Separation made_;
};

}  // namespace

Separation separate(const Nodes& wanted, Nodes unwanted, const SeparationRules& rules) {
    Work work(wanted, std::move(unwanted));
    if (rules.always_by_product) work.add(among(kProductLabel, wanted), true);
    if (rules.memory_mib > 0) {
        work.add({.key = kMemoryLabel,
                  .operation = Operator::kGt,
                  .values = {std::to_string(rules.memory_mib - 1)}});
    }
    work.add(among(kProductLabel, wanted));
    work.add(among(kReplicasLabel, wanted));
    return work.take();
}

Requirement away_from(const Nodes& nodes) {
    Requirement names;
    if (nodes.size() <= kMostNames) names = among(kHostnameLabel, nodes);
    names.key = kHostnameLabel;
    names.operation = Operator::kNotIn;
    return names;
}

}  // namespace aliquot::admission
