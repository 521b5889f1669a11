// SPDX-License-Identifier: Apache-2.0
#include "k8s/pod.h"

#include <algorithm>

#include "document/json.h"
#include "document/path.h"

namespace aliquot::k8s {
namespace {

using document::Value;

void add(Amounts& sums, const Amounts& amounts) {
    for (const auto& [resource, amount] : amounts) sums[resource] += amount;
}

/// Requests, and limits where there are none.
Amounts read_requests(const Value& node) {
    Amounts made = read_amounts(at_path(node, {"resources", "requests"}));
    made.merge(read_amounts(at_path(node, {"resources", "limits"})));
    return made;
}

Container read_container(const Value& node, bool init) {
    Container made{.name = text_at(node, {"name"}),
                   .init = init,
                   .sidecar = init && text_at(node, {"restartPolicy"}) == "Always"};
    made.requests = read_requests(node);
    made.limits = read_amounts(at_path(node, {"resources", "limits"}));
    return made;
}

}  // namespace

Amounts requests_of(const std::vector<Container>& containers) {
    Amounts running;    // sidecars, in the end all that runs together
    Amounts beginning;  // the most while init containers run
    for (const Container& one : containers) {
        if (one.sidecar) add(running, one.requests);
        if (!one.init || one.sidecar) continue;
        Amounts both = running;
        add(both, one.requests);
        for (const auto& [resource, amount] : both) {
            double& most = beginning[resource];
            most = std::max(most, amount);
        }
    }
    for (const Container& one : containers) {
        if (!one.init) add(running, one.requests);
    }
    for (const auto& [resource, amount] : beginning) {
        double& sum = running[resource];
        sum = std::max(sum, amount);
    }
    return running;
}

Amounts Pod::requests() const {
    Amounts sums = requests_of(containers);
    for (const auto& [resource, amount] : pod_level) sums[resource] = amount;
    add(sums, overhead);
    return sums;
}

Pod read_pod(const Value& object) {
    Pod made;
    made.name_space = text_at(object, {"metadata", "namespace"});
    made.name = text_at(object, {"metadata", "name"});
    made.labels = read_labels(at_path(object, {"metadata", "labels"}));
    made.annotations = read_labels(at_path(object, {"metadata", "annotations"}));
    made.phase = text_at(object, {"status", "phase"});
    const Value* const spec = object.find("spec");
    if (spec == nullptr) return made;
    made.where = read_node_selector(*spec);
    made.tolerations = read_tolerations(spec->find("tolerations"));
    made.pod_level = read_requests(*spec);
    made.overhead = read_amounts(at_path(*spec, {"overhead"}));
    for (const char* const list : {"initContainers", "containers"}) {
        for (const Value& one : items_at(spec, {list})) {
            made.containers.push_back(read_container(one, *list == 'i'));
        }
    }
    return made;
}

Result<Pod> parse_pod(std::string_view json) {
    const auto root = document::parse_json(json);
    if (!root) return Error(root.error()).during("pod");
    return read_pod(*root);
}

}  // namespace aliquot::k8s
