// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/selector.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace aliquot::sim::apiserver {

namespace {

using Operator = Requirement::Operator;

const std::map<std::string_view, std::vector<std::string_view>> kSelectable = {
    {"/pods",
     {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"}},
    {"/nodes", {"spec.unschedulable"}},
    {"/namespaces", {"status.phase"}},
    {"/secrets", {"type"}},
    {"/services", {"spec.clusterIP", "spec.type"}},
    {"/replicationcontrollers", {"status.replicas"}},
    {"/events",
     {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
      "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
      "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
      "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
      "regarding.apiVersion", "reportingController"}},
    {"batch/jobs", {"status.successful"}},
    {"apps/replicasets", {"status.replicas"}},
    {"certificates.k8s.io/certificatesigningrequests", {"spec.signerName"}},
    {"resource.k8s.io/resourceslices", {"spec.driver", "spec.nodeName", "spec.pool.name"}}};

std::string spelled(const Value& value) {
    if (value.is_string()) return value.text();
    return value.is_null() ? "" : to_json(value);
}

std::string field_of(const Resource& resource, const Value& object, std::string_view field) {
    const Value& value = object.at_path(field);
    if (resource.storage == "/events") {
        if (field == "source") return object.at_path("source.component").text();
        if (field.starts_with("regarding.") && value.is_null()) {
            return spelled(object.at("involvedObject").at(field.substr(10)));
        }
        if (field == "reportingController" && value.is_null()) {
            return object.at("reportingComponent").text();
        }
    }
    if (value.is_null() && (field == "spec.unschedulable" || field == "spec.hostNetwork")) {
        return "false";
    }
    if (value.is_null() && field == "status.replicas") return "0";
    return spelled(value);
}

}  // namespace

Result<Selector> parse_field_selector(std::string_view text) {
    Selector selector;
    for (const std::string_view term : split(text, ',')) {
        if (term.empty()) continue;
        const std::size_t equals = term.find('=');
        if (equals == std::string_view::npos || equals == 0) {
            return Error{ErrorCode::kInvalidInput, "invalid selector: '" + std::string(term) +
                                                       "'; can't understand '" + std::string(term) +
                                                       "'"};
        }
        Requirement one;
        const bool negated = term[equals - 1] == '!';
        one.operation = negated ? Operator::kNotIn : Operator::kIn;
        one.key = term.substr(0, negated ? equals - 1 : equals);
        std::string_view value = term.substr(equals + 1);
        if (!negated && value.starts_with('=')) value.remove_prefix(1);
        one.values.emplace_back(value);
        selector.push_back(std::move(one));
    }
    return selector;
}

Selector read_label_selector(const Value& selector) {
    Selector made;
    for (const Member& label : selector.at("matchLabels").members()) {
        made.push_back({label.name, Operator::kIn, {label.value.text()}});
    }
    for (const Value& expression : selector.at("matchExpressions").items()) {
        Requirement one;
        one.key = expression.at("key").text();
        one.operation = k8s::operator_of(expression.at("operator").text());
        for (const Value& value : expression.at("values").items())
            one.values.push_back(value.text());
        made.push_back(std::move(one));
    }
    return made;
}

bool matches_labels(const Selector& selector, const Value& labels) {
    return std::ranges::all_of(selector, [&](const Requirement& one) {
        const Value* value = labels.find(one.key);
        return k8s::holds(one, value == nullptr ? nullptr : &value->text());
    });
}

bool is_selectable(const Resource& resource, std::string_view field) {
    if (field == "metadata.name") return true;
    if (field == "metadata.namespace") return resource.namespaced;
    if (std::ranges::find(resource.selectable_fields, field) != resource.selectable_fields.end()) {
        return true;
    }
    const auto known = kSelectable.find(resource.storage);
    return known != kSelectable.end() &&
           std::ranges::find(known->second, field) != known->second.end();
}

bool matches_fields(const Selector& selector, const Resource& resource, const Value& object) {
    return std::ranges::all_of(selector, [&](const Requirement& one) {
        const std::string value = field_of(resource, object, one.key);
        return k8s::holds(one, &value);
    });
}

}  // namespace aliquot::sim::apiserver
