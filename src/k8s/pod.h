// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "k8s/label_selector.h"
#include "k8s/node_selector.h"
#include "k8s/taint.h"

namespace aliquot::k8s {

/// By resource, in its unit: cores, bytes, devices.
using Amounts = std::map<std::string, double>;

struct Container {
    std::string name{};
    bool init = false;
    bool sidecar =
        false;           // an init container that runs on beside the others (restartPolicy Always)
    Amounts requests{};  // a limit where there is no request; what is no quantity is 0
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
    NodeSelector where;
    std::vector<Toleration> tolerations;
    std::vector<Container> containers;  // init containers first

    [[nodiscard]] bool is_finished() const { return phase == "Succeeded" || phase == "Failed"; }
    [[nodiscard]] Amounts requests() const { return requests_of(containers); }
};

/// Of any document: what is missing or of another kind stays empty.
Pod read_pod(const document::Value& object);

}  // namespace aliquot::k8s
