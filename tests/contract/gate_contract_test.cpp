// SPDX-License-Identifier: Apache-2.0
// The clean-GPU gate over a simulated node: of a hundred jobs some leave processes, memory, Xids, MIG devices or
// clocks behind. All that is left over is found, and nothing is found that is not.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX

#include <random>
#include <set>

#include "gate/observe.h"
#include "gate/run.h"
#include "tests/contract/metered_world.h"
#include "tests/contract/sleeper.h"

namespace aliquot::contract {
namespace {

using gate::LeftoverKind;
using Kinds = std::set<std::pair<unsigned, LeftoverKind>>;

class GatedNode {
public:
    explicit GatedNode(const std::string& gpus) : world_(gpus) {}

    gate::NodeState look() {
        auto state = gate::observe(world_.driver(), world_.meters(), {}, std::chrono::seconds(20));
        EXPECT_TRUE(state) << state.error().message;
        return state ? *std::move(state) : gate::NodeState{};
    }
    sim::Node& node() { return world_.node(); }
    MeteredWorld& world() { return world_; }

private:
    MeteredWorld world_;
};

Kinds kinds_of(const std::vector<gate::Leftover>& leftovers) {
    Kinds kinds;
    for (const auto& one : leftovers) kinds.emplace(one.gpu, one.kind);
    return kinds;
}

std::string words_of(const std::vector<gate::Leftover>& leftovers) {
    std::string text;
    for (const auto& one : leftovers) text += one.message + "\n";
    return text;
}

class Job {
public:
    Job(GatedNode& node, unsigned gpu) : node_(node), gpu_(gpu) {}
    ~Job() {
        if (holds_) (void)node_.node().set_process(gpu_, process_.pid(), 0, 0);
        EXPECT_TRUE(node_.node().inject(gpu_, sim::FaultKind::kClear, 0));
        EXPECT_TRUE(node_.node().reset(gpu_));
        if (cut_) {
            EXPECT_TRUE(node_.node().cut(gpu_, ""));
        }
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    void leave(LeftoverKind kind, Kinds& left) {
        sim::Node& node = node_.node();
        left.emplace(gpu_, kind);
        switch (kind) {
            case LeftoverKind::kProcess:
                EXPECT_TRUE(node.set_process(gpu_, process_.pid(), 64ULL << 20U, 0));
                holds_ = true;
                break;
            case LeftoverKind::kMemory:
                EXPECT_TRUE(node.set_process(gpu_, process_.pid(), 3ULL << 30U, 0));
                left.emplace(gpu_, LeftoverKind::kProcess);
                holds_ = true;
                break;
            case LeftoverKind::kFault:
                EXPECT_TRUE(node.inject(gpu_, sim::FaultKind::kXid, 48));
                break;
            case LeftoverKind::kEcc:
                EXPECT_TRUE(node.inject(gpu_, sim::FaultKind::kEccUncorrected, 2));
                break;
            case LeftoverKind::kClocks:
                EXPECT_TRUE(node.inject(gpu_, sim::FaultKind::kThrottle, 0x2));
                break;
            case LeftoverKind::kMig:
                EXPECT_TRUE(node.cut(gpu_, "3g.20gb"));
                cut_ = true;
                break;
            case LeftoverKind::kGone:
                break;
        }
    }

private:
    GatedNode& node_;
    unsigned gpu_;
    Sleeper process_;
    bool holds_ = false;
    bool cut_ = false;
};

// R94.
TEST(GateContract, FindsAllThatAHundredJobsLeftAndInventsNothing) {
    GatedNode node("a100-40:2");
    std::mt19937 random(2026);
    unsigned dirty = 0;
    for (int run = 0; run < 100; ++run) {
        const auto base = node.look();
        Kinds left;
        {
            // GPU 0 is cut by some, and one in MIG mode takes processes on its devices only.
            const auto gpu = static_cast<unsigned>(random() % 2);
            Job job(node, gpu);
            constexpr std::array kKinds{LeftoverKind::kMig,    LeftoverKind::kFault,
                                        LeftoverKind::kEcc,    LeftoverKind::kClocks,
                                        LeftoverKind::kMemory, LeftoverKind::kProcess};
            for (const LeftoverKind kind : kKinds) {
                if (random() % 4 != 0 || (kind == LeftoverKind::kMig && gpu == 1)) continue;
                const bool holds = kind == LeftoverKind::kMemory || kind == LeftoverKind::kProcess;
                if (holds && (gpu == 0 || left.contains({gpu, LeftoverKind::kProcess}))) continue;
                job.leave(kind, left);
            }
            const auto found = gate::judge(node.look(), &base);
            EXPECT_EQ(kinds_of(found), left) << "run " << run << "\n" << words_of(found);
            dirty += left.empty() ? 0U : 1U;
        }
    }
    EXPECT_GT(dirty, 40U);
    EXPECT_LT(dirty, 90U);
}

TEST(GateContract, EndsAnOrphanAndFindsTheGpuClean) {
    GatedNode node("t4");
    const auto base = node.look();
    const Sleeper orphan;
    ASSERT_TRUE(node.node().set_process(0, orphan.pid(), 3ULL << 30U, 0));
    os::SystemClock clock;
    const auto verdict = gate::run(
        {.observe = [&]() -> Result<gate::NodeState> { return node.look(); },
         .signal = [](std::uint32_t pid, int number) { ::kill(static_cast<pid_t>(pid), number); },
         .clock = clock},
        &base, {.orphans = gate::Orphans::kEnd});
    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->leftovers.empty()) << words_of(verdict->leftovers);
    EXPECT_EQ(verdict->ended, std::vector<std::uint32_t>{orphan.pid()});
}

TEST(GateContract, TellsALostGpu) {
    GatedNode node("t4:2");
    const auto base = node.look();
    ASSERT_TRUE(node.node().inject(1, sim::FaultKind::kXid, 79));
    const auto found = gate::judge(node.look(), &base);
    ASSERT_FALSE(found.empty());
    for (const auto& one : found) {
        EXPECT_EQ(one.kind, LeftoverKind::kFault) << one.message;
        EXPECT_EQ(one.gpu, 1U);
    }
}

}  // namespace
}  // namespace aliquot::contract
