// SPDX-License-Identifier: Apache-2.0
#include "guard_region/totals.h"

#include <gtest/gtest.h>

namespace aliquot::guard_region {
namespace {

const std::vector<Totals> kTwo{{.uuid = "GPU-00000000-0000-0000-0000-000000000001",
                                .denied = 1,
                                .denied_bytes = 2,
                                .gpu_ns = ~std::uint64_t{0},
                                .throttled_ns = 4,
                                .launches = 5,
                                .overruns = 6},
                               {.uuid = "GPU-00000000-0000-0000-0000-000000000002", .gpu_ns = 7}};

TEST(Totals, AreReadAsTheyWereWritten) {
    const auto read = parse_totals(to_text(kTwo));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, kTwo);
    EXPECT_TRUE(parse_totals(to_text({}))->empty());
}

TEST(Totals, AnythingElseIsRefused) {
    const std::string good = to_text(kTwo);
    for (const std::string& text :
         {std::string(), good.substr(1), good.substr(0, good.size() - 1), good + "x\n",
          good + "GPU-00000000-0000-0000-0000-000000000003 1 2 3 4 5\n",
          good + "GPU-00000000-0000-0000-0000-000000000003 1 2 3 4 5 6 7\n",
          good + "GPU-00000000-0000-0000-0000-000000000003 1 2 3 4 5 -6\n",
          good + "GPU-00000000-0000-0000-0000-000000000003 1 2 3 4 5 18446744073709551616\n"}) {
        EXPECT_FALSE(parse_totals(text)) << text;
    }
}

TEST(Totals, AreThoseOfTheDevicesThatALedgerKnows) {
    LedgerView view;
    view.devices[2].uuid.bytes[15] = 1;
    view.devices[2].gpu_ns = 9;
    view.devices[2].denied = 1;
    const auto totals = totals_of(view);
    ASSERT_EQ(totals.size(), 1U);
    EXPECT_EQ(totals[0].uuid, "GPU-00000000-0000-0000-0000-000000000001");
    EXPECT_EQ(totals[0].gpu_ns, 9U);
    EXPECT_EQ(totals[0].denied, 1U);
}

}  // namespace
}  // namespace aliquot::guard_region
