// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/affinity.h"

#include <array>

namespace aliquot::sim::cluster {
namespace {

using document::Node;
using Operator = LabelRule::Operator;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr auto kAffinityFields =
    std::to_array<std::string_view>({"nodeAffinity", "podAffinity", "podAntiAffinity"});
constexpr auto kNodeAffinityFields =
    std::to_array<std::string_view>({"preferredDuringSchedulingIgnoredDuringExecution", kRequired});
constexpr auto kNodeSelectorFields = std::to_array<std::string_view>({"nodeSelectorTerms"});
constexpr auto kTermFields = std::to_array<std::string_view>({"matchExpressions", "matchFields"});
constexpr auto kRuleFields = std::to_array<std::string_view>({"key", "operator", "values"});

struct OperatorName {
    std::string_view name;
    Operator op;
};
constexpr auto kOperators = std::to_array<OperatorName>({{"In", Operator::kIn},
                                                         {"NotIn", Operator::kNotIn},
                                                         {"Exists", Operator::kExists},
                                                         {"DoesNotExist", Operator::kDoesNotExist},
                                                         {"Gt", Operator::kGreater},
                                                         {"Lt", Operator::kLess}});

void check_values(Object& object, const LabelRule& rule) {
    const std::size_t count = rule.values.size();
    switch (rule.op) {
        case Operator::kIn:
        case Operator::kNotIn:
            if (count == 0) object.complain("values", "In and NotIn need at least one value");
            break;
        case Operator::kExists:
        case Operator::kDoesNotExist:
            if (count != 0) object.complain("values", "Exists and DoesNotExist take no values");
            break;
        case Operator::kGreater:
        case Operator::kLess:
            if (count != 1) object.complain("values", "Gt and Lt need exactly one value");
            break;
    }
}

LabelRule read_rule(Object& object) {
    LabelRule rule{.key = object.required_text("key"), .values = object.texts("values")};
    if (!rule.key.empty() && !is_label_key(rule.key)) {
        object.complain("key", "'" + rule.key + "' cannot be the name of a label");
    }
    const std::string name = object.required_text("operator");
    if (name.empty()) return rule;
    for (const OperatorName& candidate : kOperators) {
        if (candidate.name != name) continue;
        rule.op = candidate.op;
        check_values(object, rule);
        return rule;
    }
    object.complain("operator",
                    "'" + name + "' is none of In, NotIn, Exists, DoesNotExist, Gt, Lt");
    return rule;
}

}  // namespace

std::vector<LabelRule> read_match_expressions(Object& term) {
    std::vector<LabelRule> rules;
    const auto nodes = term.list("matchExpressions");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        Object object(term.report(), nodes[i],
                      term.path_of("matchExpressions") + "[" + std::to_string(i) + "]",
                      kRuleFields);
        rules.push_back(read_rule(object));
    }
    return rules;
}

std::vector<std::vector<LabelRule>> read_required_node_affinity(Object& pod) {
    std::vector<std::vector<LabelRule>> terms;
    const Node* const affinity = pod.mapping("affinity");
    if (affinity == nullptr) return terms;
    Report& report = pod.report();
    Object all(report, *affinity, pod.path_of("affinity"), kAffinityFields);
    const Node* const node_affinity = all.mapping("nodeAffinity");
    if (node_affinity == nullptr) return terms;
    Object node(report, *node_affinity, all.path_of("nodeAffinity"), kNodeAffinityFields);
    const Node* const required = node.mapping(kRequired);
    if (required == nullptr) return terms;
    Object selector(report, *required, node.path_of(kRequired), kNodeSelectorFields);
    const auto nodes = selector.list("nodeSelectorTerms");
    if (nodes.empty()) selector.complain("nodeSelectorTerms", "is missing or empty");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        Object term(report, nodes[i],
                    selector.path_of("nodeSelectorTerms") + "[" + std::to_string(i) + "]",
                    kTermFields);
        terms.push_back(read_match_expressions(term));
    }
    return terms;
}

void check_label(Object& object, std::string_view key, const std::string& name,
                 const std::string& value) {
    if (!is_label_key(name)) object.complain(key, "'" + name + "' cannot be the name of a label");
    if (!is_label_value(value)) {
        object.complain(key, "'" + value + "' cannot be the value of label " + name +
                                 ": letters, digits, '-', '_' and '.', at most 63");
    }
}

}  // namespace aliquot::sim::cluster
