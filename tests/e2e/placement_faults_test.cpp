// SPDX-License-Identifier: Apache-2.0
//
// Placement on a simulated cluster where everything fails in turns: controllers, agents, nodes, GPUs, connections,
// and people who take units beside us. More of them: ALIQUOT_PLACEMENT_FAULTS (a number) and ALIQUOT_PLACEMENT_SEED.
#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>

#include "tests/e2e/fleet_world.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
namespace resources = kube_client::resources;

constexpr unsigned kFaults = 120;
constexpr unsigned kBetweenLooks = 40;
constexpr std::size_t kMostOwners = 28;
constexpr auto kPatience = 180s;

unsigned number_from(const char* variable, unsigned otherwise) {
    const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

class PlacementFaults : public FleetWorld {
protected:
    unsigned any(unsigned below) {
        return std::uniform_int_distribution<unsigned>(0, below - 1)(random_);
    }
    std::string any_node() {
        const auto names = kubelets_->names();
        return names[any(static_cast<unsigned>(names.size()))];
    }
    std::string any_owner() {
        if (owners_.empty()) return {};
        return std::next(owners_.begin(), any(static_cast<unsigned>(owners_.size())))->first;
    }
    /// Of things that are on or off.
    template <class Set, class Key>
    static bool toggle(Set& set, const Key& key) {
        if (set.erase(key) > 0) return false;
        set.insert(key);
        return true;
    }

    void want_pod(bool gated, const std::string& node = {}) {
        if (owners_.size() >= kMostOwners) return remove_owner(any_owner());
        const bool share = any(2) == 0;
        add_owner("o" + std::to_string(++made_), {.resource = share ? kShare : kGpu,
                                                  .count = share ? 1 + any(3) : 1U << any(3),
                                                  .gated = gated,
                                                  .node = node});
    }
    void take_pod_away() {
        const std::string name = any_owner();
        if (name.empty() || owners_.at(name).pod.empty()) return;
        (void)api().remove(resources::pods(), {kSpace, owners_.at(name).pod}, {.grace_seconds = 0});
    }
    void fail_calls() {
        static constexpr std::array kStatus{409, 429, 500, 503};
        sim::ApiFault fault{.resource = any(3) == 0 ? "nodes" : "pods", .times = 1 + any(3)};
        switch (any(5)) {
            case 0:
                fault.status = kStatus[any(kStatus.size())];
                break;
            case 1:
                fault.break_connection = true;
                break;
            case 2:
                fault.delay = std::chrono::milliseconds(any(300));
                break;
            case 3:
                fault.method = "PATCH";
                fault.after_write = true;
                fault.break_connection = true;
                break;
            default:
                fault.verb = any(2) == 0 ? "list" : "watch";
                fault.status = 410;
        }
        server_->inject(fault);
    }
    void kill_controller() {
        const unsigned which = any(2);
        controllers_[which]->process().signal(SIGKILL);
        (void)controllers_[which]->process().wait(10s);
        stopped_.erase(which);
        start_controller(which);
    }
    void toggle_controller() {
        const unsigned which = any(2);
        controllers_[which]->process().signal(toggle(stopped_, which) ? SIGSTOP : SIGCONT);
    }
    void toggle_agent() {
        const std::string node = any_node();
        toggle(agentless_, node) ? kubelets_->stop_agent(node) : kubelets_->start_agent(node);
    }
    void toggle_node() {
        const std::string node = any_node();
        toggle(lost_, node) ? kubelets_->lose(node) : kubelets_->bring_back(node);
    }
    void toggle_gpu() {
        const std::pair<std::string, unsigned> gpu{any_node(), any(2)};
        kubelets_->set_health(gpu.first, gpu.second, !toggle(ill_, gpu));
    }
    void cordon(const std::string& node, bool cordoned) {
        const Json patch{{"spec", {{"unschedulable", cordoned}}}};
        (void)api().patch(resources::nodes(), {"", node}, patch.dump());
    }
    void toggle_cordon() {
        const std::string node = any_node();
        cordon(node, toggle(cordoned_, node));
    }

    void one_fault() {
        const std::vector<std::pair<unsigned, std::function<void()>>> kinds{
            {30, [&] { want_pod(true); }},
            {15, [&] { remove_owner(any_owner()); }},
            {5, [&] { take_pod_away(); }},
            {5, [&] { want_pod(false); }},
            {3, [&] { want_pod(true, any_node()); }},
            {6, [&] { toggle_agent(); }},
            {4, [&] { toggle_node(); }},
            {6, [&] { toggle_gpu(); }},
            {4, [&] { toggle_cordon(); }},
            {12, [&] { fail_calls(); }},
            {3, [&] { server_->cut_connections(); }},
            {3, [&] { server_->compact(); }},
            {2, [&] { kill_controller(); }},
            {2, [&] { toggle_controller(); }},
            {2, [&] { start_scheduler(); }}};
        unsigned all = 0;
        for (const auto& kind : kinds) all += kind.first;
        unsigned at = any(all);
        for (const auto& [weight, act] : kinds) {
            if (at < weight) return act();
            at -= weight;
        }
    }

    void heal() {
        server_->clear_faults();
        for (const unsigned which : stopped_) controllers_[which]->process().signal(SIGCONT);
        for (const std::string& node : agentless_) kubelets_->start_agent(node);
        for (const std::string& node : lost_) kubelets_->bring_back(node);
        for (const auto& [node, gpu] : ill_) kubelets_->set_health(node, gpu, true);
        for (const std::string& node : cordoned_) cordon(node, false);
        stopped_.clear();
        agentless_.clear();
        lost_.clear();
        ill_.clear();
        cordoned_.clear();
        // What people do by hand ends, and so does what no node can take as it is.
        std::vector<std::string> gone;
        for (const auto& [name, owner] : owners_) {
            if (!owner.gated || !owner.node.empty() || owner.made > 3) gone.push_back(name);
        }
        for (const std::string& name : gone) remove_owner(name);
    }

    std::mt19937 random_{number_from("ALIQUOT_PLACEMENT_SEED", 1)};
    unsigned made_ = 0;
    std::set<unsigned> stopped_;
    std::set<std::string> agentless_;
    std::set<std::string> lost_;
    std::set<std::string> cordoned_;
    std::set<std::pair<std::string, unsigned>> ill_;
};

TEST_F(PlacementFaults, NoPodIsLostAndNoDeviceIsGivenTwice) {
    const unsigned faults = number_from("ALIQUOT_PLACEMENT_FAULTS", kFaults);
    for (unsigned i = 1; i <= faults; ++i) {
        one_fault();
        tend_owners();
        std::this_thread::sleep_for(std::chrono::milliseconds(any(20)));
        if (i % kBetweenLooks != 0 && i != faults) continue;
        heal();
        ASSERT_TRUE(settles(kPatience)) << "after " << i << " faults";
        for (const char* const resource : {kShare, kGpu}) expect_exact_books(resource);
        ASSERT_TRUE(settles(kPatience)) << "after " << i << " faults and their look";
    }
}

}  // namespace
}  // namespace aliquot
