// SPDX-License-Identifier: Apache-2.0
#include "controller/placement_informers.h"

namespace aliquot::controller {

kube_client::InformerOptions pods_of_cluster() {
    return {.projection = kube_client::keep_fields({"metadata.creationTimestamp",
                                                    "metadata.deletionTimestamp",
                                                    "metadata.annotations",
                                                    "metadata.labels",
                                                    "metadata.ownerReferences",
                                                    "spec.schedulingGroup",
                                                    "spec.nodeName",
                                                    "spec.nodeSelector",
                                                    "spec.affinity",
                                                    "spec.tolerations",
                                                    "spec.schedulingGates",
                                                    "spec.priority",
                                                    "spec.preemptionPolicy",
                                                    "spec.topologySpreadConstraints",
                                                    "spec.resources",
                                                    "spec.overhead",
                                                    "spec.containers.name",
                                                    "spec.containers.resources",
                                                    "spec.containers.ports",
                                                    "spec.initContainers.ports",
                                                    "spec.volumes.name",
                                                    "spec.volumes.persistentVolumeClaim",
                                                    "spec.volumes.ephemeral",
                                                    "spec.initContainers.name",
                                                    "spec.initContainers.resources",
                                                    "spec.initContainers.restartPolicy",
                                                    "status.phase",
                                                    "status.conditions"})};
}

kube_client::InformerOptions nodes_of_cluster() {
    return {.projection = kube_client::keep_fields(
                {"metadata.labels", "metadata.annotations", "spec.taints", "spec.unschedulable",
                 "status.allocatable", "status.conditions.type", "status.conditions.status"})};
}

}  // namespace aliquot::controller
