// SPDX-License-Identifier: Apache-2.0
#include "gpu/health.h"

#include <gtest/gtest.h>

namespace aliquot::gpu {
namespace {

const Uuid kA{"GPU-a"};
const Uuid kB{"GPU-b"};

HealthTracker default_book() { return HealthTracker(*XidPolicy::from_environment("", "")); }
constexpr Moment at(int second) { return Moment{std::chrono::seconds(1000 + second)}; }
void fault(HealthTracker& book, const Uuid& gpu, std::uint64_t xid, int second = 0) {
    book.note_faults(std::vector<FaultEvent>{{.gpu = gpu, .xid = xid}}, at(second));
}
void fault_in(HealthTracker& book, const Uuid& gpu, std::uint64_t xid, unsigned gpu_instance,
              std::optional<unsigned> compute_instance = {}) {
    book.note_faults(std::vector<FaultEvent>{{.gpu = gpu,
                                              .xid = xid,
                                              .gpu_instance = gpu_instance,
                                              .compute_instance = compute_instance}},
                     at(0));
}
bool probe(HealthTracker& book, Probe probe, int second = 1) {
    return book.note_probes(std::vector<Probe>{std::move(probe)}, at(second));
}
MigDevice mig(const char* uuid, unsigned gpu_instance, unsigned compute_instance = 0) {
    return {.uuid = {uuid}, .gpu_instance = gpu_instance, .compute_instance = compute_instance};
}
Inventory cut(std::vector<MigDevice> devices) {
    return {.gpus = {{.uuid = kA, .mig_enabled = true, .mig_devices = std::move(devices)}}};
}

TEST(HealthTracker, AnXidTakesAwayThatGpuOnly) {
    HealthTracker book = default_book();
    fault(book, kA, 79);
    EXPECT_EQ(book.health_of(kA).reason, "Xid 79: GPU has fallen off the bus");
    EXPECT_TRUE(book.health_of(kB).ok());
}

TEST(HealthTracker, ApplicationFaultsDoNotCount) {
    HealthTracker book = default_book();
    for (const std::uint64_t xid : {13, 31, 43, 45, 68, 109, 154}) fault(book, kA, xid);
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthTracker, AnEventWithoutGpuTakesNothingAway) {
    HealthTracker book = default_book();
    fault(book, Uuid{}, 79);
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthTracker, ComesBackWhenTheDriverAsksForNothingMore) {
    HealthTracker book = default_book();
    fault(book, kA, 95);
    probe(book, {.gpu = kA, .answers = true, .recovery_action = 1});
    EXPECT_FALSE(book.health_of(kA).ok());
    EXPECT_TRUE(probe(book, {.gpu = kA, .answers = true, .recovery_action = 0}));
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthTracker, WithoutThatFieldItComesBackAfterAReset) {
    HealthTracker book = default_book();
    fault(book, kA, 48);
    probe(book, {.gpu = kA, .answers = true});
    EXPECT_FALSE(book.health_of(kA).ok());
    probe(book, {.gpu = kA, .answers = false, .problem = "GPU is lost"});
    EXPECT_EQ(book.health_of(kA).reason, "Xid 48: double-bit ECC error; GPU is lost");
    probe(book, {.gpu = kA, .answers = true});
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthTracker, SilenceAloneEndsWithTheFirstAnswer) {
    HealthTracker book = default_book();
    probe(book, {.gpu = kA, .answers = false, .problem = "GPU is lost"});
    EXPECT_EQ(book.health_of(kA).reason, "GPU is lost");
    probe(book, {.gpu = kA, .answers = true});
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthTracker, ABadEnumerationCountsAndAGoodOneEndsIt) {
    HealthTracker book = default_book();
    Inventory inventory{.gpus = {{.uuid = kA, .health = {Health::State::kUnhealthy, "error 999"}}}};
    EXPECT_TRUE(book.note_inventory(inventory, at(0)));
    EXPECT_EQ(book.health_of(kA).reason, "error 999");
    inventory.gpus[0].health = {};
    EXPECT_TRUE(book.note_inventory(inventory, at(0)));
    EXPECT_FALSE(book.note_inventory(inventory, at(0)));
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthTracker, SaysSinceWhenAndWhatToDo) {
    HealthTracker book = default_book();
    book.note_inventory(Inventory{.gpus = {{.uuid = kA}}}, at(0));
    EXPECT_EQ(book.health_of(kA).since, at(0));
    fault(book, kA, 79, 5);
    EXPECT_EQ(book.health_of(kA).since, at(5));
    EXPECT_NE(book.health_of(kA).advice.find("restart the machine"), std::string::npos);
    probe(book, {.gpu = kA, .answers = false, .problem = "GPU is lost"}, 6);
    EXPECT_EQ(book.health_of(kA).since, at(5));  // still the same misery
    probe(book, {.gpu = kA, .answers = true, .recovery_action = 0}, 9);
    EXPECT_EQ(book.health_of(kA).state, Health::State::kHealthy);
    EXPECT_EQ(book.health_of(kA).since, at(9));
    EXPECT_EQ(book.health_of(kA).advice, "");
}

TEST(HealthTracker, WhatOnlyInformsDegrades) {
    HealthTracker book = default_book();
    fault(book, kA, 63);
    EXPECT_EQ(book.health_of(kA).state, Health::State::kDegraded);
    EXPECT_TRUE(book.health_of(kA).ok());
    // From here on the GPU itself says whether rows still wait.
    probe(book,
          {.gpu = kA, .answers = true, .recovery_action = 0, .condition = {.remap_pending = true}});
    EXPECT_EQ(book.health_of(kA).reason, "rows of its memory wait for a reset to be remapped");
    probe(
        book,
        {.gpu = kA, .answers = true, .recovery_action = 0, .condition = {.remap_pending = false}});
    EXPECT_EQ(book.health_of(kA).state, Health::State::kHealthy);
}

TEST(HealthTracker, ADegradingXidDoesNotHideAWorseOne) {
    HealthTracker book = default_book();
    fault(book, kA, 95);
    fault(book, kA, 63);
    EXPECT_FALSE(book.health_of(kA).ok());
    EXPECT_EQ(book.health_of(kA).reason, "Xid 95: uncontained memory error");
}

TEST(HealthTracker, MemoryThatCannotBeRepairedIsAnEnd) {
    HealthTracker book = default_book();
    probe(book, {.gpu = kA, .answers = true, .condition = {.remap_failed = true}});
    EXPECT_FALSE(book.health_of(kA).ok());
    EXPECT_EQ(book.health_of(kA).advice, "replace the board");
}

TEST(HealthTracker, HeatOnlyDegrades) {
    HealthTracker book = default_book();
    EXPECT_TRUE(probe(book, {.gpu = kA, .answers = true, .condition = {.slowed_by_heat = true}}));
    EXPECT_EQ(book.health_of(kA).state, Health::State::kDegraded);
    EXPECT_TRUE(probe(book, {.gpu = kA, .answers = true, .condition = {.slowed_by_heat = false}}));
    EXPECT_EQ(book.health_of(kA).state, Health::State::kHealthy);
}

TEST(HealthTracker, AGpuThatNeedsAResetIsNotOfferedThoughNobodySawTheXid) {
    HealthTracker book = default_book();
    probe(book, {.gpu = kA, .answers = true, .recovery_action = 1});
    EXPECT_EQ(book.health_of(kA).reason, "the driver asks for a GPU reset");
    EXPECT_FALSE(book.health_of(kA).ok());
    probe(book, {.gpu = kA, .answers = true, .recovery_action = 3});
    EXPECT_EQ(book.health_of(kA).state, Health::State::kDegraded);
}

TEST(HealthTracker, AnXidOnAMigInstanceTakesOnlyThat) {
    HealthTracker book = default_book();
    const MigDevice first = mig("MIG-1", 1);
    const MigDevice second = mig("MIG-2", 2);
    book.note_inventory(cut({first, second}), at(0));
    fault_in(book, kA, 95, 2);
    probe(book, {.gpu = kA, .answers = true, .recovery_action = 4});
    EXPECT_TRUE(book.health_of(kA).ok());
    EXPECT_TRUE(book.health_of(kA, first).ok());
    EXPECT_FALSE(book.health_of(kA, second).ok());
    EXPECT_EQ(book.health_of(kA, second).reason,
              "Xid 95: uncontained memory error on GPU instance 2");
    probe(book, {.gpu = kA, .answers = true, .recovery_action = 0});
    EXPECT_TRUE(book.health_of(kA, second).ok());
}

TEST(HealthTracker, AnXidOnAComputeInstanceLeavesItsSiblings) {
    HealthTracker book = default_book();
    const MigDevice first = mig("MIG-1", 1, 0);
    const MigDevice second = mig("MIG-2", 1, 1);
    book.note_inventory(cut({first, second}), at(0));
    fault_in(book, kA, 95, 1, 1);
    EXPECT_TRUE(book.health_of(kA, first).ok());
    EXPECT_FALSE(book.health_of(kA, second).ok());
}

TEST(HealthTracker, AFaultEndsWithItsInstance) {
    HealthTracker book = default_book();
    book.note_inventory(cut({mig("MIG-1", 1), mig("MIG-2", 2)}), at(0));
    fault_in(book, kA, 95, 2);
    // The same ids, made anew.
    const MigDevice made_anew = mig("MIG-3", 2);
    EXPECT_TRUE(book.note_inventory(cut({mig("MIG-1", 1), made_anew}), at(1)));
    EXPECT_TRUE(book.health_of(kA, made_anew).ok());
}

TEST(HealthTracker, RemembersTheLastXidsWhetherTheyCountOrNot) {
    HealthTracker book = default_book();
    for (unsigned i = 0; i < 2 * HealthTracker::kMostSeen; ++i)
        fault(book, kA, 13, static_cast<int>(i));
    const auto seen = book.seen_on(kA);
    ASSERT_EQ(seen.size(), HealthTracker::kMostSeen);
    EXPECT_EQ(seen.back().at, at(2 * HealthTracker::kMostSeen - 1));
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthTracker, ADriverThatNoNewProcessCanUseTakesAllAwayUntilItCan) {
    HealthTracker book = default_book();
    book.note_inventory(Inventory{.gpus = {{.uuid = kA}, {.uuid = kB}}}, at(0));
    EXPECT_TRUE(book.note_driver("library and kernel module differ", at(1)));
    EXPECT_FALSE(book.health_of(kA).ok());
    EXPECT_TRUE(book.note_driver("", at(2)));
    EXPECT_TRUE(book.health_of(kB).ok());
}

TEST(XidPolicy, EffectFollowsTheClassOfTheXid) {
    const auto policy = *XidPolicy::from_environment("", "");
    EXPECT_EQ(policy.effect(31), Health::State::kHealthy);      // application
    EXPECT_EQ(policy.effect(69), Health::State::kHealthy);      // application
    EXPECT_EQ(policy.effect(63), Health::State::kDegraded);     // information
    EXPECT_EQ(policy.effect(119), Health::State::kUnhealthy);   // driver
    EXPECT_EQ(policy.effect(79), Health::State::kUnhealthy);    // hardware
    EXPECT_EQ(policy.effect(9998), Health::State::kUnhealthy);  // not known
}

TEST(XidPolicy, FollowsNvidiasVariables) {
    const auto all_off = XidPolicy::from_environment("all", "79");
    ASSERT_TRUE(all_off);
    EXPECT_EQ(all_off->effect(79), Health::State::kUnhealthy);
    EXPECT_EQ(all_off->effect(48), Health::State::kHealthy);
    const auto more = XidPolicy::from_environment("48, 63", "13");
    ASSERT_TRUE(more);
    EXPECT_EQ(more->effect(48), Health::State::kHealthy);
    EXPECT_EQ(more->effect(63), Health::State::kHealthy);
    EXPECT_EQ(more->effect(13), Health::State::kUnhealthy);
    EXPECT_EQ(more->effect(79), Health::State::kUnhealthy);
}

TEST(XidPolicy, NamesTheWordItCannotRead) {
    const auto bad = XidPolicy::from_environment("13,foo", "");
    ASSERT_FALSE(bad);
    EXPECT_NE(bad.error().message.find("'foo'"), std::string::npos);
}

TEST(HealthTrackerXids, AreCountedByNumberWhetherTheyCountOrNot) {
    HealthTracker book{XidPolicy{}};
    const Uuid gpu{"GPU-0"};
    const Moment first{std::chrono::seconds(10)};
    const Moment second{std::chrono::seconds(20)};
    const std::vector<FaultEvent> events{{.gpu = gpu, .xid = 31}, {.gpu = gpu, .xid = 79}};
    book.note_faults(events, first);
    book.note_faults(std::span(events).first(1), second);
    EXPECT_EQ(book.counted_on(gpu),
              (std::vector<XidCount>{{.xid = 31, .count = 2, .last = second},
                                     {.xid = 79, .count = 1, .last = first}}));
    EXPECT_TRUE(book.counted_on(Uuid{"GPU-1"}).empty());
}

}  // namespace
}  // namespace aliquot::gpu
