// SPDX-License-Identifier: Apache-2.0
#include "node/change.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/time_text.h"
#include "node/names.h"

namespace aliquot::node {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

const auto kNow = *parse_rfc3339("2026-11-22T01:02:03Z");
constexpr auto kHeartbeat = 300s;

/// What a server makes of a change, as far as labels, annotations and taints go.
k8s::Node after(k8s::Node node, const Change& change) {
    if (change.merge.empty()) return node;
    const json patch = json::parse(change.merge);
    const auto merge = [](labels::Labels& map, const json& part) {
        for (const auto& [key, value] : part.items()) {
            if (value.is_null()) {
                map.erase(key);
            } else {
                map[key] = value.get<std::string>();
            }
        }
    };
    merge(node.labels, patch["metadata"].value("labels", json::object()));
    merge(node.annotations, patch["metadata"].value("annotations", json::object()));
    if (patch.contains("spec")) {
        node.taints.clear();
        for (const json& taint : patch["spec"]["taints"]) {
            node.taints.push_back({{taint["key"], taint.value("value", ""), taint["effect"]},
                                   taint.value("timeAdded", "")});
        }
    }
    return node;
}

k8s::Node bare() { return {.name = "gpu-1", .resource_version = "7", .labels = {{"role", "gpu"}}}; }

Change change(const k8s::Node& node, const DesiredNode& desired) {
    return change_node(node, desired, kNow, kHeartbeat);
}

TEST(AChange, IsEmptyWhenTheNodeSaysItAll) {
    EXPECT_TRUE(change(bare(), {}).empty());
    const DesiredNode desired{.labels = {{"nvidia.com/gpu.count", "2"}},
                              .taints = {{"nvidia.com/gpu", "true", "NoSchedule"}},
                              .annotations = {{kAgent, "1.0"}}};
    const auto first = change(bare(), desired);
    const json patch = json::parse(first.merge);
    EXPECT_EQ(patch["metadata"]["resourceVersion"], "7");
    EXPECT_EQ(patch["metadata"]["annotations"][kOwnedLabels], "nvidia.com/gpu.count");
    EXPECT_EQ(patch["metadata"]["annotations"][kOwnedTaints], "nvidia.com/gpu:NoSchedule");
    EXPECT_TRUE(change(after(bare(), first), desired).empty());
}

TEST(AChange, LeavesWhatOthersHaveWritten) {
    k8s::Node node = bare();
    node.taints = {{{"nvidia.com/gpu", "mine", "NoSchedule"}, ""},
                   {{"maintenance", "", "NoExecute"}, "2026-01-01T00:00:00Z"}};
    const DesiredNode desired{.labels = {{"role", "other"}},
                              .taints = {{"nvidia.com/gpu", "true", "NoSchedule"}}};
    const auto first = change(node, desired);
    EXPECT_TRUE(first.merge.empty()) << first.merge;
    EXPECT_THAT(first.foreign, testing::ElementsAre("role", "nvidia.com/gpu:NoSchedule"));
    // A taint of ours comes and goes beside them.
    const DesiredNode more{.taints = {{kUnhealthyTaint, "true", "NoSchedule"}}};
    const k8s::Node with = after(node, change(node, more));
    ASSERT_EQ(with.taints.size(), 3U);
    EXPECT_EQ(with.taints[1].time_added, "2026-01-01T00:00:00Z");
    const k8s::Node without = after(with, change(with, {}));
    EXPECT_EQ(without.taints.size(), 2U);
    EXPECT_FALSE(without.annotations.contains(kOwnedTaints));
}

TEST(AChange, ReplacesOurOwnTaintsValue) {
    const k8s::Node one = after(bare(), change(bare(), {.taints = {{"gpu", "a", "NoSchedule"}}}));
    const auto next = change(one, {.taints = {{"gpu", "b", "NoSchedule"}}});
    EXPECT_TRUE(next.foreign.empty());
    const k8s::Node two = after(one, next);
    ASSERT_EQ(two.taints.size(), 1U);
    EXPECT_EQ(two.taints[0].value, "b");
    // The same key with another effect is another taint.
    const k8s::Node three = after(two, change(two, {.taints = {{"gpu", "b", "NoExecute"}}}));
    ASSERT_EQ(three.taints.size(), 1U);
    EXPECT_EQ(three.taints[0].effect, "NoExecute");
}

TEST(AChange, RemovesALabelThatIsOursAndNoLongerWanted) {
    const k8s::Node one = after(bare(), change(bare(), {.labels = {{"a", "1"}, {"b", "2"}}}));
    const k8s::Node two = after(one, change(one, {.labels = {{"b", "2"}}}));
    EXPECT_FALSE(two.labels.contains("a"));
    EXPECT_TRUE(two.labels.contains("role"));
    EXPECT_EQ(two.annotations.at(kOwnedLabels), "b");
}

TEST(ACondition, IsToldWhenItTurnsAndAgainAfterAWhile) {
    k8s::Node node = bare();
    const DesiredNode desired{.conditions = {{.type = kGpuHealthy,
                                              .good = true,
                                              .reason = "AllGpusHealthy",
                                              .message = "2 GPUs, all healthy"}}};
    const json patch = json::parse(change(node, desired).status)["status"]["conditions"][0];
    EXPECT_EQ(patch["status"], "True");
    EXPECT_EQ(patch["lastTransitionTime"], "2026-11-22T01:02:03Z");
    node.conditions = {{.type = kGpuHealthy,
                        .status = "True",
                        .reason = "AllGpusHealthy",
                        .message = "2 GPUs, all healthy",
                        .transition = "2026-11-22T00:00:00Z",
                        .heartbeat = "2026-11-22T01:02:00Z"}};
    EXPECT_TRUE(change(node, desired).status.empty());
    node.conditions[0].heartbeat = "2026-11-22T00:57:00Z";
    const json again = json::parse(change(node, desired).status)["status"]["conditions"][0];
    EXPECT_EQ(again["lastTransitionTime"], "2026-11-22T00:00:00Z");  // it has not turned
    EXPECT_EQ(again["lastHeartbeatTime"], "2026-11-22T01:02:03Z");
    DesiredNode bad = desired;
    bad.conditions[0].good = false;
    const json turned = json::parse(change(node, bad).status)["status"]["conditions"][0];
    EXPECT_EQ(turned["lastTransitionTime"], "2026-11-22T01:02:03Z");
}

TEST(ACondition, ThatHasEndedIsTakenAway) {
    k8s::Node node = bare();
    const DesiredNode desired{.ended = {kMigConfigServed}};
    EXPECT_TRUE(change(node, desired).status.empty());
    node.conditions = {{.type = kMigConfigServed}};
    const json patch = json::parse(change(node, desired).status)["status"]["conditions"][0];
    EXPECT_EQ(patch["$patch"], "delete");
}

TEST(ACondition, HasAMessageOfBoundedLength) {
    const DesiredNode desired{
        .conditions = {{.type = kGpuHealthy, .message = std::string(5000, 'x')}}};
    const json patch = json::parse(change(bare(), desired).status)["status"]["conditions"][0];
    EXPECT_EQ(patch["message"].get<std::string>().size(), 1024U);
}

TEST(Clearing, LeavesTheNodeAsItWas) {
    k8s::Node node = bare();
    node.annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true";
    node.labels[kConfigLabel] = "a2";  // a person's
    const DesiredNode desired{.labels = {{"nvidia.com/gpu.count", "2"}},
                              .taints = {{"nvidia.com/gpu", "true", "NoSchedule"}},
                              .annotations = {{kAgent, "1.0"}, {kGpus, "[]"}},
                              .answers = {{kMigStateLabel, "success"}}};
    k8s::Node dressed = after(node, change(node, desired));
    dressed.conditions = {{.type = kGpuHealthy}, {.type = "Ready"}};
    const auto clear = clear_node(dressed);
    const k8s::Node plain = after(dressed, clear);
    EXPECT_EQ(plain.labels, node.labels);
    EXPECT_EQ(plain.annotations, node.annotations);
    EXPECT_TRUE(plain.taints.empty());
    EXPECT_EQ(json::parse(clear.status)["status"]["conditions"].size(), 1U);
    EXPECT_TRUE(clear_node(node).empty());
}

}  // namespace
}  // namespace aliquot::node
