// SPDX-License-Identifier: Apache-2.0
#include "scaling/value_list.h"

#include <array>
#include <ctime>

#include "base/time_text.h"
#include "document/json.h"
#include "document/write.h"
#include "scaling/discovery.h"

namespace aliquot::scaling {
namespace {

using document::append;
using document::make_integer;
using document::make_mapping;
using document::make_sequence;
using document::make_string;
using document::Node;

Node text(std::string_view word) { return make_string(std::string(word)); }

Node selector_node(const k8s::LabelSelector& selector) {
    if (selector.empty()) return {};
    Node list = make_sequence();
    for (const k8s::Requirement& one : selector) {
        Node node = make_mapping();
        append(node, "key", text(one.key));
        append(node, "operator", text(k8s::to_text(one.operation)));
        if (!one.values.empty()) {
            Node values = make_sequence();
            for (const std::string& value : one.values) values.items.push_back(text(value));
            append(node, "values", std::move(values));
        }
        list.items.push_back(std::move(node));
    }
    Node made = make_mapping();
    append(made, "matchExpressions", std::move(list));
    return made;
}

Node custom_node(const ListHead& head, const Item& item) {
    Node described = make_mapping();
    append(described, "kind", text(item.described.kind));
    if (!item.described.namespace_name.empty()) {
        append(described, "namespace", text(item.described.namespace_name));
    }
    append(described, "name", text(item.described.name));
    append(described, "apiVersion", text(item.described.api_version));
    Node node = make_mapping();
    append(node, "describedObject", std::move(described));
    if (head.v1beta2) {
        Node metric = make_mapping();
        append(metric, "name", text(head.metric.name));
        append(metric, "selector", selector_node(head.metric_selector));
        append(node, "metric", std::move(metric));
    } else {
        append(node, "metricName", text(head.metric.name));
    }
    append(node, "timestamp", text(rfc3339(item.value.at)));
    if (item.value.window.count() > 0) {
        append(node, head.v1beta2 ? "windowSeconds" : "window",
               make_integer(item.value.window.count()));
    }
    append(node, "value", text(quantity_text(item.value.thousandths)));
    if (!head.v1beta2) append(node, "selector", selector_node(head.metric_selector));
    return node;
}

Node external_node(const MetricInfo& metric, const Item& item) {
    Node labels = make_mapping();
    for (const auto& [name, value] : item.labels) append(labels, name, text(value));
    Node node = make_mapping();
    append(node, "metricName", text(metric.name));
    append(node, "metricLabels", std::move(labels));
    append(node, "timestamp", text(rfc3339(item.value.at)));
    if (item.value.window.count() > 0) {
        append(node, "window", make_integer(item.value.window.count()));
    }
    append(node, "value", text(quantity_text(item.value.thousandths)));
    return node;
}

ApiAnswer list(std::string_view kind, const std::string& api_version, Node items) {
    Node root = make_mapping();
    append(root, "kind", text(kind));
    append(root, "apiVersion", text(api_version));
    append(root, "metadata", make_mapping());
    append(root, "items", std::move(items));
    return {.body = document::to_json(root)};
}

}  // namespace

ApiAnswer custom_list(const ListHead& head, const std::vector<Item>& items) {
    Node nodes = make_sequence();
    for (const Item& item : items) nodes.items.push_back(custom_node(head, item));
    return list("MetricValueList",
                std::string(kCustomGroup) + (head.v1beta2 ? "/v1beta2" : "/v1beta1"),
                std::move(nodes));
}

ApiAnswer external_list(const MetricInfo& metric, const std::vector<Item>& items) {
    Node nodes = make_sequence();
    for (const Item& item : items) nodes.items.push_back(external_node(metric, item));
    return list("ExternalMetricValueList", std::string(kExternalGroup) + "/v1beta1",
                std::move(nodes));
}

}  // namespace aliquot::scaling
