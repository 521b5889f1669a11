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
using document::make_mapping;
using document::make_sequence;
using document::only_if;

document::Value selector_node(const k8s::LabelSelector& selector) {
    if (selector.empty()) return {};
    const auto requirement = [](const k8s::Requirement& one) {
        return make_mapping({{"key", one.key},
                             {"operator", k8s::to_text(one.operation)},
                             {"values", only_if(!one.values.empty(), one.values)}});
    };
    return make_mapping({{"matchExpressions", make_sequence(selector, requirement)}});
}

document::Built window_of(const Item& item) {
    return only_if(item.value.window.count() > 0, item.value.window.count());
}

document::Value custom_node(const ListHead& head, const Item& item) {
    const auto& described = item.described;
    const bool beta2 = head.v1beta2;
    const document::Value selector = selector_node(head.metric_selector);
    const document::Value metric =
        make_mapping({{"name", head.metric.name}, {"selector", selector}});
    return make_mapping(
        {{"describedObject", make_mapping({{"kind", described.kind},
                                           {"namespace", only_if(!described.namespace_name.empty(),
                                                                 described.namespace_name)},
                                           {"name", described.name},
                                           {"apiVersion", described.api_version}})},
         {"metric", only_if(beta2, metric)},
         {"metricName", only_if(!beta2, head.metric.name)},
         {"timestamp", rfc3339(item.value.at)},
         {beta2 ? "windowSeconds" : "window", window_of(item)},
         {"value", quantity_text(item.value.thousandths)},
         {"selector", only_if(!beta2, selector)}});
}

document::Value external_node(const MetricInfo& metric, const Item& item) {
    document::Value labels = make_mapping();
    for (const auto& [name, value] : item.labels) append(labels, name, value);
    return make_mapping({{"metricName", metric.name},
                         {"metricLabels", std::move(labels)},
                         {"timestamp", rfc3339(item.value.at)},
                         {"window", window_of(item)},
                         {"value", quantity_text(item.value.thousandths)}});
}

ApiAnswer list(std::string_view kind, const std::string& api_version, document::Value items) {
    return {.body = document::to_json(make_mapping({{"kind", kind},
                                                    {"apiVersion", api_version},
                                                    {"metadata", make_mapping()},
                                                    {"items", std::move(items)}}))};
}

}  // namespace

ApiAnswer custom_list(const ListHead& head, const std::vector<Item>& items) {
    document::Value nodes =
        make_sequence(items, [&](const Item& item) { return custom_node(head, item); });
    return list("MetricValueList",
                std::string(kCustomGroup) + (head.v1beta2 ? "/v1beta2" : "/v1beta1"),
                std::move(nodes));
}

ApiAnswer external_list(const MetricInfo& metric, const std::vector<Item>& items) {
    document::Value nodes =
        make_sequence(items, [&](const Item& item) { return external_node(metric, item); });
    return list("ExternalMetricValueList", std::string(kExternalGroup) + "/v1beta1",
                std::move(nodes));
}

}  // namespace aliquot::scaling
