// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "k8s/label_selector.h"
#include "scaling/answer.h"
#include "scaling/metric.h"

/// Values as the objects of Kubernetes' metrics APIs.
namespace aliquot::scaling {

/// What an object is called in an answer.
struct Described {
    std::string kind;
    std::string namespace_name;
    std::string name;
    std::string api_version;
};

struct Item {
    Described described;  // of a custom metric
    Labels labels;        // of an external metric
    Value value;
};

/// What all items of a list have in common.
struct ListHead {
    const MetricInfo& metric;
    const k8s::LabelSelector& metric_selector;
    bool v1beta2 = true;  // of the custom metrics; false: v1beta1
};

/// A MetricValueList.
ApiAnswer custom_list(const ListHead& head, const std::vector<Item>& items);
/// An ExternalMetricValueList.
ApiAnswer external_list(const MetricInfo& metric, const std::vector<Item>& items);

}  // namespace aliquot::scaling
