// SPDX-License-Identifier: Apache-2.0
#include "pools/definition.h"

namespace aliquot::pools {
namespace {

using document::make_mapping;
using document::Value;

Value type(const char* name) { return make_mapping({{"type", name}}); }
Value count() { return make_mapping({{"type", "integer"}, {"minimum", 0}, {"maximum", 10'000}}); }
Value list_of(Value item) { return make_mapping({{"type", "array"}, {"items", std::move(item)}}); }
Value one_of(std::vector<std::string> words) {
    return make_mapping({{"type", "string"}, {"enum", std::move(words)}});
}
Value any() {
    return make_mapping({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
}

Value schedule_schema() {
    return make_mapping({{"type", "object"},
                         {"required", std::vector<std::string>{"start", "replicas"}},
                         {"properties", make_mapping({{"name", type("string")},
                                                      {"start", type("string")},
                                                      {"end", type("string")},
                                                      {"duration", type("string")},
                                                      {"timeZone", type("string")},
                                                      {"deadline", type("string")},
                                                      {"replicas", count()}})}});
}

Value pool_schema() {
    const Value hold = make_mapping(
        {{"type", "object"},
         {"required", std::vector<std::string>{"replicas"}},
         {"properties", make_mapping({{"replicas", count()}, {"until", type("string")}})}});
    return make_mapping(
        {{"type", "object"},
         {"required", std::vector<std::string>{"max"}},
         {"properties",
          make_mapping({{"min", count()},
                        {"max", count()},
                        {"replicas", count()},
                        {"warm", count()},
                        {"hold", hold},
                        {"gpuLimit", make_mapping({{"type", "integer"}, {"minimum", 0}})},
                        {"environment", type("string")},
                        {"engine", one_of({"karpenter", "karpenter-static", "cluster-autoscaler",
                                           "external", "placeholder"})},
                        {"nodeClass", type("string")},
                        {"instances", list_of(type("string"))},
                        {"capacity", list_of(type("string"))},
                        {"gates", list_of(one_of({"driver", "device-plugin", "toolkit"}))},
                        {"spotPatience", type("string")},
                        {"scaleDownDelay", type("string")},
                        {"startTimeout", type("string")},
                        // No version of Actions Runner Controller knows it; read_pool() says so.
                        {"runnerScaleDownDelaySecondsAfterScaleOut",
                         make_mapping({{"x-kubernetes-int-or-string", true}})},
                        {"node", any()},
                        {"selector", any()},
                        {"schedules", list_of(schedule_schema())}})}});
}

Value column(const char* name, const char* path) {
    return make_mapping({{"name", name}, {"type", "integer"}, {"jsonPath", path}});
}

Value version() {
    const Value status = any();
    return make_mapping(
        {{"name", kPoolVersion},
         {"served", true},
         {"storage", true},
         {"schema",
          make_mapping({{"openAPIV3Schema",
                         make_mapping({{"type", "object"},
                                       {"required", std::vector<std::string>{"spec"}},
                                       {"properties", make_mapping({{"spec", pool_schema()},
                                                                    {"status", status}})}})}})},
         {"subresources",
          make_mapping({{"status", make_mapping()},
                        {"scale", make_mapping({{"specReplicasPath", ".spec.replicas"},
                                                {"statusReplicasPath", ".status.nodes"}})}})},
         {"additionalPrinterColumns",
          std::vector{column("Min", ".spec.min"), column("Max", ".spec.max"),
                      column("Desired", ".status.desired"), column("Nodes", ".status.nodes")}}});
}

}  // namespace

Value pool_definition() {
    return make_mapping(
        {{"apiVersion", "apiextensions.k8s.io/v1"},
         {"kind", "CustomResourceDefinition"},
         {"metadata",
          make_mapping({{"name", std::string(kPoolPlural) + "." + std::string(kPoolGroup)},
                        {"labels", make_mapping({{"app.kubernetes.io/name", "aliquot"},
                                                 {"app.kubernetes.io/component", "controller"},
                                                 {"app.kubernetes.io/part-of", "aliquot"},
                                                 {"app.kubernetes.io/managed-by", "aliquot"}})},
                        // An upgrade or the end of the chart takes no pools away.
                        {"annotations", make_mapping({{"helm.sh/resource-policy", "keep"}})}})},
         {"spec", make_mapping({{"group", kPoolGroup},
                                {"scope", "Cluster"},
                                {"names", make_mapping({{"plural", kPoolPlural},
                                                        {"singular", "pool"},
                                                        {"kind", "Pool"},
                                                        {"listKind", "PoolList"},
                                                        {"shortNames",
                                                         std::vector<std::string>{"gpupool"}}})},
                                {"versions", std::vector{version()}}})}});
}

}  // namespace aliquot::pools
