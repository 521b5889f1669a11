// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/pod_claims.h"

namespace aliquot::sim {

/// What PodResources tells, before it is cut into one entry per device and NUMA node.
struct HeldDevice {
    std::string resource;
    std::string id;
    std::vector<std::int64_t> numa_nodes;
};
struct PodHoldings {
    struct Container {
        std::string name;
        std::vector<HeldDevice> devices;
        std::vector<ClaimUse> claims;
    };
    std::string pod_namespace;
    std::string name;
    std::vector<Container> containers;
};

/// Serves v1.PodResourcesLister until destroyed. The order of each answer changes from call to
/// call, as kubelet's does.
class PodResourcesServer {
public:
    /// Called from a thread for each connection.
    struct Source {
        std::function<std::vector<PodHoldings>()> pods;
        std::function<std::vector<HeldDevice>()> allocatable;
    };
    /// One bucket for all clients together.
    struct Limit {
        double qps = 100;  // 0: none
        unsigned burst = 10;
    };

    /// errors   kUnavailable: cannot listen there
    static Result<std::unique_ptr<PodResourcesServer>> listen(const std::string& socket,
                                                              Source source, Limit limit,
                                                              std::uint64_t seed);
    ~PodResourcesServer();

    /// From now on as if kubelet were killed: the socket stays and refuses connections.
    void leave_socket();

private:
    class Implementation;
    explicit PodResourcesServer(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::sim
