// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "claims/allocate.h"
#include "sim/apiserver/api_server.h"
#include "sim/cluster/workload.h"
#include "sim/kubelet/pod_claims.h"

namespace aliquot::sim::cluster {

/// The claims of one pod that has a node.
struct BoundClaims {
    std::string pod_uid;  // of the pod's object
    /// By the name in the pod's spec.resourceClaims; of extended resources "".
    std::map<std::string, sim::ClaimReference> claims{};
    struct Device {
        std::string claim;    // as the keys above
        std::string request;  // without what follows the slash
        std::string name;     // "gpu-0000-65-00-0"
        std::string gpu;      // the attribute uuid; empty: it is made when it is prepared
        std::string text;     // "3Gi, 25 %", "whole", "3g.20gb"
    };
    std::vector<Device> devices{};
    /// For extended resources that claims serve: container -> requests.
    std::map<std::string, std::vector<std::string>> requests_of_container{};
};

/// What kube-controller-manager and kube-scheduler do for pods with claims, for the one node: claims from
/// templates and for extended resources, allocation, reservation, and all of it undone. Objects are those
/// of the API server; nothing is kept here. Not thread-safe.
class ClaimControl {
public:
    /// api   must outlive this
    ClaimControl(sim::ApiServer& api, std::string node, k8s::Labels labels);

    /// The driver has published the node's devices: some slice of it, and every pool is complete.
    [[nodiscard]] bool has_devices();

    /// Whether a class serves this extended resource.
    [[nodiscard]] bool serves(const std::string& resource);

    /// Makes the pod's object and its claims, if they are not there, and gives them devices. Called again
    /// it goes on where it stood.
    /// errors   kConflict: not now, with the scheduler's words and what is in the way; kInvalidInput: the
    ///          API server refuses; kNotFound: a claim or template that is not there
    Result<BoundClaims> bind(const std::string& name_space, const std::string& name,
                             const PodTemplate& pod);

    /// The pod has ended and its claims are unprepared: it is no user of them any more; a claim without
    /// users loses its devices, one of a template goes.
    void release(const std::string& name_space, const std::string& name);

private:
    struct Named {
        std::string in_pod;  // name in spec.resourceClaims
        std::string claim;   // of the object
    };

    Result<document::Value> pod_object(const std::string& name_space, const std::string& name,
                                       const PodTemplate& pod);
    Result<std::vector<Named>> make_claims(const document::Value& pod_object,
                                           const PodTemplate& pod);
    Result<std::string> make_from_template(const document::Value& pod_object,
                                           const PodClaim& claim);
    Result<std::string> make_extended(const document::Value& pod_object, const PodTemplate& pod);
    Result<Done> give_devices(const std::string& name_space, const std::vector<Named>& names,
                              const document::Value& pod_object);
    Result<BoundClaims> bound(const document::Value& pod_object, const std::vector<Named>& names,
                              const PodTemplate& pod);
    claims::Cluster cluster();
    std::vector<document::Value> list(const std::string& path);

    sim::ApiServer& api_;
    claims::NodeView node_;
};

}  // namespace aliquot::sim::cluster
