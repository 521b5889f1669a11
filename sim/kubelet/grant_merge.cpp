// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/grant_merge.h"

#include <algorithm>

#include "api/kubelet/deviceplugin.pb.h"
#include "base/log.h"

namespace aliquot::sim {
namespace {

void add(const v1beta1::ContainerAllocateResponse& response, grant::Grant& to) {
    for (const auto& [name, value] : response.envs()) {
        const auto [place, is_new] = to.environment.try_emplace(name, value);
        if (!is_new && place->second != value) {
            log::warning("sim.kubelet.environment_conflict",
                         {{"name", name}, {"kept", place->second}, {"dropped", value}});
        }
    }
    for (const auto& mount : response.mounts()) {
        const auto same = std::ranges::find(to.mounts, mount.container_path(),
                                            &grant::Grant::Mount::container_path);
        if (same != to.mounts.end()) continue;
        to.mounts.push_back({.container_path = mount.container_path(),
                             .host_path = mount.host_path(),
                             .read_only = mount.read_only()});
    }
    for (const auto& device : response.devices()) {
        const auto same = std::ranges::find(to.device_nodes, device.container_path(),
                                            &grant::Grant::DeviceNode::container_path);
        if (same != to.device_nodes.end()) continue;
        to.device_nodes.push_back({.container_path = device.container_path(),
                                   .host_path = device.host_path(),
                                   .permissions = device.permissions()});
    }
    for (const auto& [name, value] : response.annotations()) {
        to.annotations.try_emplace(name, value);
    }
    for (const auto& device : response.cdi_devices()) {
        const auto same = std::ranges::find(to.cdi_devices, device.name());
        if (same == to.cdi_devices.end()) to.cdi_devices.push_back(device.name());
    }
}

}  // namespace

grant::Grant merge_responses(const std::vector<std::string>& responses) {
    grant::Grant grant;
    for (const auto& bytes : responses) {
        v1beta1::ContainerAllocateResponse response;
        if (response.ParseFromString(bytes)) add(response, grant);
    }
    return grant;
}

}  // namespace aliquot::sim
