// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "k8s/amounts.h"
#include "k8s/label_selector.h"
#include "k8s/node_selector.h"
#include "k8s/taint.h"

namespace aliquot::k8s {

struct Container {
    std::string name{};
    bool init = false;
    // An init container that runs on beside the others (restartPolicy Always).
    bool sidecar = false;
    Amounts requests{};  // a limit where there is no request
    Amounts limits{};
};

/// What a pod of these containers (init containers in their order) asks of its node: sidecars and
/// containers together, or more if an init container beside the sidecars before it needs more.
/// source   k8s.io/component-helpers/resource, PodRequests
Amounts requests_of(const std::vector<Container>& containers);

/// A Pod object as the scheduler looks at it.
struct Pod {
    std::string name_space;
    std::string name;
    std::string phase;  // "Pending"; empty: not said
    Labels labels;
    Labels annotations;
    NodeSelector where;
    std::vector<Toleration> tolerations;
    std::vector<Container> containers;  // init containers first
    Amounts pod_level;  // spec.resources: what counts of the pod instead of its containers' sums
    Amounts overhead;   // what its RuntimeClass adds

    [[nodiscard]] bool is_finished() const { return phase == "Succeeded" || phase == "Failed"; }
    [[nodiscard]] Amounts requests() const;
};

/// Of any document: what is missing or of another kind stays empty.
Pod read_pod(const document::Value& object);

/// Reads any bytes; never throws.
/// errors   kInvalidInput: no JSON
Result<Pod> parse_pod(std::string_view json);

}  // namespace aliquot::k8s
