// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/cluster_node.h"

namespace aliquot {

/// A simulated node whose GPUs are given by ResourceClaims: what kube-scheduler would write is written here.
class Claims : public ClusterNode {
protected:
    static constexpr char kSlices[] = "/apis/resource.k8s.io/v1/resourceslices";
    static constexpr char kClaims[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    static constexpr char kDriver[] = "gpu.aliquot.dev";

    void SetUp() override;
    virtual void make() { make_gpus("a2", 2); }

    /// As they are published.
    std::vector<Json> devices();
    testing::AssertionResult is_ready();
    /// A part of a device, as kube-scheduler allocates it for a pod "u-NAME".
    sim::ClaimReference allocate(const std::string& name, const std::string& device,
                                 const std::string& memory, const std::string& compute);
    [[nodiscard]] static std::string cdi_path(const std::string& uid);
    unsigned shares_ = 0;
};

class ClaimsOfA100 : public Claims {
protected:
    void make() override { make_gpus("a100-40", 2); }
};

class DynamicMig : public ClaimsOfA100 {
protected:
    /// A device that one claim has alone.
    sim::ClaimReference allocate_all(const std::string& name, const std::string& device);
    /// "3g.20gb 1g.5gb" of a GPU.
    std::string cut(unsigned gpu);
    Json published(const std::string& name);
    testing::AssertionResult is_cuttable();
};

}  // namespace aliquot
