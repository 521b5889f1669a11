// SPDX-License-Identifier: Apache-2.0
// Claims for MIG devices, whole GPUs and shares of GPUs that NVLink joins, all at once: another MIG mode of one takes a
// reset of all. kube-scheduler is src/claims, which sees slices that are as old as chance has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "claims/allocate.h"
#include "document/build.h"
#include "document/json.h"
#include "dra/publishable.h"
#include "dra/slices.h"
#include "dra/test_cuts.h"
#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

using testing::HasSubstr;

enum class Stage : std::uint8_t { kWaiting, kAllocated, kPrepared, kEnded };

struct Want {
    std::string name;
    std::string kind;  // "1g.5gb", "gpu" or "share"
    unsigned count = 1;
    Stage stage = Stage::kWaiting;
    claims::Claim claim{};
};

claims::Claim claim_of(const Want& want) {
    const bool mig = want.kind != "gpu" && want.kind != "share";
    const std::string selector =
        R"("selectors":[{"cel":{"expression":"device.attributes['gpu.aliquot.dev'].type == ')" +
        (mig ? "mig' && device.attributes['gpu.aliquot.dev'].profile == '" + want.kind
             : std::string("gpu")) +
        R"('"}}])";
    const std::string part = R"(,"capacity":{"requests":{"memory":"4Gi","compute":"10"}})";
    return claims::read_claim(*document::parse_json(
        R"({"metadata":{"namespace":"ai","name":")" + want.name + R"(","uid":"uid-)" + want.name +
        R"("},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"any",)" +
        selector + R"(,"count":)" + std::to_string(want.count) +
        (want.kind == "share" ? part : "") +
        R"(}}]}},"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"p"}]}})"));
}

/// Three A100s that NVLink joins, and claims that come and go.
class JoinedNode {
public:
    JoinedNode(const std::filesystem::path& base, unsigned seed) : cut_(base), chance_(seed) {
        cut_.stub->joined = true;
        for (unsigned i = 0; i < cut_.stub->gpus.size(); ++i) {
            cut_.stub->gpus[i].resetless = false;
            cut_.gpus->cut(i, seed % 3 == 0 && roll(2) == 0 ? "none" : "off");
        }
        cluster_.classes.emplace(
            "any", claims::read_class(*document::parse_json(R"({"metadata":{"name":"any"}})")));
        cut_.look(Mode::kConsumable);
        keeper_ = cut_.start();
        publish();
    }

    unsigned roll(unsigned sides) {
        return std::uniform_int_distribution<unsigned>(0, sides - 1)(chance_);
    }
    void add(const std::string& kind, unsigned count = 1) {
        wants_.push_back({"c" + std::to_string(wants_.size()), kind, count});
    }

    /// What the agent does when it has looked at its node.
    void publish() {
        cut_.look(Mode::kConsumable);
        ASSERT_TRUE(keeper_->publish(cut_.node.state));
        const auto made = publishable(cut_.node.state.devices, *keeper_->claims());
        cluster_.slices.clear();
        for (const auto& write : plan_slices({"node-1", "uid-1"}, made.devices, {}).write) {
            claims::Slice slice =
                claims::read_slice(document::make_mapping({{"spec", *write.object.find("spec")}}));
            slice.name = std::to_string(cluster_.slices.size());
            cluster_.slices.push_back(std::move(slice));
        }
    }

    void schedule() {
        for (Want& want : wants_) {
            if (want.stage != Stage::kWaiting) continue;
            want.claim = claim_of(want);
            const auto answer = claims::allocate(cluster_, {.name = "node-1"}, {want.claim},
                                                 [] { return std::string("share-1"); });
            if (answer.allocations.empty()) continue;
            want.claim.allocation = answer.allocations.front();
            cluster_.claims.push_back(want.claim);
            want.stage = Stage::kAllocated;
        }
    }

    Result<PreparedClaim> prepare(Want& want) {
        std::string results;
        for (const auto& result : want.claim.allocation->devices) {
            const std::string part = want.kind == "share" || want.kind == "gpu"
                                         ? R"("shareID":"share-1","consumedCapacity":{"memory":")" +
                                               std::string(want.kind == "gpu" ? "40960Mi" : "4Gi") +
                                               R"(","compute":")" +
                                               (want.kind == "gpu" ? "100" : "10") + R"("},)"
                                         : "";
            results += (results.empty() ? "" : ",") +
                       (R"({"request":"gpu","driver":"gpu.aliquot.dev","pool":"node-1",)" + part) +
                       R"("device":")" + result.device.device + R"("})";
        }
        const ClaimName name = cut_.allocate(want.name, "");
        std::string& object = cut_.node.claims[want.name];
        const auto begin = object.find("[{\"request\"") + 1;
        object.replace(begin, object.rfind(']') - begin, results);
        auto made = keeper_->prepare(name);
        if (made) want.stage = Stage::kPrepared;
        if (made) work(*made, true);
        return made;
    }

    void end(Want& want) {
        const auto known = keeper_->claims()->at("uid-" + want.name);
        work(known, false);
        const auto done = keeper_->unprepare({"ai", want.name, "uid-" + want.name});
        ASSERT_TRUE(done) << done.error().message;
        want.stage = Stage::kEnded;
        std::erase_if(cluster_.claims, [&](const auto& one) { return one.name == want.name; });
    }

    std::vector<Want*> at(Stage stage) {
        std::vector<Want*> found;
        for (Want& want : wants_) {
            if (want.stage == stage) found.push_back(&want);
        }
        return found;
    }
    Want& any_of(const std::vector<Want*>& some) {
        return *some[roll(static_cast<unsigned>(some.size()))];
    }
    [[nodiscard]] std::string text() const { return cut_.text(); }
    CutNode& cut() { return cut_; }

private:
    /// Its container begins, or ends, to use what it has.
    void work(const PreparedClaim& claim, bool begins) {
        for (const PreparedDevice& device : claim.devices) {
            StubNode::Gpu& gpu = cut_.stub->gpus.at(device.gpu.back() - '0');
            if (device.cut->is_off()) {
                users_[device.gpu] += begins ? 1 : -1;
                gpu.in_use = users_[device.gpu] > 0;
                continue;
            }
            for (auto& instance : gpu.instances) {
                if (instance.used && instance.start == device.cut->start) {
                    instance.compute[0].busy = begins;
                }
            }
        }
    }

    using StubNode = mig::StubNode;
    CutNode cut_;
    std::mt19937 chance_;
    std::unique_ptr<Keeper> keeper_;
    claims::Cluster cluster_;
    std::vector<Want> wants_;
    std::map<std::string, int> users_;
};

TEST(DraCutterJoined, ServesABurstOfClaimsForEveryModeToItsEnd) {
    const std::vector<std::string> kinds{"1g.5gb", "3g.20gb", "7g.40gb", "gpu", "share"};
    for (unsigned seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        const os::TemporaryDirectory directory;
        JoinedNode node(directory.path(), seed);
        for (unsigned i = 0; i < 10; ++i) node.add(kinds[node.roll(5)]);
        node.add("1g.5gb", 4);
        node.add("gpu", 3);
        unsigned rounds = 0;
        while (node.at(Stage::kEnded).size() < 12) {
            ASSERT_LT(++rounds, 2000U) << "somebody waits for ever: " << node.text();
            const auto allocated = node.at(Stage::kAllocated);
            const auto prepared = node.at(Stage::kPrepared);
            const unsigned what = node.roll(4);
            if (what == 0) node.publish();
            if (what == 1) node.schedule();
            if (what == 2 && !allocated.empty()) {
                const auto made = node.prepare(node.any_of(allocated));
                ASSERT_TRUE(made) << made.error().message << " (" << node.text() << ")";
            }
            if (what == 3 && !prepared.empty() && node.roll(3) == 0) {
                node.end(node.any_of(prepared));
            }
        }
    }
}

TEST(DraCutterJoined, ChangesAllOfThemWithOneReset) {
    const os::TemporaryDirectory directory;
    JoinedNode node(directory.path(), 1);
    node.add("3g.20gb");
    node.add("gpu", 3);
    node.schedule();
    ASSERT_EQ(node.at(Stage::kAllocated).size(), 1U) << "never both kinds";
    ASSERT_TRUE(node.prepare(*node.at(Stage::kAllocated).front()));
    EXPECT_THAT(node.text(), HasSubstr("3g.20gb@"));
    EXPECT_THAT(node.text(), Not(HasSubstr("off")));
    unsigned resets = 0;
    for (const auto& gpu : node.cut().stub->gpus) resets += gpu.resets;
    EXPECT_EQ(resets, 1U);
    node.publish();
    node.schedule();
    EXPECT_TRUE(node.at(Stage::kAllocated).empty());
    node.end(*node.at(Stage::kPrepared).front());
    node.schedule();
    ASSERT_EQ(node.at(Stage::kAllocated).size(), 1U) << "without anything published anew";
    ASSERT_TRUE(node.prepare(*node.at(Stage::kAllocated).front()));
    EXPECT_EQ(node.text(), "off / off / off");
}

// Whoever allocates without regard to counters is refused by name, and nobody else is touched.
TEST(DraCutterJoined, RefusesAResetOfWhatAnotherClaimHas) {
    const os::TemporaryDirectory directory;
    CutNode node(directory.path());
    node.stub->joined = true;
    for (unsigned i = 0; i < 3; ++i) {
        node.stub->gpus[i].resetless = false;
        node.gpus->cut(i, "off");
    }
    node.look();
    const auto keeper = node.start();
    ASSERT_TRUE(keeper->prepare(node.allocate("a", "gpu-0000-66-00-0")));
    const auto refused = keeper->prepare(node.allocate("b", "gpu-0000-65-00-0-mig-3g-20gb-4"));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("with that of GPU-1, held by claim ai/a"));
    EXPECT_EQ(node.text(), "off / off / off");
    ASSERT_TRUE(keeper->unprepare({"ai", "a", "uid-a"}));
    EXPECT_TRUE(keeper->prepare(node.allocate("b", "gpu-0000-65-00-0-mig-3g-20gb-4")));
    EXPECT_EQ(node.text(), "3g.20gb@4 / none / none");
}

}  // namespace
}  // namespace aliquot::dra
