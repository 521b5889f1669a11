// SPDX-License-Identifier: Apache-2.0
#include "kubelet/to_proto.h"

#include <algorithm>
#include <exception>

#include "api/kubelet/deviceplugin.pb.h"

namespace aliquot::kubelet {
namespace {

template <class Field>
std::vector<std::string> strings(const Field& field) {
    return {field.begin(), field.end()};
}

template <class Field>
void assign(std::vector<std::string>& strings, const Field& field) {
    strings.resize(static_cast<std::size_t>(field.size()));
    std::copy(field.begin(), field.end(), strings.begin());
}

Result<grant::Grant> decide(Decider& decider, const std::vector<std::string>& ids) {
    try {
        return decider.allocate(ids);
    } catch (const std::exception& problem) {
        return Error{ErrorCode::kInternal, std::string("unexpected failure: ") + problem.what()};
    }
}

}  // namespace

v1beta1::DevicePluginOptions plugin_options() {
    v1beta1::DevicePluginOptions options;
    options.set_get_preferred_allocation_available(true);
    return options;
}

v1beta1::RegisterRequest register_request(const std::string& resource,
                                          const std::string& socket_name) {
    v1beta1::RegisterRequest request;
    request.set_version("v1beta1");
    request.set_endpoint(socket_name);
    request.set_resource_name(resource);
    *request.mutable_options() = plugin_options();
    return request;
}

v1beta1::ListAndWatchResponse to_proto(std::span<const grant::Device> devices) {
    v1beta1::ListAndWatchResponse list;
    list.mutable_devices()->Reserve(static_cast<int>(devices.size()));
    for (const auto& device : devices) {
        auto& entry = *list.add_devices();
        entry.set_id(device.id);
        entry.set_health(device.healthy ? "Healthy" : "Unhealthy");
        if (device.numa_node) entry.mutable_topology()->add_nodes()->set_id(*device.numa_node);
    }
    return list;
}

v1beta1::ContainerAllocateResponse to_proto(const grant::Grant& grant) {
    v1beta1::ContainerAllocateResponse answer;
    for (const auto& [name, value] : grant.environment) (*answer.mutable_envs())[name] = value;
    for (const auto& mount : grant.mounts) {
        auto& entry = *answer.add_mounts();
        entry.set_container_path(mount.container_path);
        entry.set_host_path(mount.host_path);
        entry.set_read_only(mount.read_only);
    }
    for (const auto& node : grant.device_nodes) {
        auto& entry = *answer.add_devices();
        entry.set_container_path(node.container_path);
        entry.set_host_path(node.host_path);
        entry.set_permissions(node.permissions);
    }
    for (const auto& [name, value] : grant.annotations)
        (*answer.mutable_annotations())[name] = value;
    for (const auto& name : grant.cdi_devices) answer.add_cdi_devices()->set_name(name);
    return answer;
}

Result<v1beta1::AllocateResponse> allocate(Decider& decider, const std::string& resource,
                                           const v1beta1::AllocateRequest& request) {
    v1beta1::AllocateResponse response;
    for (const auto& container : request.container_requests()) {
        const auto grant = decide(decider, strings(container.devices_ids()));
        if (!grant) return Error(grant.error()).during(resource);
        *response.add_container_responses() = to_proto(*grant);
    }
    return response;
}

v1beta1::PreferredAllocationResponse prefer(
    Decider& decider, const v1beta1::PreferredAllocationRequest& request) noexcept {
    v1beta1::PreferredAllocationResponse response;
    try {
        for (const auto& container : request.container_requests()) {
            auto& answer = *response.add_container_responses();
            if (container.allocation_size() <= 0) continue;
            // Kept between calls: allocating 800 strings takes longer than all the rest here.
            thread_local std::vector<std::string> available;
            thread_local std::vector<std::string> must_include;
            assign(available, container.available_deviceids());
            assign(must_include, container.must_include_deviceids());
            // More than there is cannot be chosen; a size that fits bounds what a decider reserves.
            const auto size = std::min(static_cast<std::size_t>(container.allocation_size()),
                                       available.size() + must_include.size());
            for (auto& id : decider.prefer(available, must_include, size))
                answer.add_deviceids(std::move(id));
        }
    } catch (const std::exception&) {  // no memory: what is there is an answer too
    }
    return response;
}

}  // namespace aliquot::kubelet
