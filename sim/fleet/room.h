// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "k8s/node.h"
#include "k8s/pod.h"

namespace aliquot::sim::fleet {

/// What nodes have left, and which of them take a pod. Pure. Not thread-safe.
class Room {
public:
    void set_node(k8s::Node node);
    void remove_node(const std::string& name);
    /// A pod on its node, as long as it has not ended.
    void take(const std::string& uid, const std::string& node, const k8s::Amounts& requests);
    void give_back(const std::string& uid);

    /// The node with most CPU free of those that take it; empty: none does, and `why` holds kube-scheduler's words.
    struct Choice {
        std::string node;
        std::string why;
    };
    [[nodiscard]] Choice choose(const k8s::Pod& pod) const;

private:
    struct Place {
        k8s::Node node;
        k8s::Amounts used;
        unsigned pods = 0;
    };
    struct Taken {
        std::string node;
        k8s::Amounts requests;
    };
    /// Empty: it takes the pod.
    static std::string keeps_off(const Place& place, const k8s::Pod& pod,
                                 const k8s::Amounts& requests);
    void count(const Taken& taken, double sign);

    std::map<std::string, Place> places_;
    std::map<std::string, Taken> taken_;  // by uid
};

}  // namespace aliquot::sim::fleet
