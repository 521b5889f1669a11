// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grant/mechanism.h"
#include "kube_client/api.h"
#include "verify/wanted.h"

namespace aliquot::verify {

/// What the probe is asked on one node.
struct TestPod {
    std::string name;
    std::string space;
    std::string node;
    std::string resource;  // one device of it; empty: what `claim` says
    ClaimRequest claim{};
    std::string image;  // holds /usr/bin/aliquot-probe
    grant::Mechanism mechanism = grant::Mechanism::kNone;
    std::uint64_t memory_mib = 0;  // of the share; 0: no limit is expected
    std::string runtime_class;     // empty: the node's own
    unsigned user = 65532;
    unsigned hold_seconds = 300;  // it stays on the GPU so long after its answer
};

/// The ResourceClaimTemplate of a pod that asks by claim; both have the same name.
std::string template_json(const TestPod& pod);
const kube_client::Resource& claim_templates();

/// The Pod object: fits the Pod Security profile "restricted", bound to its node by affinity (the
/// scheduler places it), tolerates every taint.
std::string to_json(const TestPod& pod);

/// What aliquot-probe said.
struct ProbeAnswer {
    struct Gpu {
        std::string uuid;
        std::string name;
        std::uint64_t memory_mib = 0;
    };
    std::vector<Gpu> gpus;
    std::string driver;
    std::optional<bool> visible;
    std::optional<bool> arithmetic;
    std::string arithmetic_how;
    std::uint64_t elements = 0;
    std::optional<bool> share;
    std::string share_how;
    std::string problem;
};
/// The line of JSON in a container's log. Empty: it has not spoken yet, or in other words.
std::optional<ProbeAnswer> read_answer(std::string_view log);

/// How a test pod is at this moment.
struct PodState {
    std::string phase;    // "Pending", "Running", "Succeeded", "Failed"
    bool placed = false;  // it has a node
    std::string waiting;  // reason why its container does not run: "ImagePullBackOff"
    std::string message;  // the container's, else the pod's own or the scheduler's
    /// It will not run by waiting longer.
    [[nodiscard]] bool is_hopeless() const;
};
PodState read_state(std::string_view pod_json);

}  // namespace aliquot::verify
