// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kubelet/pod_resources.h"

namespace v1 {
class ListPodResourcesResponse;
}

namespace aliquot::kubelet {

/// Who holds devices by kubelet's answer to List, as PodResources::list() returns it. kubelet sends
/// one entry per device, and one per NUMA node of a device, in any order. Pure.
std::vector<Holder> holders_in(const v1::ListPodResourcesResponse& response);

}  // namespace aliquot::kubelet
