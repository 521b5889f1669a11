// SPDX-License-Identifier: Apache-2.0
#include "pools/notice.h"

#include <gtest/gtest.h>

#include "base/time_text.h"

namespace aliquot::pools {
namespace {

Instant moment(std::string_view text) {
    return std::chrono::floor<std::chrono::seconds>(*parse_rfc3339(text));
}

k8s::Node tainted(const std::string& key, const std::string& since) {
    k8s::NodeTaint taint;
    taint.key = key;
    taint.effect = "NoSchedule";
    taint.time_added = since;
    k8s::Node node;
    node.taints = {taint};
    return node;
}

TEST(SpotNotice, IsSeenWhoeverGaveIt) {
    const auto aws =
        notice_of(tainted("aws-node-termination-handler/spot-itn", "2026-11-24T06:00:00Z"), false);
    ASSERT_TRUE(aws);
    EXPECT_EQ(aws->goes_at, moment("2026-11-24T06:02:00Z"));
    const auto google = notice_of(
        tainted("cloud.google.com/impending-node-termination", "2026-11-24T06:00:00Z"), false);
    ASSERT_TRUE(google);
    EXPECT_EQ(google->goes_at, moment("2026-11-24T06:00:30Z"));
    k8s::Node azure;
    azure.conditions = {{.type = "VMEventScheduled",
                         .status = "True",
                         .reason = "PreemptScheduled",
                         .transition = "2026-11-24T06:00:00Z"}};
    ASSERT_TRUE(notice_of(azure, false));
    EXPECT_EQ(notice_of(azure, false)->goes_at, moment("2026-11-24T06:00:30Z"));
    k8s::Node ours;
    ours.annotations["aliquot.dev/leaves-at"] = "2026-11-24T06:01:30Z";
    ASSERT_TRUE(notice_of(ours, false));
    EXPECT_EQ(notice_of(ours, false)->goes_at, moment("2026-11-24T06:01:30Z"));
}

TEST(SpotNotice, WithoutATimeIsLeftToWhoGaveIt) {
    for (const char* const key : {"karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler",
                                  "node.cloudprovider.kubernetes.io/shutdown"}) {
        const auto notice = notice_of(tainted(key, "2026-11-24T06:00:00Z"), false);
        ASSERT_TRUE(notice) << key;
        EXPECT_FALSE(notice->goes_at) << key;
    }
    EXPECT_TRUE(notice_of({}, true));
}

TEST(SpotNotice, IsNoneOfATaintThatSaysSomethingElse) {
    EXPECT_FALSE(notice_of({}, false));
    for (const char* const key : {"DeletionCandidateOfClusterAutoscaler", "nvidia.com/gpu",
                                  "aliquot.dev/gpu-gate", "node.kubernetes.io/unschedulable",
                                  "aws-node-termination-handler/rebalance-recommendation"}) {
        EXPECT_FALSE(notice_of(tainted(key, "2026-11-24T06:00:00Z"), false)) << key;
    }
}

}  // namespace
}  // namespace aliquot::pools
