// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "dra/test_claims.h"
#include "os/temporary_directory.h"

namespace aliquot::dra {
namespace {

TEST(DraKeeperClose, PreparesNothingNewOnceItIsClosed) {
    const os::TemporaryDirectory directory;
    Node node(directory.path());
    const auto keeper = node.start();
    const ClaimName first = node.allocate("a", "3Gi", 25);
    ASSERT_TRUE(keeper->prepare(first));
    ASSERT_TRUE(keeper->close("claims are not served"));
    EXPECT_TRUE(keeper->prepare(first)) << "its pod may need it again";
    const auto refused = keeper->prepare(node.allocate("b", "3Gi", 25));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "claim ai/b: claims are not served");
    EXPECT_TRUE(keeper->unprepare(first));
    ASSERT_TRUE(keeper->publish(node.state));
    EXPECT_TRUE(keeper->prepare(node.allocate("b", "3Gi", 25)));
}

}  // namespace
}  // namespace aliquot::dra
