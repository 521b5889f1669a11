// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/conversion.h"

#include <array>
#include <utility>

namespace aliquot::sim::apiserver {

namespace {

/// core/v1 Event (stored) and events.k8s.io/v1 Event.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kEventFields = {{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingInstance", "reportingInstance"},
}};

void rename(Value& object, std::string_view from, std::string_view to) {
    if (from == to) return;
    Value* value = object.find(from);
    if (value == nullptr) return;
    Value moved = std::move(*value);
    object.erase(from);
    object[to] = std::move(moved);
}

/// autoscaling/v1 has the CPU target as a field of its own.
void scaler_to_v1(Value& object) {
    Value* spec = object.find("spec");
    if (spec != nullptr) {
        Value others = Value::array();
        for (const Value& metric : spec->at("metrics").items()) {
            const Value& utilization = metric.at_path("resource.target.averageUtilization");
            if (metric.at_path("resource.name").text() == "cpu" && !utilization.is_null() &&
                spec->find("targetCPUUtilizationPercentage") == nullptr) {
                (*spec)["targetCPUUtilizationPercentage"] = utilization;
            } else {
                others.push(metric);
            }
        }
        if (!others.items().empty()) {
            object["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"] =
                to_json(others);
        }
        spec = object.find("spec");
        if (spec->find("behavior") != nullptr) {
            object["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"] =
                to_json(spec->at("behavior"));
        }
        spec = object.find("spec");
        spec->erase("metrics");
        spec->erase("behavior");
    }
    Value* status = object.find("status");
    if (status == nullptr) return;
    for (const Value& metric : status->at("currentMetrics").items()) {
        const Value& utilization = metric.at_path("resource.current.averageUtilization");
        if (!utilization.is_null()) (*status)["currentCPUUtilizationPercentage"] = utilization;
    }
    status->erase("currentMetrics");
    status->erase("conditions");
}

void restore_annotation(Value& object, std::string_view annotation, Value& place) {
    Value* annotations = object.find_path("metadata.annotations");
    if (annotations == nullptr || annotations->find(annotation) == nullptr) return;
    const auto json = parse_json(annotations->at(annotation).text());
    annotations->erase(annotation);
    if (!json) return;
    if (place.is_array()) {
        for (const Value& item : json->value.items()) place.push(item);
    } else {
        place = json->value;
    }
}

void scaler_from_v1(Value& object) {
    Value metrics = Value::array();
    const Value percent = object.at_path("spec.targetCPUUtilizationPercentage");
    if (!percent.is_null()) {
        metrics.push(Value::object(
            {{"type", "Resource"},
             {"resource",
              Value::object({{"name", "cpu"},
                             {"target", Value::object({{"type", "Utilization"},
                                                       {"averageUtilization", percent}})}})}}));
        object.erase_path("spec.targetCPUUtilizationPercentage");
    }
    restore_annotation(object, "autoscaling.alpha.kubernetes.io/metrics", metrics);
    Value behavior;
    restore_annotation(object, "autoscaling.alpha.kubernetes.io/behavior", behavior);
    if (!metrics.items().empty()) object["spec"]["metrics"] = std::move(metrics);
    if (!behavior.is_null()) object["spec"]["behavior"] = std::move(behavior);
    object.erase_path("status.currentCPUUtilizationPercentage");
}

}  // namespace

bool is_stored_version(const Value& object, const Resource& resource) {
    return object.at("apiVersion").text() == resource.api_version();
}

Value to_version(const Value& object, const Resource& resource) {
    if (is_stored_version(object, resource)) return object;
    Value made = object;
    if (resource.group == "events.k8s.io") {
        for (const auto& pair : kEventFields) rename(made, pair.first, pair.second);
    } else if (resource.storage == "autoscaling/horizontalpodautoscalers") {
        scaler_to_v1(made);
    }
    made["apiVersion"] = resource.api_version();
    return made;
}

Value to_storage(Value object, const Resource& resource, const Resources& resources) {
    if (resource.group == "events.k8s.io") {
        for (const auto& pair : kEventFields) rename(object, pair.second, pair.first);
        object["apiVersion"] = "v1";
    } else if (resource.storage_version) {
        return object;
    } else if (resource.storage == "autoscaling/horizontalpodautoscalers") {
        scaler_from_v1(object);
        object["apiVersion"] = "autoscaling/v2";
    } else if (const ResourcePtr stored = resources.find_any(resource.group, resource.name)) {
        object["apiVersion"] = stored->api_version();
    }
    return object;
}

}  // namespace aliquot::sim::apiserver
