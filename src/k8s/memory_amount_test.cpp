// SPDX-License-Identifier: Apache-2.0
#include "k8s/memory_amount.h"

#include <gtest/gtest.h>

namespace aliquot::k8s {
namespace {

TEST(MemoryAmount, ReadsWhatKubernetesWrites) {
    const std::pair<const char*, std::uint64_t> cases[] = {
        {"0", 0},
        {"1024", 1024},
        {"1Ki", 1024},
        {"3.5Gi", 3758096384},
        {"512Mi", 536870912},
        {"2G", 2000000000},
        {"1.5k", 1500},
        {"0.5", 1},
        {"1Ti", 1099511627776},
        {"1e3", 1000},
        {"1P", 1000000000000000},
        {"16Pi", 18014398509481984},
        {"+5Gi", 5368709120},
        {"+1", 1},
        {"0.000000000000000000000000001Gi", 1},
        {"9223372036854775807", 9223372036854775807U}};
    for (const auto& [text, bytes] : cases) {
        const auto read = parse_bytes(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(*read, bytes) << text;
    }
}

TEST(MemoryAmount, RefusesWhatIsNoAmount) {
    for (const auto* text :
         {"", "Gi", "-1", "1.2.3", "1gi", "1 Gi", "1GiB", ".", "99999999999999999999999999",
          "9999999999Ti", "9223372036854775808", "8Ei", "inf", "nan", " 4Gi ", "512m", "1n"}) {
        const auto read = parse_bytes(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput);
    }
}

TEST(MemoryAmount, WritesTheShortestForm) {
    EXPECT_EQ(bytes_text(3758096384), "3.5Gi");
    EXPECT_EQ(bytes_text(16106127360), "15Gi");
    EXPECT_EQ(bytes_text(1000), "1000");
    EXPECT_EQ(bytes_text(0), "0");
    EXPECT_EQ(bytes_text(1024), "1Ki");
    EXPECT_EQ(bytes_text(1024 + 10), "1Ki");
    EXPECT_EQ(bytes_text(std::uint64_t{1} << 50U), "1024Ti");
}

}  // namespace
}  // namespace aliquot::k8s
