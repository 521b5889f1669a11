// SPDX-License-Identifier: Apache-2.0
//
// Random gangs come, end and lose their controller: none is let go in part, no GPU is promised twice, and all get
// their turn. Asked of the same API servers as placement_contract_test.cpp.
#include <csignal>
#include <random>

#include "tests/contract/placement_world.h"

namespace aliquot::contract {
namespace {

constexpr unsigned kNodes = 3;
constexpr unsigned kGpus = 4;  // of each
constexpr unsigned kGangs = 10;

struct Gang {
    std::string name;
    std::vector<std::string> pods;
    unsigned made = 0;  // of its pods
    unsigned gpus = 1;  // of each
    bool was_whole = false;
};

class RandomGangs : public PlacementContract {
protected:
    unsigned number(unsigned below) { return static_cast<unsigned>(random_() % below); }

    void invent_gangs() {
        for (unsigned i = 0; i < kGangs; ++i) {
            Gang made{.name = "g" + std::to_string(i), .gpus = 1 + number(2)};
            const unsigned size = 1 + number(made.gpus == 1 ? 7 : 4);
            for (unsigned k = 0; k < size; ++k)
                made.pods.push_back(made.name + "-" + std::to_string(k));
            gangs_.push_back(std::move(made));
        }
    }
    void make_next(Gang& gang) {
        Json one = pod_of(gang.pods[gang.made++], gang.gpus);
        one["metadata"]["labels"] = {{"aliquot.dev/gang", gang.name},
                                     {"aliquot.dev/gang-size", std::to_string(gang.pods.size())}};
        create(one);
    }
    std::map<std::string, Json> all_pods() {
        std::map<std::string, Json> pods;
        const auto list = api().list(resources::pods(), {.namespace_name = space_});
        if (!list) return pods;
        for (const auto& one : list->items) {
            Json pod = Json::parse(one.json);
            const std::string name = pod["metadata"]["name"];
            pods[name] = std::move(pod);
        }
        return pods;
    }
    static bool is_let_go(const Json& pod) {
        return pod.contains("spec") && !pod["spec"].contains("schedulingGates");
    }

    /// What must hold whenever it is looked.
    void check(const std::map<std::string, Json>& pods) {
        for (const Gang& gang : gangs_) {
            for (const std::string& name : gang.pods) {
                const auto pod = pods.find(name);
                if (pod == pods.end() || !is_let_go(pod->second)) continue;
                ASSERT_EQ(gang.made, gang.pods.size()) << name << " was let go before all exist";
            }
        }
        std::map<std::string, std::string> holders;
        const Json::json_pointer where("/metadata/annotations/aliquot.dev~1plan");
        for (const auto& [name, pod] : pods) {
            if (!is_let_go(pod)) continue;
            const auto plan = scheduling::parse_plan(pod.value(where, std::string()));
            ASSERT_TRUE(plan) << name;
            const std::string node = pod["spec"].value("nodeName", std::string());
            for (const auto& target : plan->targets) {
                if (!node.empty() && target.node != node) continue;
                for (const auto& [gpu, units] : target.units.at(resource_)) {
                    ASSERT_EQ(holders[gpu], "") << gpu << " is promised to " << name << ", too";
                    holders[gpu] = name;
                }
            }
        }
    }
    /// As a kube-scheduler, one pod.
    void bind_one(const std::map<std::string, Json>& pods) {
        for (const auto& [name, pod] : pods) {
            if (!is_let_go(pod) || pod["spec"].contains("nodeName") || number(3) == 0) continue;
            const auto plan = plan_of(name);
            if (plan) (void)api().bind(key(name), plan->targets.at(0).node);
            return;
        }
    }
    /// Gangs that run as a whole end.
    void end_some(const std::map<std::string, Json>& pods) {
        for (Gang& gang : gangs_) {
            const bool whole =
                std::all_of(gang.pods.begin(), gang.pods.end(), [&](const auto& name) {
                    const auto pod = pods.find(name);
                    return pod != pods.end() && pod->second["spec"].contains("nodeName");
                });
            gang.was_whole = gang.was_whole || whole;
            if (!whole || number(4) != 0) continue;
            for (const std::string& name : gang.pods)
                (void)api().remove(resources::pods(), key(name), {.grace_seconds = 0});
        }
    }
    [[nodiscard]] bool is_done() const {
        return std::all_of(gangs_.begin(), gangs_.end(),
                           [](const Gang& gang) { return gang.was_whole; });
    }

    std::mt19937 random_{21};
    std::vector<Gang> gangs_;
};

TEST_P(RandomGangs, AllGetTheirTurnAndNoneInPart) {
    for (unsigned i = 0; i < kNodes; ++i) add_node("n" + std::to_string(i), kGpus, 1, false);
    invent_gangs();
    auto controller = start();
    unsigned kills = 0;
    unsigned bound = 0;
    const auto limit = std::chrono::steady_clock::now() + 240s;
    for (unsigned step = 0; !is_done() && std::chrono::steady_clock::now() < limit; ++step) {
        Gang& gang = gangs_[number(kGangs)];
        if (gang.made < gang.pods.size()) make_next(gang);
        const auto pods = all_pods();
        check(pods);
        if (HasFatalFailure()) break;
        for (const auto& [name, pod] : pods) bound += is_let_go(pod) ? 1 : 0;
        bind_one(pods);
        end_some(pods);
        if (bound > 20 * (kills + 1) && kills < 2) {  // while it has something to do
            controller->process().signal(SIGKILL);
            ASSERT_TRUE(controller->process().wait(10s));
            controller = start();
            ++kills;
        }
        std::this_thread::sleep_for(5ms);
    }
    for (const Gang& gang : gangs_) {
        EXPECT_TRUE(gang.was_whole) << gang.name << " of " << gang.pods.size() << " pods with "
                                    << gang.gpus << " GPUs each";
    }
    EXPECT_EQ(kills, 2U);
    if (HasFailure()) std::printf("%s\n", controller->said().c_str());
}

INSTANTIATE_TEST_SUITE_P(Api, RandomGangs,
                         testing::Values(KubeParam{"simulated", simulated_kube_world},
                                         KubeParam{"real", real_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
