// SPDX-License-Identifier: Apache-2.0
#include "sharing/replica_id.h"

#include <gtest/gtest.h>

namespace aliquot::sharing {
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

}  // namespace
}  // namespace aliquot::sharing
