// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "document/value.h"
#include "sim/cluster/claim_control.h"
#include "sim/cluster/environment.h"
#include "sim/cluster/workload.h"
#include "sim/kubelet/kubelet.h"

namespace aliquot::sim::cluster {

/// What a pod has by claims.
struct ClaimedDevices {
    std::string pod_uid;                                    // of the pod's object
    std::map<std::string, std::vector<std::string>> names;  // container -> CDI names
    std::vector<std::string> devices;                       // names in the node's slices
    std::vector<std::string> gpus;                          // uuids of GPUs and MIG devices
    std::string text;                                       // "3Gi, 25 %"
};

/// The claims of the one node: its API server, allocation, kubelet's Prepare, and which container gets what. Not
/// thread-safe.
class ClaimsOfNode {
public:
    /// An API server with the node, the device classes of deploy/dra, and `objects`. Its kubeconfig is
    /// written below `directory`.
    /// errors   kInvalidInput: an object is refused; kConflict, kPermission: no server
    static Result<std::unique_ptr<ClaimsOfNode>> start(const std::string& directory,
                                                       const std::string& node,
                                                       const k8s::Labels& labels,
                                                       const std::vector<document::Value>& objects);

    [[nodiscard]] std::string kubeconfig() const { return api_->kubeconfig_file(); }

    /// The agent has registered with kubelet and published its devices.
    [[nodiscard]] bool is_ready(const sim::Kubelet& kubelet);

    /// What is left of a pod for the device plugin: without the extended resources that claims serve.
    const PodTemplate& without_claimed(const PodTemplate& pod);
    [[nodiscard]] bool uses_claims(const PodTemplate& pod);

    /// Allocates, prepares, and says what each container gets. Called again it goes on where it stood.
    /// errors   kConflict, kNotFound, kUnavailable: not now, with the scheduler's or kubelet's words;
    ///          kInvalidInput: the API server refuses
    Result<ClaimedDevices> give(sim::Kubelet& kubelet, const PodIdentity& pod,
                                const PodTemplate& wanted);
    /// The pod has ended.
    void take_back(sim::Kubelet& kubelet, const PodIdentity& pod);

private:
    ClaimsOfNode(std::unique_ptr<sim::ApiServer> api, const std::string& node,
                 const k8s::Labels& labels);

    struct Served {
        bool by_claims = false;  // some resource of it, or a claim
        PodTemplate rest;
    };
    const Served& served(const PodTemplate& pod);

    std::unique_ptr<sim::ApiServer> api_;
    ClaimControl control_;
    std::map<const PodTemplate*, Served> served_;
};

}  // namespace aliquot::sim::cluster
