// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"
#include "kubelet/decider.h"

namespace v1beta1 {
class AllocateRequest;
class AllocateResponse;
class ContainerAllocateResponse;
class DevicePluginOptions;
class ListAndWatchResponse;
class PreferredAllocationRequest;
class PreferredAllocationResponse;
class RegisterRequest;
}  // namespace v1beta1

/// Our words to kubelet's and back: the only place that knows both.
namespace aliquot::kubelet {

v1beta1::DevicePluginOptions plugin_options();
v1beta1::RegisterRequest register_request(const std::string& resource,
                                          const std::string& socket_name);

/// Always the full list. NUMA node 0 is an empty NUMANode that is present; a device without
/// affinity has no topology at all (kubelet reads -1 or a made-up 0 as a real node).
v1beta1::ListAndWatchResponse to_proto(std::span<const grant::Device> devices);
v1beta1::ContainerAllocateResponse to_proto(const grant::Grant& grant);

/// One answer per container request; the first that fails fails all, named by `resource`.
/// errors   as Decider::allocate; kInternal when the decider throws
Result<v1beta1::AllocateResponse> allocate(Decider& decider, const std::string& resource,
                                           const v1beta1::AllocateRequest& request);

/// One answer per container request, whatever is asked: an error would fail the pod for good, an
/// empty answer only leaves the choice to kubelet.
v1beta1::PreferredAllocationResponse prefer(
    Decider& decider, const v1beta1::PreferredAllocationRequest& request) noexcept;

}  // namespace aliquot::kubelet
