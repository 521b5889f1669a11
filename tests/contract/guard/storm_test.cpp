// SPDX-License-Identifier: Apache-2.0
//
// Storms at a size for every day. In full, by hand: guard-storm under a node, see guard-storm's head.
#include <gtest/gtest.h>

#include "tests/contract/guard/guard_world.h"

namespace aliquot::guardkit {
namespace {

class GuardStorm : public testing::Test {
protected:
    void after(const std::string& what, const std::string& size) {
        GuardWorld world(parse_settings("memory=8Gi"));
        const Outcome outcome = world.run(
            {std::string(ALIQUOT_TEST_DIR) + "/guard-storm", what, size}, std::chrono::seconds(90));
        ASSERT_FALSE(outcome.late) << "hangs";
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.error;
        EXPECT_EQ(outcome.error, "");
        std::printf("%s", outcome.out.c_str());
    }
};

TEST_F(GuardStorm, OfKillsLeavesTheLedgerRight) { after("kill", "200"); }
TEST_F(GuardStorm, OfSixtyFourProcessesLeavesTheLedgerRight) { after("churn", "2000"); }
TEST_F(GuardStorm, OfForksAndExecsLeavesTheLedgerRight) { after("tree", "200"); }

}  // namespace
}  // namespace aliquot::guardkit
