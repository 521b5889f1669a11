// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/fleet_world.h"

namespace aliquot {

/// Six nodes in three zones, each with two A2 in four shares, before Kubernetes' own API server and kube-scheduler, with
/// two controllers of ours. A rule of kube-scheduler's is put to it twice: with pods that have our gate, and without.
class PlacementRulesWorld : public FleetWorld {
public:
    using Json = nlohmann::json;
    /// Node by pod; empty: it has none.
    using Placed = std::map<std::string, std::string>;

    PlacementRulesWorld();
    void add_nodes() override;
    void SetUp() override;
    void TearDown() override;

    /// The pods that are made from now on have the gate.
    void gate(bool gated) { gated_ = gated; }
    /// A pod with `count` shares (0: none), and what `more` adds to its spec.
    void add_pod(const std::string& name, unsigned count, const Json& more = Json::object(),
                 const Json& labels = Json::object());
    /// On a node by hand, without gate.
    void fill(const std::string& node, unsigned count, const std::string& cpu = "0");
    void patch_node(unsigned index, const Json& patch);
    void taint(unsigned index, const char* effect);
    void make(const kube_client::Resource& resource, const std::string& space, Json object);
    void remove_pod(const std::string& name);
    void open_gate(const std::string& pod, const std::string& gate);
    /// Who was told of what there is now has heard of it, and pods that can run do.
    void settle();
    /// Of the pods that add_pod() made.
    Placed placed();
    /// Does for a claim that waits for its first pod what kube-controller-manager does once a volume is chosen.
    void bind_volumes();
    /// What was made for one round goes; nodes are as at first.
    void clean();
    std::string said();
    /// Holds within two minutes, and still does two seconds later.
    testing::AssertionResult comes_to(const std::function<bool(const Placed&)>& right);

private:
    bool gated_ = false;
    std::vector<std::string> asked_;
    unsigned fills_ = 0;
    std::vector<std::pair<kube_client::Resource, kube_client::ObjectKey>> made_;
};

/// One rule of kube-scheduler's.
struct SchedulingRule {
    std::string name;
    std::function<void(PlacementRulesWorld&)> ask;
    std::function<bool(const PlacementRulesWorld::Placed&)> right;
    std::function<void(PlacementRulesWorld&)> then;  // after that, and
    std::function<bool(const PlacementRulesWorld::Placed&)> right_then;
};
inline std::ostream& operator<<(std::ostream& out, const SchedulingRule& rule) {
    return out << rule.name;
}

std::vector<SchedulingRule> rules_of_nodes();
std::vector<SchedulingRule> rules_of_other_pods();
std::vector<SchedulingRule> rules_of_volumes_and_more();

}  // namespace aliquot
