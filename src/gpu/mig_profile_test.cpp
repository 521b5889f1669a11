// SPDX-License-Identifier: Apache-2.0
#include "gpu/mig_profile.h"

#include <gtest/gtest.h>

#include <array>

namespace aliquot::gpu {
namespace {

TEST(MigProfile, ReadsAndWritesEveryForm) {
    struct Case {
        const char* text;
        const char* written;
    };
    constexpr std::array<Case, 9> kCases{{{"3g.20gb", "3g.20gb"},
                                          {"1g.10gb+me", "1g.10gb+me"},
                                          {"1g.10gb.me", "1g.10gb+me"},
                                          {"mig-1g.5gb", "1g.5gb"},
                                          {"nvidia.com/mig-1g.10gb.me", "1g.10gb+me"},
                                          {"1c.3g.20gb", "1c.3g.20gb"},
                                          {"3c.3g.20gb", "3g.20gb"},
                                          {"1g.24gb+me.all", "1g.24gb+me.all"},
                                          {"2g.48gb-me", "2g.48gb-me"}}};
    for (const Case& one : kCases) {
        const auto name = parse_mig_profile(one.text);
        ASSERT_TRUE(name.ok()) << one.text;
        EXPECT_EQ(to_text(*name), one.written);
    }
}

TEST(MigProfile, RefusesWhatIsNone) {
    for (const char* text :
         {"", "3g", "3g.", "3g.20", "g.20gb", "0g.5gb", "3g.0gb", "4c.3g.20gb", "3g.20gbx",
          "3g.20gb+", "3g.20gb++me", "-1g.5gb", "1g.5gb+ME", "99999999999g.5gb", "1g.5gb-xx"}) {
        const auto name = parse_mig_profile(text);
        ASSERT_FALSE(name.ok()) << text;
        EXPECT_EQ(name.error().code, ErrorCode::kInvalidInput);
        EXPECT_NE(name.error().message.find(std::string("'") + text), std::string::npos);
    }
}

TEST(MigProfile, NamesMemoryAsTheDriversToolsDo) {
    constexpr std::uint64_t kMib = 1 << 20;
    // A100 40 GB and 80 GB, H100, as their drivers report total memory and instances.
    EXPECT_EQ(mig_memory_gb(4864, 40960 * kMib), 5U);
    EXPECT_EQ(mig_memory_gb(9856, 40960 * kMib), 10U);
    EXPECT_EQ(mig_memory_gb(19968, 40960 * kMib), 20U);
    EXPECT_EQ(mig_memory_gb(40192, 40960 * kMib), 40U);
    EXPECT_EQ(mig_memory_gb(9856, 81920 * kMib), 10U);
    EXPECT_EQ(mig_memory_gb(40192, 81920 * kMib), 40U);
    EXPECT_EQ(mig_memory_gb(9984, 81559 * kMib), 10U);
    EXPECT_EQ(mig_memory_gb(5952, 24576 * kMib), 6U);
    EXPECT_EQ(mig_memory_gb(1, 0), 0U);
}

TEST(MigProfile, NamesTheResource) {
    EXPECT_EQ(mig_resource("1g.10gb+me"), "nvidia.com/mig-1g.10gb.me");
    EXPECT_EQ(mig_resource("3g.20gb"), "nvidia.com/mig-3g.20gb");
}

}  // namespace
}  // namespace aliquot::gpu
