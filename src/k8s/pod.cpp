// SPDX-License-Identifier: Apache-2.0
#include "k8s/pod.h"

#include <algorithm>

#include "document/value.h"
#include "k8s/field.h"
#include "k8s/quantity.h"

namespace aliquot::k8s {
namespace {

using document::Value;

void add(Amounts& sums, const Amounts& amounts) {
    for (const auto& [resource, amount] : amounts) sums[resource] += amount;
}

Container read_container(const Value& node, bool init) {
    Container made{.name = text_field(node, "name"),
                   .init = init,
                   .sidecar = init && text_field(node, "restartPolicy") == "Always"};
    const Value* const resources = node.find("resources");
    if (resources == nullptr) return made;
    for (const char* const list : {"requests", "limits"}) {
        const Value* const amounts = resources->find(list);
        if (amounts == nullptr) continue;
        for (const Value::Entry& entry : amounts->entries) {
            made.requests.emplace(entry.first.scalar,
                                  quantity_value(entry.second.scalar).value_or(0));
        }
    }
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

Pod read_pod(const Value& object) {
    Pod made;
    if (const Value* const metadata = object.find("metadata")) {
        made.name_space = text_field(*metadata, "namespace");
        made.name = text_field(*metadata, "name");
        made.labels = read_labels(metadata->find("labels"));
    }
    if (const Value* const status = object.find("status"))
        made.phase = text_field(*status, "phase");
    const Value* const spec = object.find("spec");
    if (spec == nullptr) return made;
    made.where = read_node_selector(*spec);
    made.tolerations = read_tolerations(spec->find("tolerations"));
    for (const char* const list : {"initContainers", "containers"}) {
        const Value* const containers = spec->find(list);
        if (containers == nullptr) continue;
        for (const Value& one : containers->items) {
            made.containers.push_back(read_container(one, *list == 'i'));
        }
    }
    return made;
}

}  // namespace aliquot::k8s
