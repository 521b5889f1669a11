// SPDX-License-Identifier: Apache-2.0
#include "node/node_object.h"

#include <gmock/gmock.h>

#include "node/offer_text.h"

namespace aliquot::node {
namespace {

using testing::ElementsAre;

TEST(ANode, IsReadWithWhatWeChange) {
    const auto node = k8s::parse_node(
        R"({"kind":"Node","metadata":{"name":"gpu-1","uid":"u","resourceVersion":"7",
        "labels":{"a":"b"},"annotations":{"x":"y"}},
        "spec":{"taints":[{"key":"k","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}]},
        "status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}})");
    ASSERT_TRUE(node);
    EXPECT_EQ(node->name, "gpu-1");
    EXPECT_EQ(node->resource_version, "7");
    EXPECT_EQ(node->label("a"), "b");
    EXPECT_FALSE(node->label("c"));
    ASSERT_EQ(node->taints.size(), 1U);
    EXPECT_EQ(node->taints[0].time_added, "2026-01-01T00:00:00Z");
    ASSERT_NE(node->find("Ready"), nullptr);
    EXPECT_TRUE(node->find("Ready")->is_true());
}

TEST(ANode, OfAnyBytesIsRefusedOrRead) {
    for (const char* const text :
         {"", "[]", "{", "{}", R"({"metadata":7})", R"({"metadata":{"name":7}})"}) {
        EXPECT_FALSE(k8s::parse_node(text)) << text;
    }
    EXPECT_TRUE(k8s::parse_node(
        R"({"metadata":{"name":"n","labels":[1]},"spec":7,"status":{"conditions":{}}})"));
    EXPECT_TRUE(k8s::parse_node(R"({"metadata":{"name":"n"},"spec":{"taints":[7,{}]}})"));
}

TEST(AList, HasNoEmptyParts) {
    k8s::Node node;
    node.annotations = {{"some", " a, b,,c ,"}, {"none", ""}};
    EXPECT_THAT(owned_names(node, "some"), ElementsAre("a", "b", "c"));
    EXPECT_TRUE(owned_names(node, "none").empty());
    EXPECT_TRUE(owned_names(node, "other").empty());
}

sharing::OfferedGpu device(const char* model, std::uint64_t mib, unsigned replicas) {
    sharing::OfferedGpu one;
    one.gpu.model = model;
    one.gpu.memory_bytes = mib << 20U;
    one.replicas = replicas;
    return one;
}

TEST(Shares, AreCountedByKind) {
    sharing::Offer offer;
    sharing::Resource resource{.name = "nvidia.com/gpu", .shared = true};
    resource.gpus = {device("NVIDIA A2", 15'356, 4), device("NVIDIA A2", 15'356, 4),
                     device("NVIDIA T4", 15'360, 4)};
    resource.gpus[0].limits.memory_bytes = resource.gpus[1].limits.memory_bytes = 3839ULL << 20U;
    offer.resources = {resource};
    const auto told = share_statuses(offer);
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(grant::node_text(told[0].mechanism), "memory");
    EXPECT_EQ(told[0].devices, 8U);
    EXPECT_EQ(told[0].memory_mib, 3839U);
    EXPECT_EQ(grant::node_text(told[1].mechanism), "time-slicing");
    EXPECT_EQ(told[1].memory_mib, 15'360U);
    EXPECT_EQ(parse_share_statuses(to_json(told)), told);
    EXPECT_FALSE(parse_share_statuses("{}"));
    EXPECT_FALSE(parse_share_statuses("[7]"));
}

TEST(Gpus, AreToldAndReadAgain) {
    gpu::Inventory inventory;
    inventory.gpus.resize(2);
    inventory.gpus[0].uuid = {"GPU-0"};
    inventory.gpus[0].model = "NVIDIA A100-SXM4-40GB";
    inventory.gpus[0].mig_enabled = true;
    inventory.gpus[0].mig_devices.resize(1);
    inventory.gpus[0].mig_devices[0].profile = "1g.5gb";
    inventory.gpus[1].health = {.state = gpu::Health::State::kUnhealthy,
                                .reason = "Xid 79: GPU has fallen off the bus",
                                .advice = "restart the machine",
                                .since = gpu::Moment{} + std::chrono::seconds(1)};
    const auto told = gpu_statuses(inventory);
    EXPECT_THAT(told[0].mig_devices, ElementsAre("1g.5gb"));
    EXPECT_FALSE(told[1].healthy);
    EXPECT_EQ(told[1].since, "1970-01-01T00:00:01Z");
    EXPECT_EQ(parse_gpu_statuses(to_json(told)), told);
    EXPECT_FALSE(parse_gpu_statuses("7"));
}

}  // namespace
}  // namespace aliquot::node
