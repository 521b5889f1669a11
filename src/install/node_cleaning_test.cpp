// SPDX-License-Identifier: Apache-2.0
#include "install/node_cleaning.h"

#include <gtest/gtest.h>

#include "document/json.h"
#include "document/yaml.h"

namespace aliquot::install {
namespace {

std::string canonical(const std::string& json) {
    const auto read = document::parse_yaml(json);
    return read.documents.empty() ? "" : document::to_json(read.documents.front());
}

constexpr const char* kNode = R"({
  "metadata": {"name": "n", "resourceVersion": "42",
    "labels": {"kubernetes.io/os": "linux", "nvidia.com/gpu.count": "2", "team": "vision"},
    "annotations": {"aliquot.dev/agent": "0.1.0", "other.dev/a": "b",
      "aliquot.dev/owned-labels": "nvidia.com/gpu.count,nvidia.com/gone",
      "aliquot.dev/owned-taints": "nvidia.com/gpu:NoSchedule"}},
  "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
                      {"key": "nvidia.com/gpu", "effect": "NoExecute"},
                      {"key": "dedicated", "effect": "NoSchedule"}]},
  "status": {"conditions": [{"type": "Ready", "status": "True"},
                            {"type": "GpuHealthy", "status": "False"}]}})";

TEST(NodeCleaning, TakesAwayWhatTheAgentSaysIsItsOwnAndNothingElse) {
    const auto made = clean_node(kNode);
    ASSERT_TRUE(made);
    EXPECT_EQ(canonical(made->patch), canonical(R"({"metadata": {"resourceVersion": "42",
        "labels": {"nvidia.com/gpu.count": null},
        "annotations": {"aliquot.dev/agent": null, "aliquot.dev/owned-labels": null,
                        "aliquot.dev/owned-taints": null}},
      "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoExecute"},
                          {"key": "dedicated", "effect": "NoSchedule"}]}})"));
    EXPECT_EQ(canonical(made->status_patch),
              canonical(R"({"status":{"conditions":[{"$patch":"delete","type":"GpuHealthy"}]}})"));
    EXPECT_EQ(made->removed,
              (std::vector<std::string>{
                  "label nvidia.com/gpu.count", "taint nvidia.com/gpu:NoSchedule",
                  "annotation aliquot.dev/agent", "annotation aliquot.dev/owned-labels",
                  "annotation aliquot.dev/owned-taints", "condition GpuHealthy"}));
}

TEST(NodeCleaning, ANodeWithoutUsIsLeftAlone) {
    EXPECT_FALSE(clean_node(R"({"metadata":{"name":"n","labels":{"nvidia.com/gpu.count":"2"}},
        "spec":{"taints":[{"key":"nvidia.com/gpu","effect":"NoSchedule"}]},
        "status":{"conditions":[{"type":"Ready"}]}})"));
    EXPECT_FALSE(clean_node(""));
    EXPECT_FALSE(clean_node("[]"));
    EXPECT_FALSE(clean_node("{"));
}

TEST(NodeCleaning, TheAnswerToAMigLabelIsOurs) {
    const auto made =
        clean_node(R"({"metadata":{"name":"n","labels":{"nvidia.com/mig.config":"all-1g.5gb",
        "nvidia.com/mig.config.state":"success"},"annotations":{"aliquot.dev/agent":"0.1.0"}}})");
    ASSERT_TRUE(made);
    EXPECT_NE(made->patch.find(R"("nvidia.com/mig.config.state":null)"), std::string::npos);
    EXPECT_EQ(made->patch.find(R"("nvidia.com/mig.config":)"), std::string::npos);
    // Without an agent of ours it is somebody else's.
    EXPECT_FALSE(clean_node(
        R"({"metadata":{"name":"n","labels":{"nvidia.com/mig.config.state":"success"}}})"));
}

TEST(NodeCleaning, OnlyAConditionIsLeft) {
    const auto made = clean_node(
        R"({"metadata":{"name":"n"},"status":{"conditions":[{"type":"MigConfigServed"}]}})");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->patch, "");
    EXPECT_NE(made->status_patch, "");
}

TEST(NodeCleaning, AHostThatKeepsFilesKeepsTheMarkOfTheAgent) {
    const auto made = clean_node(kNode, AgentMark::kStays);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->patch.find("aliquot.dev/agent"), std::string::npos);
    EXPECT_NE(made->patch.find("aliquot.dev/owned-labels"), std::string::npos);
    EXPECT_FALSE(clean_node(R"({"metadata":{"name":"n","annotations":{"aliquot.dev/agent":"1"}}})",
                            AgentMark::kStays));
}

// kubelet sets a resource that it forgets to 0 and leaves its name on the Node.
TEST(NodeCleaning, TakesOffGpuResourcesOfWhichThereAreNone) {
    const auto made = clean_node(R"({"metadata":{"name":"n"},"status":{
        "capacity":{"cpu":"0","nvidia.com/gpu":"0","nvidia.com/mig-1g.5gb":"0","nvidia.com/gpu-4gi":"2",
                    "nvidia.com/hostdev":"0","nvidia.com/odd":"0"},
        "allocatable":{"cpu":"0","nvidia.com/gpu":"0","nvidia.com/gpu-4gi":"0","nvidia.com/odd":"1"}}})");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->patch + made->status_patch, "");
    EXPECT_EQ(made->resources,
              (std::vector<std::string>{"nvidia.com/gpu", "nvidia.com/mig-1g.5gb"}));
    EXPECT_EQ(canonical(made->resources_patch), canonical(R"({"status":{
        "capacity":{"nvidia.com/gpu":null,"nvidia.com/mig-1g.5gb":null},
        "allocatable":{"nvidia.com/gpu":null,"nvidia.com/mig-1g.5gb":null}}})"));
}

}  // namespace
}  // namespace aliquot::install
