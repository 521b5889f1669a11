// SPDX-License-Identifier: Apache-2.0
#include "dra/keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <fstream>
#include <random>

#include "base/descriptor.h"
#include "document/json.h"
#include "dra/claim_spec.h"
#include "dra/kill_points.h"
#include "dra/test_claims.h"
#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

class DraKeeper : public ::testing::Test {
protected:
    os::TemporaryDirectory directory_;
    Node node{directory_.path()};
};

TEST_F(DraKeeper, GivesTheSameAnswerTwiceAndHealsTheFile) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    const auto keeper = node.start();
    const auto first = keeper->prepare(claim);
    ASSERT_TRUE(first) << first.error().message;
    const auto text = node.root.read("/cdi/k8s.gpu.aliquot.dev-claim-uid-a.json");
    ASSERT_TRUE(text);
    const auto spec = cdi::parse(*text);
    ASSERT_TRUE(spec) << spec.error().message;
    ASSERT_EQ(spec->devices.size(), 1U);
    EXPECT_EQ(spec->devices[0].name, "uid-a-0.part.GPU-0");
    EXPECT_EQ(spec->devices[0].edits.device_nodes[0].path, "/dev/nvidia0");
    EXPECT_EQ(spec->edits.mounts.at(0).container_path, "/guard");
    std::filesystem::remove_all(node.root.resolve("/cdi"));
    const auto second = keeper->prepare(claim);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(*first, *second);
    EXPECT_EQ(node.root.read("/cdi/k8s.gpu.aliquot.dev-claim-uid-a.json").ok(), true);
}

TEST_F(DraKeeper, WritesTheFilesAnewWhenItStarts) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(node.start()->prepare(claim));
    std::filesystem::remove_all(node.root.resolve("/cdi"));
    ASSERT_TRUE(node.root.write_atomically("/cdi/k8s.gpu.aliquot.dev-claim-gone.json", "{}"));
    ASSERT_TRUE(node.root.write_atomically("/cdi/other.json", "{}"));
    const auto keeper = node.start();
    EXPECT_EQ(node.files("/cdi"),
              (std::vector<std::string>{"k8s.gpu.aliquot.dev-claim-uid-a.json", "other.json"}));
    EXPECT_EQ(keeper->held()->at({"GPU-0"}), "ai/a");
}

TEST_F(DraKeeper, WhatItCannotKnowIsNotNothing) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(node.start()->prepare(claim));
    const std::string lock = node.root.resolve("/state/serialize.lock");
    std::filesystem::remove(lock);
    std::filesystem::create_directory(lock);
    const auto keeper = node.start();
    EXPECT_FALSE(keeper->held());
    EXPECT_FALSE(keeper->claims());
    std::filesystem::remove(lock);
    EXPECT_EQ(keeper->held()->size(), 1U);
}

TEST_F(DraKeeper, UnpreparesWhatIsThereAndWhatIsNot) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    const auto keeper = node.start();
    ASSERT_TRUE(keeper->prepare(claim));
    node.claims.clear();  // the object is gone
    EXPECT_TRUE(keeper->unprepare(claim));
    EXPECT_TRUE(keeper->unprepare(claim));
    EXPECT_TRUE(keeper->unprepare({"ai", "never", "uid-never"}));
    EXPECT_TRUE(keeper->unprepare({"ai", "evil", "../../etc/passwd"}));
    EXPECT_TRUE(node.files("/cdi").empty());
    EXPECT_TRUE(node.files("/state", ".claim").empty());
    EXPECT_TRUE(node.files(kGuards).empty());
    EXPECT_FALSE(keeper->prepare(claim)) << "a call that came late";
}

TEST_F(DraKeeper, PreparesAnewAfterAReboot) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(node.start()->prepare(claim));
    std::filesystem::remove_all(node.root.resolve("/cdi"));
    std::filesystem::remove_all(node.root.resolve(kGuards));
    const auto keeper = node.start("boot-2");
    EXPECT_TRUE(node.files("/cdi").empty()) << "its guard is gone: no file that names it";
    const auto made = keeper->prepare(claim);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->boot, "boot-2");
    EXPECT_EQ(node.files(kGuards).size(), 1U);
}

TEST_F(DraKeeper, LeavesNothingWhenTheGuardFails) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    const auto keeper = node.start();
    node.guard_fails = "no room";
    const auto refused = keeper->prepare(claim);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "claim ai/a: no room");
    EXPECT_TRUE(node.files("/state", ".claim").empty());
    EXPECT_TRUE(node.files("/cdi").empty());
    node.guard_fails.clear();
    EXPECT_TRUE(keeper->prepare(claim));
}

TEST_F(DraKeeper, SetsAsideWhatDoesNotParse) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(node.start()->prepare(claim));
    std::ofstream(node.root.resolve("/state/uid-a.claim"), std::ios::app) << "x";
    ASSERT_TRUE(node.root.write_atomically("/state/no claim.claim", ""));
    const auto keeper = node.start();
    EXPECT_EQ(node.files("/state", ".claim.bad").size(), 2U);
    EXPECT_EQ(keeper->claims()->size(), 1U) << "a name that is not a uid tells of no claim";
    EXPECT_TRUE(keeper->prepare(claim));
    EXPECT_EQ(node.files(kGuards).size(), 1U) << "the region of the lost note is gone";
    EXPECT_EQ(node.files("/state", ".claim.bad").size(), 1U);
}

// Its containers run on: what it holds is told by its CDI file.
TEST_F(DraKeeper, GivesNobodyTheGpuOfALostNote) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(node.start()->prepare(claim));
    std::ofstream(node.root.resolve("/state/uid-a.claim"), std::ios::app) << "x";
    for (unsigned start = 0; start < 2; ++start) {
        const auto keeper = node.start();
        EXPECT_EQ(keeper->claims()->at("uid-a").state, PreparedClaim::State::kLost);
        EXPECT_TRUE(node.root.exists("/cdi/k8s.gpu.aliquot.dev-claim-uid-a.json"))
            << "a container that starts anew needs it";
        EXPECT_EQ(keeper->held()->at({"GPU-0"}), "with uid uid-a");
        const auto refused = keeper->prepare(node.allocate("b", "3Gi", 25));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().message,
                  "claim ai/b: gpu-0000-65-00-0 is held whole by claim with uid uid-a");
        EXPECT_TRUE(keeper->prepare(node.allocate("c", "3Gi", 25, 1)));
    }
    const auto keeper = node.start();
    EXPECT_TRUE(keeper->unprepare(claim));
    EXPECT_TRUE(node.files("/state", ".bad").empty());
    EXPECT_TRUE(keeper->prepare(node.allocate("b", "3Gi", 25)));
}

TEST_F(DraKeeper, GivesNothingAwayWhileNothingTellsWhatALostNoteHolds) {
    const ClaimName claim = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(node.start()->prepare(claim));
    ASSERT_TRUE(node.root.write_atomically("/state/uid-a.claim", ""));
    std::filesystem::remove_all(node.root.resolve("/cdi"));
    const auto keeper = node.start();
    EXPECT_FALSE(keeper->held());
    const auto refused = keeper->prepare(node.allocate("c", "3Gi", 25, 1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(refused.error().message,
              "claim ai/c: the note of the claim with uid uid-a cannot be read and no CDI file "
              "tells which GPU it holds; nothing more is given away until its pod has ended (if it "
              "has, remove uid-a.claim.bad)");
    EXPECT_TRUE(keeper->prepare(claim)) << "kubelet asks for it again";
    EXPECT_EQ(keeper->held()->size(), 1U);
    EXPECT_TRUE(keeper->prepare(node.allocate("c", "3Gi", 25, 1)));
}

TEST_F(DraKeeper, TakesANoteThatCannotBeReadForNoAnswer) {
    const ClaimName a = node.allocate("a", "60Gi", 25);
    const auto keeper = node.start();
    ASSERT_TRUE(keeper->prepare(a));
    // The system refuses to open a link to itself, as it does when it has no descriptor left.
    const auto note = node.root.resolve("/state/uid-a.claim");
    const auto kept = node.root.resolve("/kept");
    std::filesystem::rename(note, kept);
    std::filesystem::create_symlink(note, note);
    const auto other = node.start();
    const ClaimName b = node.allocate("b", "60Gi", 25);
    for (Keeper* const one : {keeper.get(), other.get()}) {
        EXPECT_FALSE(one->claims());
        EXPECT_FALSE(one->held());
        EXPECT_FALSE(one->publish(node.state));
        EXPECT_FALSE(one->unprepare(a));
        const auto refused = one->prepare(b);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().message.find("claim ai/b: read the notes of claims: "), 0U)
            << refused.error().message;
    }
    EXPECT_EQ(node.files("/cdi").size(), 1U) << "of somebody whom nobody knows just now";
    EXPECT_TRUE(node.files("/state", ".bad").empty());
    std::filesystem::remove(note);
    std::filesystem::rename(kept, note);
    EXPECT_FALSE(other->prepare(b)) << "claim a holds 60Gi of it";
    EXPECT_TRUE(other->unprepare(a));
    EXPECT_TRUE(keeper->prepare(b));
}

TEST_F(DraKeeper, SeesWhatAnotherInstanceHasDone) {
    const auto old_one = node.start();
    const auto new_one = node.start();
    const ClaimName claim = node.allocate("a", "60Gi", 25);
    ASSERT_TRUE(old_one->prepare(claim));
    EXPECT_FALSE(new_one->prepare(node.allocate("b", "60Gi", 25)));
    EXPECT_TRUE(new_one->unprepare(claim));
    EXPECT_TRUE(old_one->prepare(node.allocate("b", "60Gi", 25)));
    EXPECT_EQ(new_one->claims()->size(), 1U);
}

// Two instances of a rolling update within one tick of the file system's clock.
TEST_F(DraKeeper, SeesWhatAnotherInstanceDidAMomentAgo) {
    const NoSync no_sync;
    const auto one = node.start();
    const auto other = node.start();
    const ClaimName a = node.allocate("a", "60Gi", 25);
    const ClaimName b = node.allocate("b", "60Gi", 25);
    for (unsigned round = 0; round < 50; ++round) {
        ASSERT_TRUE(one->prepare(a));
        ASSERT_FALSE(other->prepare(b)) << round;
        ASSERT_TRUE(other->unprepare(a));
        ASSERT_TRUE(one->prepare(b)) << round;
        ASSERT_TRUE(other->unprepare(b));
    }
}

TEST_F(DraKeeper, RefusesTwoLimitedClaimsInOneContainer) {
    const auto keeper = node.start();
    ASSERT_TRUE(keeper->prepare(node.allocate("a", "3Gi", 25)));
    const ClaimName second = node.allocate("b", "3Gi", 25);
    const auto pod = [](const std::string& first, const std::string& other) {
        return R"({"spec":{"resourceClaims":[{"name":"x","resourceClaimName":"a"},{"name":"y","resourceClaimTemplateName":"t"}],)"
               R"("containers":[{"name":"one","resources":{"claims":[)" +
               first + R"(]}},{"name":"two","resources":{"claims":[)" + other +
               R"(]}}]},"status":{"resourceClaimStatuses":[{"name":"y","resourceClaimName":"b"}]}})";
    };
    node.pods["pod-b"] = pod(R"({"name":"x"},{"name":"y"})", "");
    const auto refused = keeper->prepare(second);
    ASSERT_FALSE(refused);
    EXPECT_EQ(
        refused.error().message,
        "claim ai/b: container one of pod pod-b also uses claim a; the limits of one claim are "
        "kept in a container: make both requests in one claim");
    node.pods.erase("pod-b");
    EXPECT_FALSE(keeper->prepare(second)) << "nobody says that it is safe";
    node.pods["pod-b"] = pod(R"({"name":"x"})", R"({"name":"y"})");
    EXPECT_TRUE(keeper->prepare(second));
}

// The API server may take ten seconds for each; meanwhile other pods start and end.
TEST_F(DraKeeper, HoldsNoLockWhileItReadsPods) {
    const auto keeper = node.start();
    const ClaimName a = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(keeper->prepare(a));
    const ClaimName b = node.allocate("b", "3Gi", 25);
    unsigned read = 0;
    node.reads_pod = [&] {
        ++read;
        const Descriptor lock(
            ::open(node.root.resolve("/state/serialize.lock").c_str(), O_RDWR | O_CLOEXEC));
        ASSERT_TRUE(lock);
        EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0) << "somebody holds it";
    };
    EXPECT_TRUE(keeper->prepare(b));
    EXPECT_EQ(read, 1U);
    ASSERT_TRUE(keeper->unprepare(b));
    // What another has done in between counts.
    node.reads_pod = [&] {
        node.reads_pod = {};
        EXPECT_TRUE(keeper->prepare(node.allocate("c", "75Gi", 25)));
    };
    const auto refused = keeper->prepare(b);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("would be given away"), std::string::npos);
}

TEST_F(DraKeeper, PreparesNothingWhileItIsClosed) {
    const ClaimName held = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(node.start()->prepare(held));
    node.state.closed = "claims are not served on this node";
    const auto keeper = node.start();
    EXPECT_TRUE(keeper->prepare(held)) << "what is prepared stays";
    const auto refused = keeper->prepare(node.allocate("b", "3Gi", 25));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "claim ai/b: claims are not served on this node");
    EXPECT_TRUE(keeper->unprepare(held));
}

/// What must hold at any moment, as the next start finds it.
void expect_sound(Node& node) {
    const auto keeper = node.start();
    std::map<std::string, std::uint64_t> memory;
    std::set<std::string> uids;
    const auto known = keeper->claims();
    ASSERT_TRUE(known);
    for (const auto& [uid, claim] : *known) {
        EXPECT_EQ(claim.state, PreparedClaim::State::kPrepared);
        uids.insert(uid);
        for (const PreparedDevice& device : claim.devices)
            memory[device.gpu] += device.memory_bytes;
    }
    for (const auto& [gpu, bytes] : memory) EXPECT_LE(bytes, 81408ULL << 20U) << gpu;
    std::set<std::string> with_file;
    for (const std::string& name : node.files("/cdi")) with_file.insert(uid_of_cdi_file(name));
    EXPECT_EQ(with_file, uids);
    std::set<std::string> with_guard;
    for (const std::string& name : node.files(kGuards))
        with_guard.insert(name.substr(0, name.find("-0.")));
    EXPECT_EQ(with_guard, uids);
}

/// A killed process must leave what the next one understands, wherever it stopped.
void kill_everywhere(Node& node, const std::function<void(Keeper&)>& calls, unsigned least) {
    unsigned nth = 1;
    while (runs_until_killed(nth, [&] { calls(*node.start()); })) {
        SCOPED_TRACE("killed before step " + std::to_string(nth));
        expect_sound(node);
        constexpr unsigned kMost = 500;
        ASSERT_LT(++nth, kMost);
    }
    EXPECT_GE(nth, least) << "the steps were not seen";
    expect_sound(node);
}

TEST_F(DraKeeper, SurvivesAKillBetweenAnyTwoWrites) {
    const NoSync no_sync;
    const ClaimName a = node.allocate("a", "30Gi", 25);
    const ClaimName b = node.allocate("b", "20Gi", 25);
    ASSERT_TRUE(node.start()->prepare(b));
    const auto prepare = [&](Keeper& keeper) { (void)keeper.prepare(a); };
    const auto unprepare = [&](Keeper& keeper) { (void)keeper.unprepare(a); };
    // Each child begins with what the one before it has left, and each of the four at the other's end.
    for (unsigned round = 0; round < 2; ++round) {
        kill_everywhere(node, prepare, 8);
        kill_everywhere(node, unprepare, 4);
    }
    // Each child does all of it, from a claim that is not there.
    kill_everywhere(
        node,
        [&](Keeper& keeper) {
            (void)keeper.unprepare(a);
            (void)keeper.prepare(a);
        },
        8);
    // Each child does all of it, from a claim that is there.
    unsigned nth = 1;
    bool killed = true;
    while (killed) {
        ASSERT_TRUE(node.start()->prepare(a));
        killed = runs_until_killed(nth++, [&] { (void)node.start()->unprepare(a); });
        SCOPED_TRACE("killed before step " + std::to_string(nth - 1));
        expect_sound(node);
    }
    EXPECT_FALSE(node.start()->claims()->contains(a.uid));
    EXPECT_TRUE(node.start()->claims()->contains(b.uid));
}

// A thousand calls, every process of them killed somewhere, files lost between two of them.
TEST_F(DraKeeper, SurvivesAThousandKills) {
    constexpr unsigned kRounds = 250;
    constexpr unsigned kCalls = 4;
    constexpr unsigned kSteps = 30;  // four calls and a start have about twenty
    const NoSync no_sync;
    std::mt19937 random(7);
    std::vector<ClaimName> names;
    for (unsigned i = 0; i < 12; ++i) {
        names.push_back(
            node.allocate("c" + std::to_string(i), std::to_string(10 + i) + "Gi", 10, i % 2));
    }
    unsigned killed = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
        const auto seed = static_cast<unsigned>(random());
        const auto calls = [&] {
            std::mt19937 choice(seed);
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
        const auto nth = static_cast<unsigned>(1 + random() % kSteps);
        killed += runs_until_killed(nth, calls) ? 1 : 0;
        if (round % 10 == 0) std::filesystem::remove_all(node.root.resolve("/cdi"));
        expect_sound(node);
    }
    EXPECT_GT(killed, kRounds / 4);
    EXPECT_LT(killed, kRounds) << "no call came to its end";
    const auto keeper = node.start();
    for (const ClaimName& name : names) EXPECT_TRUE(keeper->unprepare(name));
    expect_sound(node);
    EXPECT_TRUE(keeper->claims()->empty());
    EXPECT_TRUE(node.files("/cdi").empty());
    EXPECT_TRUE(node.files(kGuards).empty());
}

}  // namespace
}  // namespace aliquot::dra
