// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/quantity.h"

#include <gtest/gtest.h>

namespace aliquot::sim::cluster {
namespace {

TEST(Quantity, ReadsWhatKubernetesWrites) {
    struct Case {
        const char* text;
        std::int64_t milli;
    };
    for (const Case& each :
         {Case{"0", 0}, Case{"1", 1000}, Case{"+2", 2000}, Case{"500m", 500}, Case{"0.5", 500},
          Case{".5", 500}, Case{"2.", 2000}, Case{"1u", 1}, Case{"100n", 1}, Case{"1k", 1000'000},
          Case{"1e3", 1000'000}, Case{"15E-1", 1500}, Case{"1Ki", 1024'000},
          Case{"1.5Gi", 1610612736000}, Case{"8Ei", 0}}) {
        const auto milli = parse_quantity_milli(each.text);
        if (std::string_view(each.text) == "8Ei") {
            EXPECT_FALSE(milli) << "beyond 2^63 thousandths";
            continue;
        }
        ASSERT_TRUE(milli) << each.text;
        EXPECT_EQ(*milli, each.milli) << each.text;
    }
}

TEST(Quantity, RefusesTheRest) {
    for (const char* text : {"", "-1", "x", "1x", "1 Gi", "1gi", "1KiB", "1.2.3", ".", "1e", "1e99",
                             "e3", "1mm", "9999999999999999999", "0x10"}) {
        EXPECT_FALSE(parse_quantity_milli(text)) << text;
    }
}

}  // namespace
}  // namespace aliquot::sim::cluster
