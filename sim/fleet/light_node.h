// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/planned_grants.h"
#include "base/result.h"
#include "gpu/inventory.h"
#include "scheduling/served_node.h"
#include "sharing/config.h"
#include "sharing/offer.h"

/// A cluster of many light nodes for an API server: what kubelets, our agents and kube-scheduler do there as far
/// as others can see, without containers and drivers.
namespace aliquot::sim::fleet {

/// What a kind of nodes has.
struct NodeShape {
    std::string model;  // "h100-80", as `aliquot sim up --gpu` takes it
    unsigned gpus = 8;
    sharing::Config sharing{};
    unsigned cores = 96;
    unsigned memory_gib = 1024;
    unsigned pods = 110;
};

/// One node: which device each pod holds, as kubelet's device manager and our agent keep it. Not thread-safe.
class LightNode {
public:
    /// errors   kInvalidInput: no such model, more than 16 GPUs; as sharing::make_offer()
    static Result<LightNode> make(std::string name, const NodeShape& shape);

    [[nodiscard]] const std::string& name() const { return name_; }
    /// The Node object to create, without conditions that change. zone   empty: no such label
    [[nodiscard]] std::string object(const std::string& zone) const;
    /// The status of it: allocatable goes by healthy GPUs, and by the agent: without one no device is.
    [[nodiscard]] std::string status() const;
    /// What our agent tells by annotations and labels, as a merge patch; granted pods among it.
    [[nodiscard]] std::string told() const;

    /// What one container asks of one resource.
    struct Asked {
        std::string container;
        std::string resource;
        unsigned count = 0;
    };
    /// Gives a pod its devices, as planned where a plan fits. Nothing changes for one that has them.
    /// errors   kUnavailable: kubelet's words of why the pod cannot be admitted
    Result<Done> admit(const std::string& uid, const std::vector<Asked>& asked);
    /// Returns whether it held anything.
    bool release(const std::string& uid);

    /// A pod that is to come here, and what was planned for it.
    void plan(const std::string& uid, const std::string& created, const scheduling::Plan& plan);
    void set_health(unsigned gpu, bool healthy);
    /// Its plans are forgotten: the next agent reads them anew.
    void set_agent(bool runs);
    [[nodiscard]] bool has_agent() const { return agent_runs_; }

    [[nodiscard]] const sharing::Offer& offer() const { return offer_; }
    [[nodiscard]] const gpu::Inventory& inventory() const { return inventory_; }
    /// Who holds which devices: pod uid -> resource -> device ids.
    using Held = std::map<std::string, std::map<std::string, std::set<std::string>>>;
    [[nodiscard]] const Held& held() const { return held_; }
    [[nodiscard]] scheduling::Granted granted() const;

private:
    LightNode() = default;
    [[nodiscard]] const sharing::Resource* find(const std::string& resource) const;
    [[nodiscard]] std::vector<std::string> free_ids(const sharing::Resource& resource) const;
    void offer_again();

    std::string name_;
    NodeShape shape_;
    gpu::Inventory inventory_;
    sharing::Offer offer_;
    bool agent_runs_ = true;
    std::unique_ptr<agent::PlannedGrants> plans_;
    std::set<std::string> planned_;  // uids that plans_ knows
    Held held_;
};

}  // namespace aliquot::sim::fleet
