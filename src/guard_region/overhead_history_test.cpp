// SPDX-License-Identifier: Apache-2.0
#include "guard_region/overhead_history.h"

#include <gtest/gtest.h>

#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

const std::string kGpu = "GPU-00000000-0000-0000-0000-000000000001";

class OverheadHistoryTest : public testing::Test {
protected:
    /// A look at one process; what is told of it.
    std::optional<std::uint64_t> look(std::optional<std::uint64_t> bytes,
                                      std::uint32_t contexts = 1) {
        LedgerView ledger;
        ledger.devices[0].uuid = *parse_uuid(kGpu);
        SlotView& slot = ledger.slots.emplace_back();
        slot.owner = 7;
        slot.devices[0].contexts = contexts;
        std::vector<SlotTruth> truths{{.slot = 0, .owner = 7}};
        truths[0].overhead_bytes[0] = bytes;
        history_.smooth("r", ledger, {kGpu}, truths);
        history_.end_look();
        return truths[0].overhead_bytes[0];
    }
    OverheadHistory history_;
};

TEST_F(OverheadHistoryTest, AnAllocationUnderWayDoesNotLowerIt) {
    EXPECT_EQ(look(300), 300U);
    EXPECT_EQ(look(0), 300U) << "counted, and not given yet";
    EXPECT_EQ(look(320), 320U);
    EXPECT_EQ(look(std::nullopt), std::nullopt) << "no figure of this look: the told one stays";
    EXPECT_EQ(look(abi::kNotMeasured), abi::kNotMeasured);
    for (unsigned i = 1; i < OverheadHistory::kLooks; ++i) EXPECT_EQ(look(100), 320U);
    EXPECT_EQ(look(100), 100U) << "it is smaller for good";
}

TEST_F(OverheadHistoryTest, EndsWithTheContextAndWithTheProcess) {
    EXPECT_EQ(look(300), 300U);
    look(0, 0);
    EXPECT_EQ(look(50), 50U);
    history_.end_look();
    EXPECT_EQ(look(20), 20U);
}

}  // namespace
}  // namespace aliquot::guard_region
