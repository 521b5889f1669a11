// SPDX-License-Identifier: Apache-2.0
#include "cel/semver.h"

#include <gtest/gtest.h>

namespace aliquot::cel {
namespace {

TEST(Semver, ReadsWhatTheSpecificationAllows) {
    for (const char* good :
         {"0.0.0", "580.65.6", "1.2.3-rc.1", "1.2.3-rc-1.0+build.007", "1.0.0+5"}) {
        const auto read = Semver::parse(good);
        ASSERT_TRUE(read) << good;
        EXPECT_EQ(read->text(), good);
    }
    for (const char* bad : {"", "1", "1.2", "580.65.06", "v1.2.3", "1.2.3.4", "1.2.3-", "1.2.3-01",
                            "1.2.3+", "1.2.x", "-1.2.3", "99999999999999999999.0.0"}) {
        EXPECT_FALSE(Semver::parse(bad)) << bad;
    }
}

TEST(Semver, OrdersAsTheSpecificationsExample) {
    const char* const order[] = {"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
                                 "1.0.0-beta",  "1.0.0-beta.2",  "1.0.0-beta.11",
                                 "1.0.0-rc.1",  "1.0.0",         "1.0.1",
                                 "1.2.0",       "10.0.0"};
    for (std::size_t i = 0; i + 1 < std::size(order); ++i) {
        EXPECT_LT(*Semver::parse(order[i]), *Semver::parse(order[i + 1])) << order[i];
    }
    EXPECT_EQ(*Semver::parse("1.0.0+a"), *Semver::parse("1.0.0+b"));
}

TEST(Semver, ALenientTextIsMadeAVersionFirst) {
    EXPECT_EQ(Semver::parse_lenient("v580.65.06")->text(), "580.65.6");
    EXPECT_EQ(Semver::parse_lenient("12")->text(), "12.0.0");
    EXPECT_EQ(Semver::parse_lenient("1.2-rc1")->text(), "1.2.0-rc1");
    EXPECT_FALSE(Semver::parse_lenient("1.2.3.4"));
}

}  // namespace
}  // namespace aliquot::cel
