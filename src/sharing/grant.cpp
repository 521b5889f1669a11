// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/text.h"
#include "gpu/replica_id.h"
#include "sharing/offer.h"
#include "sharing/offer_mps.h"

namespace aliquot::sharing {
namespace {

constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
constexpr std::string_view kDeviceMountRoot = "/var/run/nvidia-container-devices";

/// The devices of a request, by index, with how many of each one's replicas.
struct Chosen {
    const OfferedGpu* offered = nullptr;
    unsigned replicas = 0;
};

Result<std::vector<Chosen>> resolve(const Resource& resource, std::span<const std::string> ids) {
    std::vector<Chosen> chosen;
    std::set<std::string_view> seen;
    for (const std::string& id : ids) {
        if (!seen.insert(id).second) {
            return Error{ErrorCode::kInvalidInput, resource.name + ": device '" + id + "' twice"};
        }
        const auto offered = std::ranges::find_if(resource.gpus, [&](const OfferedGpu& candidate) {
            return replica_of(candidate, id).has_value();
        });
        if (offered == resource.gpus.end()) {
            return Error{ErrorCode::kNotFound,
                         resource.name + ": no device '" + id + "' on this node"};
        }
        if (offered->frozen) {
            return Error{ErrorCode::kUnavailable,
                         resource.name + ": device '" + id + "': " + offered->gpu.health.reason};
        }
        const auto known = std::ranges::find(chosen, &*offered, &Chosen::offered);
        if (known != chosen.end()) {
            ++known->replicas;
        } else {
            chosen.push_back({&*offered, 1});
        }
    }
    std::ranges::sort(chosen, {}, [](const Chosen& one) {
        return std::pair(one.offered->gpu.index, one.offered->mig ? one.offered->mig->index : 0);
    });
    return chosen;
}

bool includes(const GrantOptions& options, DeviceListStrategy strategy) {
    return std::ranges::find(options.strategies, strategy) != options.strategies.end();
}

void name_devices(const GrantOptions& options, const std::vector<std::string>& names,
                  std::string_view nonce, grant::Grant& grant) {
    if (includes(options, DeviceListStrategy::kEnvvar)) {
        grant.environment[std::string(kVisibleDevices)] = join(names, ",");
    }
    if (includes(options, DeviceListStrategy::kVolumeMounts)) {
        grant.environment[std::string(kVisibleDevices)] = kDeviceMountRoot;
        for (const std::string& name : names) {
            grant.mounts.push_back({.container_path = std::string(kDeviceMountRoot) + "/" + name,
                                    .host_path = "/dev/null"});
        }
    }
    std::vector<std::string> qualified;
    for (const std::string& name : names) {
        qualified.push_back(options.cdi_vendor + "/" + options.cdi_class + "=" + name);
    }
    if (includes(options, DeviceListStrategy::kCdiAnnotations)) {
        grant.annotations[options.cdi_annotation_prefix + "nvidia-device-plugin_" +
                          std::string(nonce)] = join(qualified, ",");
    }
    if (includes(options, DeviceListStrategy::kCdiCri)) grant.cdi_devices = qualified;
}

void name_channels(const GrantOptions& options, grant::Grant& grant) {
    std::vector<std::string> channels;
    for (const unsigned id : options.imex_channel_ids) channels.push_back(std::to_string(id));
    if (channels.empty()) return;
    if (includes(options, DeviceListStrategy::kEnvvar)) {
        grant.environment["NVIDIA_IMEX_CHANNELS"] = join(channels, ",");
    }
    if (includes(options, DeviceListStrategy::kVolumeMounts)) {
        for (const std::string& channel : channels) {
            grant.mounts.push_back(
                {.container_path = std::string(kDeviceMountRoot) + "/imex/" + channel,
                 .host_path = "/dev/null"});
        }
    }
}

/// The device files that open one device: of the GPU, and of a MIG device its capabilities.
std::vector<std::string> device_paths(const OfferedGpu& offered) {
    std::vector<std::string> paths{"/dev/nvidia" + std::to_string(offered.gpu.minor)};
    if (!offered.mig) return paths;
    for (const auto& minor : {offered.mig->gpu_instance_cap, offered.mig->compute_instance_cap}) {
        if (minor) paths.push_back("/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor));
    }
    return paths;
}

void pass_nodes(const GrantOptions& options, const std::vector<Chosen>& chosen,
                grant::Grant& grant) {
    const auto add = [&](const std::string& path) {
        std::string host = options.dev_root;
        while (host.ends_with('/')) host.pop_back();
        grant.device_nodes.push_back({.container_path = path, .host_path = host + path});
    };
    for (const std::string& path : options.control_nodes) add(path);
    std::set<std::string> added;  // two MIG devices may be of one GPU or one GPU instance
    for (const Chosen& one : chosen) {
        for (std::string& path : device_paths(*one.offered)) {
            if (added.insert(path).second) add(path);
        }
    }
}

}  // namespace

Result<grant::Grant> make_grant(const Resource& resource, const GrantOptions& options,
                                std::span<const std::string> ids, std::string_view nonce) {
    if (ids.empty())
        return Error{ErrorCode::kInvalidInput, resource.name + ": no device asked for"};
    if (resource.shared && resource.fail_requests_greater_than_one && ids.size() > 1) {
        return Error{ErrorCode::kInvalidInput,
                     "request for " + resource.name + ": " + std::to_string(ids.size()) +
                         "; a container may ask for 1 share at most (failRequestsGreaterThanOne)"};
    }
    auto chosen = resolve(resource, ids);
    if (!chosen) return std::move(chosen).error();

    grant::Grant grant;
    std::vector<std::string> names;
    for (const Chosen& one : *chosen) {
        const OfferedGpu& offered = *one.offered;
        names.push_back(options.id_strategy == DeviceIdStrategy::kIndex ? offered.index_text()
                                                                        : offered.uuid().text);
        grant.shares.push_back(share_of(offered, one.replicas));
    }
    name_devices(options, names, nonce, grant);
    name_channels(options, grant);
    const bool beside_cdi = includes(options, DeviceListStrategy::kEnvvar) ||
                            includes(options, DeviceListStrategy::kVolumeMounts);
    if (options.pass_device_specs && beside_cdi) pass_nodes(options, *chosen, grant);
    if (auto problem = connect_to_mps(resource, options, ids, grant)) return *std::move(problem);
    if (options.gdrcopy) grant.environment["NVIDIA_GDRCOPY"] = "enabled";
    if (options.gds) grant.environment["NVIDIA_GDS"] = "enabled";
    if (options.mofed) grant.environment["NVIDIA_MOFED"] = "enabled";
    return grant;
}

}  // namespace aliquot::sharing
