// SPDX-License-Identifier: Apache-2.0
// Each case of src/claims/cases: slices, classes, nodes and claims; behind the line "# gives" who gets what, or
// why not. Claims are allocated one after another, on the first node that has room.
#include "claims/allocate.h"

#include <gtest/gtest.h>

#include "document/json.h"
#include "document/path.h"
#include "document/yaml.h"
#include "tests/case_files.h"

namespace aliquot::claims {
namespace {

constexpr std::string_view kMark = "\n# gives\n";

struct World {
    Cluster cluster;
    std::vector<NodeView> nodes;
    std::vector<Claim> waiting;
};

World read_world(std::string_view text) {
    World world;
    const auto stream = document::parse_yaml(text);
    EXPECT_TRUE(stream.errors.empty()) << stream.errors.front().message;
    for (const document::Value& one : stream.documents) {
        const std::string kind = document::text_at(one, "kind");
        if (kind == "ResourceSlice") world.cluster.slices.push_back(read_slice(one));
        if (kind == "DeviceClass") {
            DeviceClass made = read_class(one);
            world.cluster.classes.emplace(made.name, std::move(made));
        }
        if (kind == "Node") {
            world.nodes.push_back({document::text_at(one, "metadata.name"),
                                   k8s::read_labels(document::at_path(one, "metadata.labels"))});
        }
        if (kind == "ResourceClaim") {
            Claim claim = read_claim(one);
            auto& list = claim.allocation ? world.cluster.claims : world.waiting;
            list.push_back(std::move(claim));
        }
    }
    return world;
}

std::string text_of(const Allocation& allocation) {
    std::string text;
    for (const Allocated& one : allocation.devices) {
        text += "#   " + one.request + ": " + to_text(one.device) + (one.admin ? " admin" : "");
        if (!one.share.empty()) text += " share " + one.share;
        for (const auto& [name, amount] : one.consumed)
            text += " " + name + "=" + amount.canonical();
        text += "\n";
    }
    for (const auto& [source, one] : allocation.configurations) {
        text += "#   " + source + ": " + document::to_json_line(one.opaque) + "\n";
    }
    return text;
}

std::string text_of(const std::vector<Refusal>& refusals) {
    std::string text;
    for (const Refusal& one : refusals) {
        text += "#   " + one.request + " " +
                (one.device.device.empty() ? "-" : to_text(one.device)) + ": " + one.reason + "\n";
    }
    return text;
}

std::string outcome_of(std::string_view given) {
    World world = read_world(given);
    int shares = 0;
    std::string text;
    for (Claim& claim : world.waiting) {
        text += "# " + claim.full_name() + ":";
        for (const NodeView& node : world.nodes) {
            Answer answer =
                allocate(world.cluster, node, {claim}, [&] { return std::to_string(++shares); });
            if (answer.allocations.empty()) {
                text += " not on " + node.name + ": " + answer.failure + "\n";
                text += text_of(answer.refusals);
                continue;
            }
            claim.allocation = std::move(answer.allocations.front());
            text +=
                " " + node.name + (claim.allocation->node_name.empty() ? " and everywhere" : "");
            text += "\n" + text_of(*claim.allocation);
            break;
        }
        if (claim.allocation) world.cluster.claims.push_back(claim);
    }
    return text;
}

class AllocateCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(AllocateCase, GivesWhatTheFileSays) {
    const std::string file = cases::read(GetParam());
    const auto mark = file.find(kMark);
    ASSERT_NE(mark, std::string::npos);
    const std::string given = file.substr(0, mark);
    const std::string gives = outcome_of(given);
    if (cases::rewrites(GetParam(), given + std::string(kMark) + gives)) return;
    EXPECT_EQ(gives, file.substr(mark + kMark.size()));
}

INSTANTIATE_TEST_SUITE_P(Claims, AllocateCase,
                         testing::ValuesIn(cases::files({"src/claims/cases"}, ".yaml")),
                         [](const auto& one) { return cases::name(one.param); });

TEST(Allocation, IsReadBackAsItIsWritten) {
    Allocation allocation;
    allocation.devices.push_back({.request = "gpu",
                                  .device = {"gpu.example.com", "n1", "gpu-0"},
                                  .share = "s",
                                  .consumed = {{"memory", *Quantity::parse("3Gi")}}});
    allocation.configurations.push_back({"FromClass", {{"gpu"}, document::Value{}}});
    allocation.node_name = "n1";
    document::Value object;
    object.kind = document::Value::Kind::kMapping;
    const auto text =
        "{\"status\":{\"allocation\":" + document::to_json_line(write_allocation(allocation)) +
        "}}";
    const auto parsed = document::parse_json(text);
    ASSERT_TRUE(parsed);
    const Claim read = read_claim(*parsed);
    ASSERT_TRUE(read.allocation);
    EXPECT_EQ(read.allocation->node_name, "n1");
    ASSERT_EQ(read.allocation->devices.size(), 1U);
    EXPECT_EQ(read.allocation->devices[0].share, "s");
    EXPECT_EQ(read.allocation->devices[0].consumed.at("memory").canonical(), "3Gi");
    EXPECT_EQ(read.allocation->configurations[0].first, "FromClass");
}

/// 128 equal devices and a claim for two that must be alike: no pair is, and the search ends.
TEST(Allocate, EndsWhereCombinationsDoNot) {
    Cluster cluster;
    Slice slice{.name = "s", .driver = "d", .pool = "p", .slices = 1, .reach = {.node_name = "n"}};
    for (int i = 0; i < 128; ++i) {
        Device device{.name = "gpu-" + std::to_string(i)};
        device.attributes.emplace("d/index", cel::Value(std::int64_t{i}));
        slice.devices.push_back(std::move(device));
    }
    cluster.slices.push_back(std::move(slice));
    cluster.classes.emplace("c", DeviceClass{.name = "c"});
    Claim claim{.name_space = "default", .name = "many"};
    for (int i = 0; i < 8; ++i) {
        claim.requests.push_back(
            {"r" + std::to_string(i), {SubRequest{.device_class = "c", .count = 4}}});
    }
    claim.requests.push_back(
        {"last", {SubRequest{.device_class = "c", .selectors = {Selector("false")}}}});
    const Answer answer = allocate(cluster, {"n", {}}, {claim}, [] { return std::string(); });
    EXPECT_TRUE(answer.allocations.empty());
    EXPECT_NE(answer.failure.find("200000"), std::string::npos) << answer.failure;
}

TEST(ExtendedResource, IsServedByTheYoungestClass) {
    std::map<std::string, DeviceClass> classes;
    classes["a"] = {
        .name = "a", .extended_resource = "nvidia.com/gpu", .created = "2026-01-01T00:00:00Z"};
    classes["b"] = {
        .name = "b", .extended_resource = "nvidia.com/gpu", .created = "2026-02-01T00:00:00Z"};
    classes["c"] = {
        .name = "c", .extended_resource = "nvidia.com/gpu", .created = "2026-02-01T00:00:00Z"};
    EXPECT_EQ(class_of_extended_resource(classes, "nvidia.com/gpu")->name, "b");
    EXPECT_EQ(class_of_extended_resource(classes, "deviceclass.resource.kubernetes.io/a")->name,
              "a");
    EXPECT_EQ(class_of_extended_resource(classes, "nvidia.com/mig"), nullptr);
}

}  // namespace
}  // namespace aliquot::claims
