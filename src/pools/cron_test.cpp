// SPDX-License-Identifier: Apache-2.0
#include "pools/cron.h"

#include <gtest/gtest.h>

namespace aliquot::pools {
namespace {

std::string error_of(std::string_view text) {
    const auto cron = Cron::parse(text);
    return cron ? "" : cron.error().message;
}

// R79.
TEST(Cron, ReadsNamesListsRangesAndSteps) {
    const auto cron = Cron::parse("*/20 9-17/4,22 * jan,MAR mon-fri");
    ASSERT_TRUE(cron) << cron.error().message;
    EXPECT_TRUE(cron->has_minute(40));
    EXPECT_FALSE(cron->has_minute(41));
    EXPECT_TRUE(cron->has_hour(13));
    EXPECT_TRUE(cron->has_hour(22));
    EXPECT_FALSE(cron->has_hour(10));
    EXPECT_TRUE(cron->has_date(3, 9, 1));
    EXPECT_FALSE(cron->has_date(2, 9, 1));
    EXPECT_FALSE(cron->has_date(3, 8, 0));
    EXPECT_FALSE(cron->is_every_hour());
}

TEST(Cron, TakesEitherDayWhenBothAreRestrictedAndSevenIsSunday) {
    const auto cron = Cron::parse("0 0 13 * 7");
    ASSERT_TRUE(cron);
    EXPECT_TRUE(cron->has_date(5, 13, 3));
    EXPECT_TRUE(cron->has_date(5, 4, 0));
    EXPECT_FALSE(cron->has_date(5, 4, 1));
    EXPECT_EQ(Cron::parse("0  9 * * 1-5")->text(), "0 9 * * 1-5");
    EXPECT_EQ(Cron::parse("@Daily")->text(), "@Daily");
    EXPECT_TRUE(Cron::parse("@hourly")->is_every_hour());
}

TEST(Cron, SaysWhatIsWrong) {
    EXPECT_EQ(
        error_of("0 9 * *"),
        "'0 9 * *' has 4 fields, expected five: minute hour day month weekday, as in \"0 9 * * "
        "1-5\"");
    EXPECT_NE(error_of("60 9 * * *").find("'60' is no minute: out of range, expected 0 to 59"),
              std::string::npos);
    EXPECT_NE(error_of("0 17-9 * * *").find("the range runs backwards"), std::string::npos);
    EXPECT_NE(error_of("*/0 9 * * *").find("step"), std::string::npos);
    EXPECT_NE(error_of("0 9,, * * *").find("empty"), std::string::npos);
    EXPECT_NE(error_of("0 0 30 feb *").find("never comes"), std::string::npos);
    EXPECT_NE(error_of("TZ=UTC 0 9 * * *").find("timeZone"), std::string::npos);
    EXPECT_NE(error_of(std::string(300, '*')).find("300 bytes"), std::string::npos);
    EXPECT_TRUE(error_of("0 0 29 2 *").empty());
    EXPECT_TRUE(error_of("0 0 30 2 1").empty());  // Mondays of February come
}

}  // namespace
}  // namespace aliquot::pools
