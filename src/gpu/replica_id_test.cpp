// SPDX-License-Identifier: Apache-2.0
#include "gpu/replica_id.h"

#include <gtest/gtest.h>

namespace aliquot::gpu {
namespace {

TEST(ReplicaId, SurvivesTheWayThroughKubelet) {
    const ReplicaId sent{.gpu = {"GPU-3f2a"}, .index = 2};
    const auto received = parse_replica_id(to_text(sent));
    ASSERT_TRUE(received) << received.error().message;
    EXPECT_EQ(*received, sent);
}

TEST(ReplicaId, RefusesWhatIsNotUuidAndIndex) {
    for (const auto* text : {"", "GPU-3f2a", "::1", "GPU-3f2a::", "GPU-3f2a::2x", "GPU-3f2a::-1"}) {
        const auto id = parse_replica_id(text);
        ASSERT_FALSE(id) << text;
        EXPECT_EQ(id.error().code, ErrorCode::kInvalidInput) << text;
    }
}

TEST(DeviceId, IsOfItsDeviceWholeOrShared) {
    for (const auto* text : {"GPU-3f2a", "GPU-3f2a::0", "GPU-3f2a::12", "GPU-3f2a::x"}) {
        EXPECT_EQ(device_of(text), "GPU-3f2a") << text;
    }
    EXPECT_EQ(split_device_id("MIG-1::7").replica, 7U);
    EXPECT_EQ(split_device_id("MIG-1").replica, 0U);
    EXPECT_FALSE(split_device_id("MIG-1::x").valid);
}

}  // namespace
}  // namespace aliquot::gpu
