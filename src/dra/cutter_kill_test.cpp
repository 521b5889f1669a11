// SPDX-License-Identifier: Apache-2.0
// SIGKILL at every step of what makes a claim's MIG device and takes it back: the next start finds every claim with
// its instance, and no other instance.
#include <gtest/gtest.h>

#include <random>

#include "dra/claim_spec.h"
#include "dra/kill_points.h"
#include "dra/test_cuts.h"
#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

class DraCutterKill : public ::testing::Test {
protected:
    DraCutterKill() {
        node.checkpoint = [](std::string_view) { kill_point(); };
    }

    /// As the next start finds it.
    void expect_sound() {
        node.look();
        const auto keeper = node.start();
        const auto known = keeper->claims();
        ASSERT_TRUE(known);
        std::set<std::tuple<std::string, unsigned, unsigned>> held;
        std::set<std::string> uids;
        for (const auto& [uid, claim] : *known) {
            EXPECT_EQ(claim.state, PreparedClaim::State::kPrepared);
            uids.insert(uid);
            for (const PreparedDevice& device : claim.devices) {
                if (device.cut->is_off()) continue;
                EXPECT_TRUE(held.emplace(device.gpu, device.cut->start, device.cut->size).second);
                EXPECT_EQ(uuid_at(device), device.uuid) << uid;
            }
        }
        std::set<std::tuple<std::string, unsigned, unsigned>> there;
        for (unsigned i = 0; i < 3; ++i) {
            const gpu::Uuid gpu{"GPU-" + std::to_string(i)};
            const auto now = node.gpus->partitions(gpu);
            for (const gpu::MigInstance& one : now->instances) {
                EXPECT_EQ(one.compute.size(), 1U) << "half made";
                there.emplace(gpu.text, one.placement.start, one.placement.size);
            }
        }
        EXPECT_EQ(there, held) << node.text();
        EXPECT_FALSE(node.node.root.exists("/mig/journal.json"));
        std::set<std::string> with_file;
        for (const std::string& name : node.node.files("/cdi")) {
            with_file.insert(uid_of_cdi_file(name));
        }
        EXPECT_EQ(with_file, uids);
    }

    std::string uuid_at(const PreparedDevice& device) {
        const auto now = node.gpus->partitions({device.gpu});
        for (const gpu::MigInstance& one : now->instances) {
            if (one.placement == gpu::MigPlacement{device.cut->start, device.cut->size}) {
                return one.compute.front().device.text;
            }
        }
        return {};
    }

    /// Each child begins with what the one before it has left.
    void kill_everywhere(const std::function<void(Keeper&)>& calls, unsigned least) {
        unsigned nth = 1;
        while (runs_until_killed(nth, [&] {
            node.look();
            calls(*node.start());
        })) {
            SCOPED_TRACE("killed before step " + std::to_string(nth));
            expect_sound();
            constexpr unsigned kMost = 500;
            ASSERT_LT(++nth, kMost);
        }
        EXPECT_GE(nth, least) << "the steps were not seen";
        expect_sound();
    }

    os::TemporaryDirectory directory_;
    CutNode node{directory_.path()};
};

TEST_F(DraCutterKill, AtAnyStepLosesNoInstanceAndLeavesNone) {
    const NoSync no_sync;
    const ClaimName a = node.allocate("a", "gpu-0000-65-00-0-mig-3g-20gb-4");
    const ClaimName b = node.allocate("b", "gpu-0000-65-00-0-mig-1g-5gb-0");
    ASSERT_TRUE(node.start()->prepare(b));
    const auto prepare = [&](Keeper& keeper) { (void)keeper.prepare(a); };
    const auto unprepare = [&](Keeper& keeper) { (void)keeper.unprepare(a); };
    for (unsigned round = 0; round < 2; ++round) {
        kill_everywhere(prepare, 20);
        EXPECT_EQ(node.gpus->text(0), "1g.5gb@0,3g.20gb@4");
        kill_everywhere(unprepare, 4);
        EXPECT_EQ(node.gpus->text(0), "1g.5gb@0");
    }
    // From a claim that is there, each time.
    unsigned nth = 1;
    bool killed = true;
    while (killed) {
        ASSERT_TRUE(node.start()->prepare(a));
        killed = runs_until_killed(nth++, [&] { (void)node.start()->unprepare(a); });
        SCOPED_TRACE("killed before step " + std::to_string(nth - 1));
        expect_sound();
    }
    EXPECT_GT(nth, 15U) << "the steps were not seen";
}

TEST_F(DraCutterKill, AThousandCallsLoseNothingEither) {
    constexpr unsigned kRounds = 250;
    constexpr unsigned kCalls = 4;
    constexpr unsigned kSteps = 120;
    const NoSync no_sync;
    std::mt19937 random(11);
    std::vector<ClaimName> names;
    const auto& devices = node.node.state.devices;
    for (unsigned i = 0; i < 24; ++i) {
        // Some overlap: these are refused.
        names.push_back(
            node.allocate("c" + std::to_string(i), devices[random() % devices.size()].name));
    }
    unsigned killed = 0;
    std::size_t most = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
        const auto seed = static_cast<unsigned>(random());
        const auto calls = [&] {
            std::mt19937 choice(seed);
            node.look();
            const auto keeper = node.start();
            for (unsigned call = 0; call < kCalls; ++call) {
                const ClaimName& name = names[choice() % names.size()];
                if (choice() % 2 == 0) {
                    (void)keeper->prepare(name);
                } else {
                    (void)keeper->unprepare(name);
                }
            }
        };
        killed += runs_until_killed(1 + static_cast<unsigned>(random() % kSteps), calls) ? 1 : 0;
        if (round % 10 == 0) std::filesystem::remove_all(node.node.root.resolve("/cdi"));
        SCOPED_TRACE(round);
        expect_sound();
        if (HasFailure()) return;
        most = std::max(most, node.start()->claims()->size());
    }
    EXPECT_GT(killed, kRounds / 4);
    EXPECT_LT(killed, kRounds) << "no call came to its end";
    EXPECT_GT(most, 3U);
    const auto keeper = node.start();
    for (const ClaimName& name : names) EXPECT_TRUE(keeper->unprepare(name));
    expect_sound();
    EXPECT_TRUE(keeper->claims()->empty());
    EXPECT_TRUE(node.node.files("/cdi").empty());
}

}  // namespace
}  // namespace aliquot::dra
