// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <gtest/gtest.h>

namespace aliquot {
namespace {

TEST(Quantity, ReadsWhatKubernetesWrites) {
    const std::pair<const char*, std::uint64_t> cases[] = {{"0", 0},
                                                           {"1024", 1024},
                                                           {"1Ki", 1024},
                                                           {"3.5Gi", 3758096384},
                                                           {"512Mi", 536870912},
                                                           {"2G", 2000000000},
                                                           {"1.5k", 1500},
                                                           {"0.5", 1},
                                                           {"1Ti", 1099511627776}};
    for (const auto& [text, bytes] : cases) {
        const auto read = parse_bytes(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(*read, bytes) << text;
    }
}

TEST(Quantity, RefusesWhatIsNoAmount) {
    for (const auto* text : {"", "Gi", "-1", "+1", "1.2.3", "1gi", "1 Gi", "1GiB", ".",
                             "99999999999999999999999999", "9999999999Ti", "1e3"}) {
        const auto read = parse_bytes(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput);
    }
}

TEST(Quantity, WritesTheShortestForm) {
    EXPECT_EQ(bytes_text(3758096384), "3.5Gi");
    EXPECT_EQ(bytes_text(16106127360), "15Gi");
    EXPECT_EQ(bytes_text(1000), "1000");
    EXPECT_EQ(bytes_text(0), "0");
    EXPECT_EQ(bytes_text(1024), "1Ki");
    EXPECT_EQ(bytes_text(1024 + 10), "1Ki");
}

}  // namespace
}  // namespace aliquot
