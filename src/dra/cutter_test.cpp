// SPDX-License-Identifier: Apache-2.0
#include "dra/cutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dra/held_devices.h"
#include "dra/test_cuts.h"
#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

using testing::HasSubstr;

constexpr char kWhole[] = "gpu-0000-65-00-0";
constexpr char kHalf[] = "gpu-0000-65-00-0-mig-3g-20gb-4";
constexpr char kSmall[] = "gpu-0000-65-00-0-mig-1g-5gb-0";

class DraCutter : public ::testing::Test {
protected:
    os::TemporaryDirectory directory_;
    CutNode node{directory_.path()};
};

TEST_F(DraCutter, MakesWhatAClaimWasGivenAndTakesItBack) {
    const ClaimName half = node.allocate("a", kHalf);
    const auto keeper = node.start();
    const auto made = keeper->prepare(half);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(node.text(), "3g.20gb@4 / none / none");
    const PreparedDevice& device = made->devices.at(0);
    EXPECT_EQ(device.uuid, "MIG-GPU-0-0-0");
    EXPECT_EQ(device.cdi_name, "uid-a-0.all.MIG-GPU-0-0-0");
    EXPECT_EQ(*keeper->prepare(half), *made) << "the same answer";
    HeldDevices held;
    held.take_notes(node.node.root, {.notes = "/state", .cdi = "/cdi"});
    EXPECT_EQ(held.uuids(), (std::set<std::string>{"MIG-GPU-0-0-0"}));
    ASSERT_TRUE(keeper->prepare(node.allocate("b", kSmall)));
    EXPECT_EQ(node.text(), "1g.5gb@0,3g.20gb@4 / none / none");
    ASSERT_TRUE(keeper->unprepare(half));
    EXPECT_EQ(node.text(), "1g.5gb@0 / none / none");
    ASSERT_TRUE(keeper->unprepare({"ai", "b", "uid-b"}));
    EXPECT_EQ(node.text(), "none / none / none");
    EXPECT_FALSE(node.node.root.exists("/mig/wish.json")) << "no reboot brings it back";
    EXPECT_FALSE(node.node.root.exists("/mig/journal.json"));
}

TEST_F(DraCutter, TurnsMigOffForAWholeGpuAndOnForAPart) {
    node.look(Mode::kConsumable);
    const auto keeper = node.start();
    const ClaimName one = node.allocate("a", kWhole, true);
    const ClaimName other = node.allocate("b", kWhole, true);
    ASSERT_TRUE(keeper->prepare(one));
    EXPECT_EQ(node.text(), "off / none / none");
    const unsigned calls = node.stub->calls;
    ASSERT_TRUE(keeper->prepare(other));
    EXPECT_EQ(node.stub->calls, calls) << "it is as it has to be";
    const auto refused = keeper->prepare(node.allocate("c", kHalf));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "claim ai/c: gpu-0000-65-00-0-mig-3g-20gb-4 is held in part by claim ai/a");
    ASSERT_TRUE(keeper->unprepare(one));
    ASSERT_TRUE(keeper->unprepare(other));
    ASSERT_TRUE(keeper->prepare(node.allocate("c", kHalf)));
    EXPECT_EQ(node.text(), "3g.20gb@4 / none / none");
    EXPECT_FALSE(keeper->prepare(one)) << "a MIG device of it is held";
    EXPECT_EQ(node.text(), "3g.20gb@4 / none / none");
}

TEST_F(DraCutter, RefusesWhatOverlapsAndWhatIsBusy) {
    const auto keeper = node.start();
    ASSERT_TRUE(keeper->prepare(node.allocate("a", kHalf)));
    const auto beside = keeper->prepare(node.allocate("b", "gpu-0000-65-00-0-mig-1g-5gb-6"));
    ASSERT_FALSE(beside);
    EXPECT_THAT(beside.error().message, HasSubstr("is held in part by claim ai/a"));
    EXPECT_TRUE(keeper->prepare(node.allocate("c", "gpu-0000-66-00-0-mig-1g-5gb-6")))
        << "of another GPU";
    node.gpus->cut(2, "1g.5gb@6:busy,2g.10gb@0");
    const auto busy = keeper->prepare(node.allocate("d", "gpu-0000-67-00-0-mig-3g-20gb-4"));
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().message,
              "claim ai/d: GPU 2: 3g.20gb@4 does not fit beside 1g.5gb@6 (busy)");
    EXPECT_EQ(node.gpus->text(2), "2g.10gb@0,1g.5gb@6:busy") << "nothing is touched";
    EXPECT_EQ(keeper->claims()->size(), 2U);
}

TEST_F(DraCutter, TakesAwayOnlyWhatNobodyUsesAndOnlyWhereItIsInTheWay) {
    const auto keeper = node.start();
    node.gpus->cut(0, "1g.5gb@0,1g.5gb@5,2g.10gb@2");
    ASSERT_TRUE(keeper->prepare(node.allocate("a", kHalf)));
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0,2g.10gb@2,3g.20gb@4");
    ASSERT_TRUE(keeper->prepare(node.allocate("b", kSmall)));
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0,2g.10gb@2,3g.20gb@4") << "one that is there is taken";
    ASSERT_TRUE(keeper->unprepare({"ai", "a", "uid-a"}));
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0,2g.10gb@2");
}

TEST_F(DraCutter, LeavesNothingWhereTheDriverFails) {
    const auto keeper = node.start();
    node.gpus->fault = [](unsigned, std::string_view call) -> Result<Done> {
        if (call == "create_compute") return Error{ErrorCode::kUnsupported, "no luck"};
        return Done{};
    };
    const auto refused = keeper->prepare(node.allocate("a", kHalf));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("no luck"));
    EXPECT_EQ(node.text(), "none / none / none");
    EXPECT_TRUE(keeper->claims()->empty());
    node.gpus->fault = {};
    EXPECT_TRUE(keeper->prepare(node.allocate("a", kHalf)));
}

TEST_F(DraCutter, WaitsForProcessesAndNotForAGpuThatIsGone) {
    const auto keeper = node.start();
    const ClaimName claim = node.allocate("a", kHalf);
    ASSERT_TRUE(keeper->prepare(claim));
    node.stub->gpus[0].instances[0].compute[0].busy = true;
    const auto busy = keeper->unprepare(claim);
    ASSERT_FALSE(busy);
    EXPECT_THAT(busy.error().message, HasSubstr("3g.20gb@4 is busy"));
    EXPECT_EQ(keeper->claims()->size(), 1U);
    node.stub->gpus[0].instances[0].compute[0].busy = false;
    EXPECT_TRUE(keeper->unprepare(claim)) << "kubelet asks again";
    EXPECT_EQ(node.text(), "none / none / none");
    ASSERT_TRUE(keeper->prepare(claim));
    node.stub->gpus[0].gone = true;
    EXPECT_TRUE(keeper->unprepare(claim)) << "a pod must be able to end";
    EXPECT_TRUE(keeper->claims()->empty());
}

// Xid 79: only a reset brings it back, and that takes the instances away.
TEST_F(DraCutter, EndsClaimsOfAGpuThatIsLostAndTouchesNoOther) {
    const auto keeper = node.start();
    const ClaimName lost = node.allocate("a", kHalf);
    const ClaimName other = node.allocate("b", "gpu-0000-66-00-0-mig-1g-5gb-0");
    ASSERT_TRUE(keeper->prepare(lost));
    const auto kept = keeper->prepare(other);
    ASSERT_TRUE(kept);
    node.stub->gpus[0].lost = true;
    node.look();
    ASSERT_TRUE(keeper->publish(node.node.state));
    EXPECT_EQ(*keeper->prepare(other), *kept) << "of a GPU that is well";
    const auto more = keeper->prepare(node.allocate("c", kSmall));
    EXPECT_FALSE(more) << "kube-scheduler did not see the taint yet";
    const auto ended = keeper->unprepare(lost);
    EXPECT_TRUE(ended) << ended.error().message;
    EXPECT_TRUE(keeper->prepare(node.allocate("d", "gpu-0000-66-00-0-mig-3g-20gb-4")));
    node.stub->gpus[0].lost = false;
    node.gpus->cut(0, "none");
    node.look();
    ASSERT_TRUE(keeper->publish(node.node.state));
    EXPECT_TRUE(keeper->prepare(node.allocate("c", kSmall)));
    EXPECT_EQ(node.text(), "1g.5gb@0 / 1g.5gb@0,3g.20gb@4 / none");
}

TEST_F(DraCutter, MakesAnewWhatAResetTook) {
    const auto keeper = node.start();
    const ClaimName claim = node.allocate("a", kHalf);
    ASSERT_TRUE(keeper->prepare(claim));
    node.gpus->cut(0, "1g.5gb@0");
    node.look();
    ASSERT_TRUE(keeper->publish(node.node.state));
    const auto again = keeper->prepare(claim);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0,3g.20gb@4");
    EXPECT_EQ(again->devices.at(0).uuid, "MIG-GPU-0-1-0");
    EXPECT_EQ(keeper->claims()->at("uid-a").devices.at(0).uuid, "MIG-GPU-0-1-0");
}

// An instance that came later may have the number, and so the uuid, of one that is gone.
TEST_F(DraCutter, TakesBackByPlaceAndNotByUuid) {
    const auto keeper = node.start();
    const ClaimName first = node.allocate("a", kHalf);
    ASSERT_TRUE(keeper->prepare(first));
    node.gpus->cut(0, "none");
    ASSERT_TRUE(keeper->prepare(node.allocate("b", kSmall)));
    EXPECT_EQ(keeper->claims()->at("uid-b").devices.at(0).uuid, "MIG-GPU-0-0-0");
    EXPECT_EQ(keeper->claims()->size(), 1U) << "what claim a had is gone";
    EXPECT_EQ(node.node.files("/cdi").size(), 1U) << "its containers shall not get claim b's";
    ASSERT_TRUE(keeper->unprepare(first));
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0") << "of claim b";
    ASSERT_TRUE(keeper->prepare(first));
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0,3g.20gb@4");
}

TEST_F(DraCutter, MakesEverythingAnewAfterAReboot) {
    const ClaimName a = node.allocate("a", kHalf);
    const ClaimName b = node.allocate("b", kSmall);
    ASSERT_TRUE(node.start()->prepare(a));
    node.gpus->cut(0, "none");
    node.look();
    const auto keeper = node.start("boot-2");
    ASSERT_TRUE(keeper->prepare(b));
    ASSERT_TRUE(keeper->prepare(a));
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0,3g.20gb@4");
    ASSERT_TRUE(keeper->unprepare(a));
    EXPECT_EQ(node.gpus->text(0), "1g.5gb@0");
}

TEST_F(DraCutter, ShowsAGpuToWhoeverWatchesAPartOfIt) {
    const auto keeper = node.start();
    ClaimName watcher = node.allocate("w", kHalf);
    std::string& object = node.node.claims["w"];
    object.replace(object.find("\"device\""), 8, "\"adminAccess\":true,\"device\"");
    const auto made = keeper->prepare(watcher);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->devices.at(0).uuid, "GPU-0");
    EXPECT_EQ(node.text(), "none / none / none");
}

TEST_F(DraCutter, WaitsForWhoeverCutsBesideIt) {
    os::SystemClock clock;
    const auto keeper = node.start();
    {
        const auto other = mig::StateDirectory::open(node.node.root, "/mig", {}, clock);
        ASSERT_TRUE(other);
        const auto refused = keeper->prepare(node.allocate("a", kHalf));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    }
    EXPECT_TRUE(keeper->prepare(node.allocate("a", kHalf)));
}

}  // namespace
}  // namespace aliquot::dra
