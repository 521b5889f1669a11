// SPDX-License-Identifier: Apache-2.0
#include "dra/held_devices.h"

#include <gmock/gmock.h>

#include "dra/test_claims.h"
#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

using testing::HasSubstr;
using Uuids = std::set<std::string>;

constexpr const char* kNotes = "/state";
const NotePlaces kPlaces{.notes = kNotes, .cdi = "/cdi"};

TEST(HeldDevices, AreThoseOfDevicePluginsAndOfClaims) {
    HeldDevices held;
    held.take(kubelet::Holder{.resource = "nvidia.com/gpu", .ids = {"GPU-0::3", "MIG-5"}});
    held.take(kubelet::Holder{.resource = "example.com/nic", .ids = {"eth0"}});
    held.take(kubelet::Holder{
        .resource = "gpu.aliquot.dev", .ids = {"u-0.part.GPU-1", "u-1.all.MIG-2"}, .claim = "a"});
    held.take(kubelet::Holder{.resource = "nic.example.com", .ids = {"eth1"}, .claim = "n"});
    held.take(
        pods::ClaimHold{.claim = "ai/b", .driver = "gpu.aliquot.dev", .ids = {"v-0.all.GPU-3"}});
    EXPECT_EQ(held.uuids(), (Uuids{"GPU-0", "GPU-1", "GPU-3", "MIG-2", "MIG-5"}));
    EXPECT_EQ(held.problem(), "");
}

TEST(HeldDevices, OfADriverThatNamesThemInItsOwnWayMayBeAny) {
    for (const auto& [driver, id] : std::vector<std::pair<std::string, std::string>>{
             {"gpu.nvidia.com", "u1-gpu-0"}, {"gpu.aliquot.dev", "another form"}}) {
        HeldDevices held;
        held.take(pods::ClaimHold{.claim = "ai/a", .driver = driver, .ids = {id}});
        EXPECT_THAT(held.problem(), HasSubstr("claim ai/a holds '" + id + "' of " + driver));
    }
}

TEST(HeldDevices, AreThoseOfOurOwnNotesAlsoBeforeKubeletKnows) {
    const os::TemporaryDirectory directory;
    Node node(directory.path());
    const auto keeper = node.start();
    ASSERT_TRUE(keeper->prepare(node.allocate("a", "3Gi", 25, 1)));
    HeldDevices held;
    held.take_notes(node.root, kPlaces);
    EXPECT_EQ(held.uuids(), Uuids{"GPU-1"});
    EXPECT_EQ(held.problem(), "");
    HeldDevices none;
    none.take_notes(node.root, {.notes = "/absent"});
    EXPECT_TRUE(none.uuids().empty() && none.problem().empty());
}

TEST(HeldDevices, OfANoteThatIsTornAreThoseOfItsCdiFile) {
    const os::TemporaryDirectory directory;
    Node node(directory.path());
    const auto keeper = node.start();
    ASSERT_TRUE(keeper->prepare(node.allocate("a", "3Gi", 25)));
    ASSERT_TRUE(node.root.write_atomically("/state/uid-a.claim", "torn"));
    HeldDevices held;
    held.take_notes(node.root, kPlaces);
    EXPECT_EQ(held.uuids(), Uuids{"GPU-0"});
    EXPECT_EQ(held.problem(), "");
    EXPECT_EQ(node.files(kNotes, ".bad").size(), 0U) << "who only looks changes nothing";
    std::filesystem::remove_all(node.root.resolve("/cdi"));
    HeldDevices unknown;
    unknown.take_notes(node.root, kPlaces);
    EXPECT_THAT(unknown.problem(), HasSubstr("/state/uid-a.claim cannot be read"));
}

}  // namespace
}  // namespace aliquot::dra
