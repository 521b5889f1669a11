// SPDX-License-Identifier: Apache-2.0
#include "k8s/workload.h"

#include <algorithm>
#include <array>

#include "document/path.h"
#include "k8s/quantity.h"

namespace aliquot::k8s {

using document::Value;

bool is_workload(std::string_view kind) {
    constexpr std::array<std::string_view, 8> kKinds{
        "Pod",        "Deployment", "StatefulSet", "DaemonSet",
        "ReplicaSet", "Job",        "CronJob",     "ReplicationController"};
    return std::ranges::find(kKinds, kind) != kKinds.end();
}

Workload read_workload(const Value& object) {
    Workload made{.kind = text_at(object, {"kind"}),
                  .name_space = text_at(object, {"metadata", "namespace"}),
                  .name = text_at(object, {"metadata", "name"})};
    const Value* owner = &object;
    if (made.kind == "CronJob") owner = at_path(object, {"spec", "jobTemplate"});
    const Value* const pod = made.kind == "Pod" ? &object : at_path(owner, {"spec", "template"});
    made.metadata = at_path(pod, {"metadata"});
    made.spec = at_path(pod, {"spec"});
    const bool runs_to_end = made.kind == "Job" || made.kind == "CronJob";
    const std::string pods = text_at(owner, {"spec", runs_to_end ? "parallelism" : "replicas"});
    if (!pods.empty()) made.pods = quantity_value(pods);
    return made;
}

}  // namespace aliquot::k8s
