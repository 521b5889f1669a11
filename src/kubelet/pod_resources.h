// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/root.h"

namespace aliquot::kubelet {

/// A container that holds devices, as kubelet's PodResources API tells it. Of a ResourceClaim: its driver is the
/// resource, and the names of its CDI devices are the ids.
struct Holder {
    std::string pod_namespace;
    std::string pod;
    std::string container;
    std::string resource;
    std::vector<std::string> ids;  // sorted, each once (kubelet repeats an id per NUMA node)
    std::string claim{};           // the name of the ResourceClaim; empty: by a device plugin
    friend bool operator==(const Holder&, const Holder&) = default;
};

/// The pods that kubelet runs, with or without devices.
struct ActivePods {
    std::vector<std::pair<std::string, std::string>> pods;  // namespace and name, sorted
    std::vector<Holder> holders;                            // as PodResources::list() returns them
};

/// Client of kubelet's PodResources v1 socket. Thread-safe. Ask at most once a second, and no more
/// than ten times in a row: kubelet limits all its clients together.
class PodResources {
public:
    PodResources(const os::Root& root, const std::string& socket_path);
    ~PodResources();

    /// Every container that holds a device, sorted by namespace, pod, container, resource.
    /// errors   kUnavailable: no kubelet, too many requests, or `timeout` passed
    Result<std::vector<Holder>> list(std::chrono::milliseconds timeout);

    /// The same with the names of all pods.
    Result<ActivePods> pods(std::chrono::milliseconds timeout);

    /// All healthy devices (not the free ones) of all resources, sorted: what kubelet may give away.
    /// errors   as list(); kUnsupported: a kubelet that has no such call
    Result<std::vector<std::string>> allocatable(std::chrono::milliseconds timeout);

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::kubelet
