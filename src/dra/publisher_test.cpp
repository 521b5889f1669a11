// SPDX-License-Identifier: Apache-2.0
#include "dra/publisher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "dra/test_node.h"
#include "kube_client/stub_api.h"

namespace aliquot::dra {
namespace {

using Json = nlohmann::json;
constexpr char kSlices[] = "/apis/resource.k8s.io/v1/resourceslices";

class DraPublisher : public ::testing::Test {
protected:
    void SetUp() override { api.put("/api/v1/nodes", {"", "node-1"}, "{}"); }

    static std::vector<Device> devices(Mode mode, bool healthy = true) {
        gpu::Inventory inventory = test_inventory(2);
        if (!healthy) inventory.gpus[0].health = {.state = gpu::Health::State::kUnhealthy};
        return devices_of(inventory, {}, {}, mode);
    }
    std::vector<Json> stored() const {
        std::vector<Json> slices;
        for (const auto& [key, version] : api.versions(kSlices)) {
            slices.push_back(Json::parse(*api.json(kSlices, key)));
        }
        return slices;
    }
    /// As an API server without this gate.
    void drop(const std::string& field) {
        api.before = [field](const kube_client::Request& request)
            -> std::optional<kube_client::Outcome<kube_client::Reply>> {
            if (request.method != "POST" && request.method != "PUT") return std::nullopt;
            auto& body = const_cast<kube_client::Request&>(request).body;
            Json object = Json::parse(body);
            for (Json& device : object["spec"]["devices"]) device.erase(field);
            body = object.dump();
            if (request.path.find("dryRun") == std::string::npos) return std::nullopt;
            object["metadata"]["name"] = "x";
            object["metadata"]["uid"] = "y";
            return kube_client::Reply{.status = 201, .body = object.dump()};
        };
    }
    template <class Condition>
    static bool wait(const Condition& condition) {
        for (int i = 0; i < 1000; ++i) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    kube_client::StubApi api;
};

TEST_F(DraPublisher, WritesWhatIsNewAndNothingElse) {
    const auto first = publish_slices(api, "node-1", devices(Mode::kConsumable));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->writes, 1U);
    ASSERT_EQ(stored().size(), 1U);
    const Json slice = stored()[0];
    EXPECT_EQ(slice["spec"]["driver"], "gpu.aliquot.dev");
    EXPECT_EQ(slice["spec"]["nodeName"], "node-1");
    EXPECT_EQ(slice["spec"]["pool"]["resourceSliceCount"], 1);
    EXPECT_EQ(slice["metadata"]["ownerReferences"][0]["kind"], "Node");
    EXPECT_EQ(slice["spec"]["devices"][0]["allowMultipleAllocations"], true);
    EXPECT_EQ(publish_slices(api, "node-1", devices(Mode::kConsumable))->writes, 0U);
    EXPECT_EQ(publish_slices(api, "node-1", devices(Mode::kWhole))->writes, 1U);
    EXPECT_EQ(publish_slices(api, "node-1", std::nullopt)->writes, 1U);
    EXPECT_TRUE(stored().empty());
}

TEST_F(DraPublisher, LeavesTheSlicesOfOthers) {
    api.put(kSlices, {"", "theirs"}, R"({"spec":{"driver":"other.example","nodeName":"node-1"}})");
    api.put(kSlices, {"", "far"}, R"({"spec":{"driver":"gpu.aliquot.dev","nodeName":"node-2"}})");
    ASSERT_TRUE(publish_slices(api, "node-1", devices(Mode::kWhole)));
    ASSERT_TRUE(publish_slices(api, "node-1", std::nullopt));
    EXPECT_EQ(stored().size(), 2U);
}

TEST_F(DraPublisher, AsksWhetherSharesAreKept) {
    drop("nothing");
    EXPECT_TRUE(*keeps(api, "node-1", Feature::kConsumable));
    drop("allowMultipleAllocations");
    EXPECT_FALSE(*keeps(api, "node-1", Feature::kConsumable));
    EXPECT_TRUE(stored().empty()) << "a dry run";
}

TEST_F(DraPublisher, PublishesNothingThatWouldBeGivenWhole) {
    drop("allowMultipleAllocations");
    Publisher publisher(api, "node-1");
    publisher.set(devices(Mode::kConsumable));
    ASSERT_TRUE(wait([&] { return publisher.status().current; }));
    EXPECT_TRUE(stored().empty());
    EXPECT_EQ(publisher.status().problem,
              "the API server dropped allowMultipleAllocations of gpu-0000-65-00-0 (feature gate "
              "DRAConsumableCapacity); GPUs are not published: switch the gate on, or "
              "serve --dra=fixed");
    publisher.set(devices(Mode::kWhole));
    ASSERT_TRUE(wait([&] { return stored().size() == 1; }));
    ASSERT_TRUE(wait([&] { return publisher.status().problem.empty(); }));
}

TEST_F(DraPublisher, HidesUnhealthyDevicesWhereTaintsAreDropped) {
    drop("taints");
    Publisher publisher(api, "node-1");
    publisher.set(devices(Mode::kWhole, false));
    ASSERT_TRUE(
        wait([&] { return publisher.status().current && publisher.status().devices == 1; }));
    EXPECT_EQ(stored()[0]["spec"]["devices"].size(), 1U);
    EXPECT_EQ(stored()[0]["spec"]["devices"][0]["name"], "gpu-0000-66-00-0");
}

TEST_F(DraPublisher, WritesAgainWhatKubeletRemoves) {
    Publisher publisher(api, "node-1", {.settle = std::chrono::milliseconds(50)});
    publisher.set(devices(Mode::kWhole));
    ASSERT_TRUE(wait([&] { return publisher.status().current && stored().size() == 1; }));
    // It has looked at what it wrote itself, and rests.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (const auto& [key, version] : api.versions(kSlices)) api.erase(kSlices, key);
    EXPECT_TRUE(wait([&] { return stored().size() == 1; }));
}

// No event tells of what is gone before the first list of what is there.
TEST_F(DraPublisher, WritesAgainWhatIsRemovedBeforeItFollows) {
    std::atomic<bool> slow = true;
    api.before = [&](const kube_client::Request& request)
        -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        const bool follows = request.accept.contains("PartialObjectMetadata");
        while (follows && slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return std::nullopt;
    };
    Publisher publisher(api, "node-1", {.settle = std::chrono::milliseconds(300)});
    publisher.set(devices(Mode::kWhole));
    ASSERT_TRUE(wait([&] { return publisher.status().current && stored().size() == 1; }));
    for (const auto& [key, version] : api.versions(kSlices)) api.erase(kSlices, key);
    slow = false;
    EXPECT_TRUE(wait([&] { return stored().size() == 1; }));
}

TEST_F(DraPublisher, GoesOnWhenTheApiServerComesBack) {
    std::atomic<bool> away = true;
    api.before = [&](const kube_client::Request&)
        -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        if (!away) return std::nullopt;
        return kube_client::Failure{.reason = kube_client::Reason::kForbidden,
                                    .message = "not today"};
    };
    Publisher publisher(api, "node-1");
    publisher.set(devices(Mode::kWhole));
    ASSERT_TRUE(wait([&] { return publisher.status().problem == "not today"; }));
    away = false;
    EXPECT_TRUE(wait([&] { return publisher.status().problem.empty() && stored().size() == 1; }));
}

}  // namespace
}  // namespace aliquot::dra
