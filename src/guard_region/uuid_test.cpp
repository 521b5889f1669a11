// SPDX-License-Identifier: Apache-2.0
#include "guard_region/uuid.h"

#include <gtest/gtest.h>

namespace aliquot::guard_region {
namespace {

TEST(Uuid, SurvivesTheWayThroughSixteenBytes) {
    const std::string text = "GPU-8a6b0c1d-2e3f-4051-6273-8495a6b7c8d9";
    const auto uuid = parse_uuid(text);
    ASSERT_TRUE(uuid) << uuid.error().message;
    EXPECT_EQ(uuid->bytes[0], 0x8a);
    EXPECT_EQ(uuid->bytes[15], 0xd9);
    EXPECT_EQ(gpu_text(*uuid), text);
    EXPECT_FALSE(is_none(*uuid));
}

TEST(Uuid, OfAMigDeviceHasTheSameForm) {
    const auto mig = parse_uuid("MIG-8A6B0C1D-2e3f-4051-6273-8495a6b7c8d9");
    const auto gpu = parse_uuid("GPU-8a6b0c1d-2e3f-4051-6273-8495a6b7c8d9");
    ASSERT_TRUE(mig && gpu);
    EXPECT_TRUE(same(*mig, *gpu));
}

TEST(Uuid, RefusesWhatIsNone) {
    for (const auto* text :
         {"", "GPU-", "8a6b0c1d-2e3f-4051-6273-8495a6b7c8d9",
          "GPU-8a6b0c1d-2e3f-4051-6273-8495a6b7c8d", "CPU-8a6b0c1d-2e3f-4051-6273-8495a6b7c8d9",
          "GPU-8a6b0c1d-2e3f-4051-6273-8495a6b7c8dg", "GPU-8a6b0c1d02e3f-4051-6273-8495a6b7c8d9",
          "MIG-GPU-8a6b0c1d-2e3f-4051-6273-8495a6b7c8d9/1/0"}) {
        EXPECT_FALSE(parse_uuid(text)) << text;
    }
}

}  // namespace
}  // namespace aliquot::guard_region
