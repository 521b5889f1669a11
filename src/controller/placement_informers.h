// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube_client/informer.h"

namespace aliquot::controller {

/// What placement reads of pods and nodes, and no more: of a cluster with many it is all in memory.
kube_client::InformerOptions pods_of_cluster();
kube_client::InformerOptions nodes_of_cluster();

}  // namespace aliquot::controller
