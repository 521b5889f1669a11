// SPDX-License-Identifier: Apache-2.0
#include "guard_region/truth.h"

#include <gtest/gtest.h>

#include "guard_region/uuid.h"
#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";
constexpr unsigned kPlace = 4;  // of the GPU in the ledger

LedgerView ledger(SlotUse use) {
    LedgerView view;
    view.devices[kPlace].uuid = *parse_uuid(kGpu);
    SlotView& slot = view.slots.emplace_back();
    slot.index = 9;
    slot.owner = std::uint64_t{12} << 32U | 1;
    slot.alive = true;
    slot.devices[kPlace] = use;
    return view;
}

std::vector<DeviceReading> driver(std::optional<std::uint64_t> bytes) {
    return {{.uuid = kGpu,
             .answered = true,
             .held = {{.process = {.pid = 500}, .bytes = bytes, .slot = 9}}}};
}

TEST(Truth, IsWhatTheDriverSaysBesidesWhatIsTracked) {
    const SlotUse use{.tracked_bytes = 1000, .managed_bytes = 300, .changes = 5};
    const auto truths = find_truths(ledger(use), ledger(use), driver(900));
    ASSERT_EQ(truths.size(), 1U);
    EXPECT_EQ(truths[0].slot, 9U);
    EXPECT_EQ(truths[0].host_pid, 500);
    EXPECT_EQ(truths[0].overhead_bytes[0], 200U);  // managed memory may be anywhere
}

TEST(Truth, IsNeverBelowNothing) {
    const SlotUse use{.tracked_bytes = 1000};
    EXPECT_EQ(find_truths(ledger(use), ledger(use), driver(900))[0].overhead_bytes[0], 0U);
    const SlotUse odd{.tracked_bytes = 1, .managed_bytes = ~std::uint64_t{0}};
    EXPECT_EQ(find_truths(ledger(odd), ledger(odd), driver(900))[0].overhead_bytes[0], 900U);
}

TEST(Truth, StaysAsItWasWhenSomethingChangedMeanwhile) {
    const SlotUse before{.tracked_bytes = 1000, .changes = 5};
    for (const SlotUse& after :
         {SlotUse{.tracked_bytes = 1001, .changes = 5},
          SlotUse{.tracked_bytes = 1000, .changes = 7},
          SlotUse{.tracked_bytes = 1000, .managed_bytes = 1, .changes = 5}}) {
        const auto truths = find_truths(ledger(before), ledger(after), driver(2000));
        ASSERT_EQ(truths.size(), 1U);
        EXPECT_FALSE(truths[0].overhead_bytes[0]);
        EXPECT_EQ(truths[0].host_pid, 500);
    }
}

TEST(Truth, SaysWhenTheDriverDoesNot) {
    const auto truths = find_truths(ledger({}), ledger({}), driver(std::nullopt));
    ASSERT_EQ(truths.size(), 1U);
    EXPECT_EQ(truths[0].overhead_bytes[0], abi::kNotMeasured);
}

TEST(Truth, IsNotOfAnotherOwnerNorOfTheDead) {
    LedgerView other = ledger({});
    other.slots[0].owner = 1;
    EXPECT_FALSE(find_truths(other, ledger({}), driver(5))[0].overhead_bytes[0]);
    LedgerView dead = ledger({});
    dead.slots[0].alive = false;
    EXPECT_TRUE(find_truths(ledger({}), dead, driver(5)).empty());
    EXPECT_TRUE(find_truths(ledger({}), ledger({}), {{.uuid = kGpu, .answered = true}}).empty());
}

TEST(Truth, IsShownAlsoOfAProcessThatDoesNotTakeIt) {
    const os::TemporaryDirectory directory;
    auto config = ConfigFile::create(directory.path() / "config", {.devices = {{.uuid = kGpu}}});
    ASSERT_TRUE(config);
    LedgerView view = ledger({.overhead_bytes = 400, .contexts = 1});
    apply_truth(*config, view);
    EXPECT_EQ(view.slots[0].devices[kPlace].overhead_bytes, 400U);
    SlotTruth truth{.slot = 9, .owner = view.slots[0].owner};
    truth.overhead_bytes[0] = 300;
    config->set_truth(truth);
    apply_truth(*config, view);
    EXPECT_EQ(view.slots[0].devices[kPlace].overhead_bytes, 300U);
}

}  // namespace
}  // namespace aliquot::guard_region
