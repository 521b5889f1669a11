// SPDX-License-Identifier: Apache-2.0
//
// Plans for clusters at random, held against a model that knows nothing of the planner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>

#include "scheduling/defrag.h"
#include "scheduling/defrag_world.h"

namespace aliquot::scheduling::moving {
namespace {

class RandomWorld : public World {
public:
    explicit RandomWorld(unsigned seed) : random_(seed) {
        const unsigned count = 2 + below(5);
        for (unsigned i = 0; i < count; ++i) add_node("n" + std::to_string(i));
        const unsigned wanted = below(5 * count);
        for (unsigned i = 0; i < wanted; ++i) add_pod("p" + std::to_string(i));
        for (unsigned i = below(3); i > 0; --i) {
            GpuPod one = pod("w" + std::to_string(i), kinds_[below(3)], 1);
            one.is_gated = true;
            one.bound_at.clear();
            one.plan.clear();
            waiting.push_back(one);
        }
        for (const char* const app : {"x", "y", "z"}) {
            if (below(2) == 0) rules.budgets.push_back(budget(app, below(3)));
        }
        rules.most_moves = below(9);
    }

private:
    unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
    bool one_in(unsigned n) { return below(n) == 0; }

    void add_node(const std::string& name) {
        const unsigned kind = below(3);
        ServedNode made = node(name, kinds_[kind], 1 + below(4), kind == 0 ? 1 : 4 + below(5));
        if (one_in(6)) made.is_open = false;
        if (one_in(4)) made.cpu_milli = 3000;
        if (one_in(5)) made.taints = {{.key = "k", .value = "", .effect = "NoSchedule"}};
        made.labels["topology.kubernetes.io/zone"] = one_in(2) ? "one" : "two";
        for (const ServedGpu& gpu : made.gpus) free_[gpu.uuid] = gpu.units.begin()->second;
        cpu_[name] = made.cpu_milli;
        add(std::move(made));
    }

    void add_pod(const std::string& name) {
        const auto where = std::next(nodes.begin(), below(static_cast<unsigned>(nodes.size())));
        const std::string resource = where->second.gpus.front().units.begin()->first;
        std::map<std::string, unsigned> gpus;
        const unsigned wanted = 1 + below(4);
        for (const ServedGpu& gpu : where->second.gpus) {
            unsigned& free = free_[gpu.uuid];
            if (free == 0 || one_in(3)) continue;
            const unsigned got = resource == kMps ? std::min(free, wanted) : 1;
            gpus[gpu.uuid] = got;
            free -= got;
            if (resource == kMps || gpus.size() >= 1 + below(2)) break;
        }
        if (gpus.empty() || cpu_[where->first] < 1000) return;
        cpu_[where->first] -= 1000;
        unsigned count = 0;
        for (const auto& gpu : gpus) count += gpu.second;
        GpuPod made = pod(name, resource, count);
        vary(made);
        hold(std::move(made), where->first, gpus);
    }

    void vary(GpuPod& one) {
        static constexpr std::array kApps{"x", "y", "z", "other"};
        one.labels = {{"app", kApps[below(kApps.size())]}};
        if (one_in(12)) one.owner.clear();
        if (one_in(12)) one.stays_put = true;
        if (one_in(12)) one.claim.key = "gang";
        if (one_in(12)) one.movable = GpuPod::Movable::kNo;
        if (one_in(12)) one.is_of_job = true;
        if (one_in(12)) one.plan.clear();
        if (one_in(12)) one.priority = 1;
        if (one_in(12)) one.bound_at = one_in(2) ? kJustNow : "";
        if (one_in(12)) one.is_leaving = true;
        if (one_in(12)) rules.spared[one.uid] = "are spared";
        if (one_in(3)) one.tolerations = {{.key = "k", .operation = "Exists"}};
    }

    std::mt19937 random_;
    const std::array<const char*, 3> kinds_{kWhole, kShare, kMps};
    std::map<std::string, unsigned> free_;
    std::map<std::string, std::int32_t> cpu_;
};

/// GPUs as books tell them, and moves that are made one by one: nothing of the planner is in it.
class Model {
public:
    explicit Model(const Books& books) {
        for (const GpuBooking& row : books.gpus()) {
            gpus_[row.node][row.gpu] = {row.units, row.free};
        }
    }
    [[nodiscard]] bool is_free(const std::string& node, const std::string& gpu) const {
        const auto& [units, free] = gpus_.at(node).at(gpu);
        return units == free;
    }
    [[nodiscard]] bool is_free(const std::string& node) const {
        const auto& gpus = gpus_.at(node);
        return std::all_of(gpus.begin(), gpus.end(),
                           [](const auto& one) { return one.second.first == one.second.second; });
    }
    [[nodiscard]] WhollyFree free() const {
        WhollyFree sum;
        for (const auto& [node, gpus] : gpus_) {
            for (const auto& gpu : gpus) sum.gpus += is_free(node, gpu.first) ? 1 : 0;
            sum.nodes += is_free(node) ? 1 : 0;
        }
        return sum;
    }
    /// The pod that comes is there before the one that goes has gone.
    void make(const PlannedMove& move) {
        unsigned came = 0;
        for (const auto& gpu : move.to.units.begin()->second) {
            auto& free = gpus_.at(move.to.node).at(gpu.first).second;
            ASSERT_GE(free, gpu.second) << "over what " << gpu.first << " has";
            free -= gpu.second;
            came += gpu.second;
        }
        EXPECT_EQ(came, move.pod.devices.front().count);
        for (const auto& gpu : move.from.units.begin()->second)
            gpus_.at(move.from.node).at(gpu.first).second += gpu.second;
        for (const auto& gpu : move.from.units.begin()->second) {
            const bool opened =
                std::find(move.opens.begin(), move.opens.end(), gpu.first) != move.opens.end();
            EXPECT_EQ(opened, is_free(move.from.node, gpu.first));
        }
        EXPECT_EQ(move.opens_node, is_free(move.from.node));
    }

private:
    std::map<std::string, std::map<std::string, std::pair<unsigned, unsigned>>> gpus_;
};

void expect_unprotected(const World& world, const DefragPlan& plan) {
    std::set<std::string> moved;
    std::map<std::string, unsigned> by_app;
    for (const PlannedMove& one : plan.moves) {
        const GpuPod& pod = one.pod;
        EXPECT_TRUE(moved.insert(pod.uid).second) << "twice";
        EXPECT_FALSE(pod.owner.empty() || pod.stays_put || !pod.claim.key.empty() ||
                     pod.movable == GpuPod::Movable::kNo || pod.is_of_job || pod.plan.empty() ||
                     pod.priority > 0 || pod.bound_at != kLongAgo || pod.is_leaving ||
                     world.rules.spared.contains(pod.uid))
            << pod.name;
        ++by_app[pod.labels.at("app")];
        const ServedNode& to = world.nodes.at(one.to.node);
        EXPECT_TRUE(to.is_open);
        EXPECT_TRUE(to.taints.empty() || !pod.tolerations.empty());
        EXPECT_TRUE(!one.to.units.contains(kMps) || one.to.units.at(kMps).size() == 1);
    }
    EXPECT_LE(plan.moves.size(), world.rules.most_moves);
    for (const DisruptionBudget& one : world.rules.budgets)
        EXPECT_LE(by_app[one.name.substr(2)], one.allowed) << one.name;
}

TEST(Defrag, KeepsEveryRuleAndWinsWhatItTellsWhateverTheCluster) {
    unsigned with_moves = 0;
    unsigned gpus = 0;
    unsigned nodes = 0;
    for (unsigned seed = 1; seed <= 2000 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        const RandomWorld world(seed);
        Books books = world.books();
        Model model(books);
        const WhollyFree before = model.free();
        const DefragPlan plan = books.plan_defrag(world.rules);
        EXPECT_EQ(plan.before, before);
        for (const PlannedMove& one : plan.moves) model.make(one);
        EXPECT_EQ(plan.after, model.free());
        EXPECT_EQ(Model(books).free(), plan.after);
        EXPECT_EQ(books.self_check(), "");
        expect_unprotected(world, plan);
        const std::tuple was(before.gpus, before.nodes);
        const std::tuple is(plan.after.gpus, plan.after.nodes);
        EXPECT_TRUE(plan.moves.empty() ? is == was : is > was);
        EXPECT_THAT(told(world.plan()), testing::ElementsAreArray(told(plan)));
        Books again = world.books();
        const Replay replayed = again.replay(world.rules, plan.moves);
        EXPECT_EQ(replayed.wrong, "");
        EXPECT_EQ(replayed.after, plan.after);
        with_moves += plan.moves.empty() ? 0 : 1;
        gpus += plan.after.gpus - before.gpus;
        nodes += plan.after.nodes - before.nodes;
    }
    EXPECT_GT(with_moves, 200U);
    EXPECT_GT(gpus, 100U);
    EXPECT_GT(nodes, 100U);
}

}  // namespace
}  // namespace aliquot::scheduling::moving
