// SPDX-License-Identifier: Apache-2.0
//
// Storms at a size for every day; ALIQUOT_GUARD_KIT_SCALE=100 in the environment: in full.
#include <gtest/gtest.h>

#include "tests/contract/guard/guard_world.h"
#include "tests/contract/guard/probe.h"

namespace aliquot::guardkit {
namespace {

class GuardStorm : public testing::Test {
protected:
    /// `percent` of the full size, or as many as ALIQUOT_GUARD_KIT_SCALE says.
    void after(const std::string& what, unsigned long full, unsigned long percent) {
        GuardWorld world(parse_settings("memory=8Gi"));
        const std::string size = std::to_string(scaled(full, percent));
        const Outcome outcome = world.run(
            {std::string(ALIQUOT_TEST_DIR) + "/guard-storm", what, size}, std::chrono::minutes(15));
        ASSERT_FALSE(outcome.late) << "hangs";
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.error;
        EXPECT_EQ(outcome.error, "");
        EXPECT_LE(world.peak_bytes(0), std::uint64_t{8} << 30);  // of the node's own books
        std::printf("%s", outcome.out.c_str());
    }
};

TEST_F(GuardStorm, OfKillsLeavesTheLedgerRight) { after("kill", 1000, 20); }
TEST_F(GuardStorm, OfSixtyFourProcessesLeavesTheLedgerRight) { after("churn", 100'000, 2); }
TEST_F(GuardStorm, OfForksAndExecsLeavesTheLedgerRight) { after("tree", 400, 50); }

}  // namespace
}  // namespace aliquot::guardkit
