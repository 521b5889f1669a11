// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/affinity.h"

#include <array>

#include "k8s/names.h"

namespace aliquot::sim::cluster {
namespace {

using document::Value;
using k8s::Requirement;
using Operator = Requirement::Operator;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr auto kAffinityFields =
    std::to_array<std::string_view>({"nodeAffinity", "podAffinity", "podAntiAffinity"});
constexpr auto kNodeAffinityFields =
    std::to_array<std::string_view>({"preferredDuringSchedulingIgnoredDuringExecution", kRequired});
constexpr auto kNodeSelectorFields = std::to_array<std::string_view>({"nodeSelectorTerms"});
constexpr auto kTermFields = std::to_array<std::string_view>({"matchExpressions", "matchFields"});
constexpr auto kRuleFields = std::to_array<std::string_view>({"key", "operator", "values"});

void check_values(ObjectReader& object, const Requirement& rule) {
    const std::size_t count = rule.values.size();
    switch (rule.operation) {
        case Operator::kIn:
        case Operator::kNotIn:
            if (count == 0) object.complain("values", "In and NotIn need at least one value");
            break;
        case Operator::kExists:
        case Operator::kDoesNotExist:
            if (count != 0) object.complain("values", "Exists and DoesNotExist take no values");
            break;
        case Operator::kGt:
        case Operator::kLt:
            if (count != 1) object.complain("values", "Gt and Lt need exactly one value");
            break;
        case Operator::kOther:
            break;
    }
}

Requirement read_rule(ObjectReader& object) {
    Requirement rule{.key = object.required_text("key"), .values = object.texts("values")};
    if (!rule.key.empty() && !k8s::is_label_key(rule.key)) {
        object.complain("key", "'" + rule.key + "' cannot be the name of a label");
    }
    const std::string name = object.required_text("operator");
    if (name.empty()) return rule;
    rule.operation = k8s::operator_of(name);
    check_values(object, rule);
    if (rule.operation == Operator::kOther) {
        object.complain("operator",
                        "'" + name + "' is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt");
    }
    return rule;
}

}  // namespace

std::vector<Requirement> read_requirements(ObjectReader& term, std::string_view key) {
    std::vector<Requirement> rules;
    const auto nodes = term.list(key);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        ObjectReader object(term.report(), nodes[i],
                            term.path_of(key) + "[" + std::to_string(i) + "]", kRuleFields);
        rules.push_back(read_rule(object));
    }
    return rules;
}

std::vector<k8s::NodeSelectorTerm> read_required_node_affinity(ObjectReader& pod) {
    std::vector<k8s::NodeSelectorTerm> terms;
    const Value* const affinity = pod.mapping("affinity");
    if (affinity == nullptr) return terms;
    Diagnostics& report = pod.report();
    ObjectReader all(report, *affinity, pod.path_of("affinity"), kAffinityFields);
    const Value* const node_affinity = all.mapping("nodeAffinity");
    if (node_affinity == nullptr) return terms;
    ObjectReader node(report, *node_affinity, all.path_of("nodeAffinity"), kNodeAffinityFields);
    const Value* const required = node.mapping(kRequired);
    if (required == nullptr) return terms;
    ObjectReader selector(report, *required, node.path_of(kRequired), kNodeSelectorFields);
    const auto nodes = selector.list("nodeSelectorTerms");
    if (nodes.empty()) selector.complain("nodeSelectorTerms", "is missing or empty");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        ObjectReader term(report, nodes[i],
                          selector.path_of("nodeSelectorTerms") + "[" + std::to_string(i) + "]",
                          kTermFields);
        terms.push_back({.labels = read_requirements(term, "matchExpressions"),
                         .fields = read_requirements(term, "matchFields")});
    }
    return terms;
}

void check_label(ObjectReader& object, std::string_view key, const std::string& name,
                 const std::string& value) {
    if (!k8s::is_label_key(name))
        object.complain(key, "'" + name + "' cannot be the name of a label");
    if (!k8s::is_label_value(value)) {
        object.complain(key, "'" + value + "' cannot be the value of label " + name +
                                 ": letters, digits, '-', '_' and '.', at most 63");
    }
}

}  // namespace aliquot::sim::cluster
