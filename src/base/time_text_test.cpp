// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <gtest/gtest.h>

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::system_clock::time_point;

constexpr Time kTime(1'763'762'503s);  // 2025-11-21T22:01:43Z

TEST(TimeText, IsWrittenAsKubernetesWritesIt) {
    EXPECT_EQ(rfc3339(kTime + 999ms), "2025-11-21T22:01:43Z");
    EXPECT_EQ(rfc3339_micro(kTime + 1500us), "2025-11-21T22:01:43.001500Z");
    EXPECT_EQ(rfc3339(Time()), "1970-01-01T00:00:00Z");
    EXPECT_EQ(rfc3339(Time(-1s)), "1969-12-31T23:59:59Z");
}

// Of four readers one dropped the offset, one refused parts of a second, three took a month 13.
TEST(TimeText, ReadsAllOfRfc3339) {
    EXPECT_EQ(parse_rfc3339("2025-11-21T22:01:43Z"), kTime);
    EXPECT_EQ(parse_rfc3339("2025-11-21t22:01:43z"), kTime);
    EXPECT_EQ(parse_rfc3339("2025-11-21T22:01:43.25Z"), kTime + 250ms);
    EXPECT_EQ(parse_rfc3339("2025-11-21T22:01:43.1234567891Z"), kTime + 123456789ns);
    EXPECT_EQ(parse_rfc3339("2025-11-22T00:01:43+02:00"), kTime);
    EXPECT_EQ(parse_rfc3339("2025-11-21T16:31:43.5-05:30"), kTime + 500ms);
    EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), parse_rfc3339("2017-01-01T00:00:00Z"));
}

TEST(TimeText, RefusesWhatIsNoTime) {
    for (const char* const text :
         {"", "abcd-11-21T22:01:43Z", "2025-11-21", "2025-11-21T22:01Z", "2025-11-21T22:01:43",
          "2025-11-21T22:01:43ZZ", "2025-11-21T22:01:43.Z", "2025-11-21T22:01:43+0200",
          "2025-11-21T22:01:43+02", "2025-13-01T00:00:00Z", "2025-02-29T00:00:00Z",
          "2025-11-21T24:00:00Z", "2025-11-21T22:60:00Z", "+025-11-21T22:01:43Z",
          "2025-11-21 22:01:43Z"}) {
        EXPECT_FALSE(parse_rfc3339(text)) << text;
    }
}

TEST(TimeText, ReadsDurationsOfOneUnit) {
    using namespace std::chrono_literals;
    EXPECT_EQ(parse_duration("500ms"), 500ms);
    EXPECT_EQ(parse_duration("90s"), 90s);
    EXPECT_EQ(parse_duration("2.5m"), 150s);
    EXPECT_EQ(parse_duration("24h"), 24h);
    EXPECT_EQ(parse_duration("30d"), 720h);
    EXPECT_EQ(parse_duration("0s"), 0s);
    for (const char* const text : {"", "s", "90", "-1s", "+1s", "1e3s", "0x1s", "1 s", "1s ",
                                   "1m30s", "nans", "infs", "1.2.3s", "5w", "5S", "99999999999d"}) {
        EXPECT_FALSE(parse_duration(text)) << text;
    }
}

}  // namespace
}  // namespace aliquot
