// SPDX-License-Identifier: Apache-2.0
#include "gpu/health.h"

#include <gtest/gtest.h>

namespace aliquot::gpu {
namespace {

const Uuid kA{"GPU-a"};
const Uuid kB{"GPU-b"};

HealthBook default_book() { return HealthBook(*XidPolicy::from_environment("", "")); }
void fault(HealthBook& book, const Uuid& gpu, std::uint64_t xid) {
    book.note_faults(std::vector<FaultEvent>{{gpu, xid}});
}
bool probe(HealthBook& book, Probe probe) { return book.note_probes(std::vector<Probe>{probe}); }

TEST(HealthBook, AnXidTakesAwayThatGpuOnly) {
    HealthBook book = default_book();
    fault(book, kA, 79);
    EXPECT_EQ(book.health_of(kA).reason, "Xid 79: GPU has fallen off the bus");
    EXPECT_TRUE(book.health_of(kB).ok());
}

TEST(HealthBook, ApplicationFaultsDoNotCount) {
    HealthBook book = default_book();
    for (const std::uint64_t xid : {13, 31, 43, 45, 68, 109, 154}) fault(book, kA, xid);
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthBook, AnEventWithoutGpuTakesNothingAway) {
    HealthBook book = default_book();
    fault(book, Uuid{}, 79);
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthBook, ComesBackWhenTheDriverAsksForNothingMore) {
    HealthBook book = default_book();
    fault(book, kA, 95);
    probe(book, {.gpu = kA, .answers = true, .recovery_action = 1});
    EXPECT_FALSE(book.health_of(kA).ok());
    EXPECT_TRUE(probe(book, {.gpu = kA, .answers = true, .recovery_action = 0}));
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthBook, WithoutThatFieldItComesBackAfterAReset) {
    HealthBook book = default_book();
    fault(book, kA, 48);
    probe(book, {.gpu = kA, .answers = true});
    EXPECT_FALSE(book.health_of(kA).ok());
    probe(book, {.gpu = kA, .answers = false, .problem = "GPU is lost"});
    EXPECT_EQ(book.health_of(kA).reason, "Xid 48: double-bit ECC error; GPU is lost");
    probe(book, {.gpu = kA, .answers = true});
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthBook, SilenceAloneEndsWithTheFirstAnswer) {
    HealthBook book = default_book();
    probe(book, {.gpu = kA, .answers = false, .problem = "GPU is lost"});
    EXPECT_EQ(book.health_of(kA).reason, "GPU is lost");
    probe(book, {.gpu = kA, .answers = true});
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(HealthBook, ABadEnumerationCountsAndAGoodOneEndsIt) {
    HealthBook book = default_book();
    Inventory inventory{.gpus = {{.uuid = kA, .health = {Health::State::kUnhealthy, "error 999"}}}};
    EXPECT_TRUE(book.note_inventory(inventory));
    EXPECT_EQ(book.health_of(kA).reason, "error 999");
    inventory.gpus[0].health = {};
    EXPECT_TRUE(book.note_inventory(inventory));
    EXPECT_FALSE(book.note_inventory(inventory));
    EXPECT_TRUE(book.health_of(kA).ok());
}

TEST(XidPolicy, FollowsNvidiasVariables) {
    const auto all_off = XidPolicy::from_environment("all", "79");
    ASSERT_TRUE(all_off);
    EXPECT_TRUE(all_off->counts(79));
    EXPECT_FALSE(all_off->counts(48));
    const auto more = XidPolicy::from_environment("48, 63", "13");
    ASSERT_TRUE(more);
    EXPECT_FALSE(more->counts(48));
    EXPECT_FALSE(more->counts(63));
    EXPECT_TRUE(more->counts(13));
    EXPECT_TRUE(more->counts(79));
}

TEST(XidPolicy, NamesTheWordItCannotRead) {
    const auto bad = XidPolicy::from_environment("13,foo", "");
    ASSERT_FALSE(bad);
    EXPECT_NE(bad.error().message.find("'foo'"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::gpu
