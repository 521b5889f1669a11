// SPDX-License-Identifier: Apache-2.0
#include "install/apply.h"

#include <gtest/gtest.h>

namespace aliquot::install {
namespace {

TEST(ARollout, IsDoneWhenTheNewestAgentIsReadyEverywhere) {
    const auto rollout = [](const std::string& status) {
        return read_rollout(R"({"metadata":{"generation":2},"status":)" + status + "}");
    };
    EXPECT_TRUE(rollout(R"({"observedGeneration":2,"desiredNumberScheduled":3,
                            "updatedNumberScheduled":3,"numberReady":3})")
                    .done());
    EXPECT_FALSE(rollout(R"({"observedGeneration":1,"desiredNumberScheduled":3,
                             "updatedNumberScheduled":3,"numberReady":3})")
                     .done());
    EXPECT_FALSE(rollout(R"({"observedGeneration":2,"desiredNumberScheduled":3,
                             "updatedNumberScheduled":2,"numberReady":3})")
                     .done());
    EXPECT_FALSE(rollout("{}").done());
    EXPECT_TRUE(rollout(R"({"observedGeneration":2})").done());  // no node fits
}

TEST(AConflict, SaysWhoHasWhat) {
    const kube_client::Failure failure{
        .reason = kube_client::Reason::kConflict,
        .causes = {{.type = "FieldManagerConflict",
                    .field = ".spec.replicas",
                    .message = "conflict with \"kubectl-edit\" using apps/v1"}}};
    EXPECT_EQ(conflicts(failure),
              (std::vector<std::string>{".spec.replicas belongs to kubectl-edit"}));
    EXPECT_TRUE(conflicts({.reason = kube_client::Reason::kConflict}).empty());
}

}  // namespace
}  // namespace aliquot::install
