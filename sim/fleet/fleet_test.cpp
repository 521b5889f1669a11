// SPDX-License-Identifier: Apache-2.0
//
// Light nodes, and a small fleet behind a simulated API server.
#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "kube_client/connect.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"
#include "sim/fleet/kubelets.h"
#include "sim/fleet/scheduler.h"

namespace aliquot::sim::fleet {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using testing::HasSubstr;
namespace resources = kube_client::resources;

constexpr char kGpu[] = "nvidia.com/gpu";

NodeShape shared_a2() {
    NodeShape shape{.model = "a2", .gpus = 2};
    const auto read =
        sharing::read_config("config",
                             "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: "
                             "nvidia.com/gpu, replicas: 4}\n",
                             sharing::Compatibility::kStrict);
    EXPECT_TRUE(read.config);
    if (read.config) shape.sharing = *read.config;
    return shape;
}

LightNode light(const NodeShape& shape, const std::string& name = "n1") {
    auto node = LightNode::make(name, shape);
    EXPECT_TRUE(node) << node.error().message;
    return *std::move(node);
}

TEST(LightNode, GivesWhatWasPlanned) {
    LightNode node = light(shared_a2());
    const std::string second = node.inventory().gpus[1].uuid.text;
    for (const char* const uid : {"u1", "u2", "u3"}) {
        node.plan(uid, "2026-01-01T00:00:00Z",
                  {.asked = {{"main", kGpu, 1}},
                   .targets = {{.node = "n1", .units = {{kGpu, {{second, 1}}}}}}});
        ASSERT_TRUE(node.admit(uid, {{"main", kGpu, 1}}));
        EXPECT_EQ(node.granted().at(uid).at(kGpu), (std::map<std::string, unsigned>{{second, 1}}));
    }
}

TEST(LightNode, NeverGivesADeviceTwiceAndRefusesAsKubeletDoes) {
    LightNode node = light(shared_a2());
    for (unsigned i = 0; i < 8; ++i)
        ASSERT_TRUE(node.admit("u" + std::to_string(i), {{"main", kGpu, 1}}));
    std::set<std::string> ids;
    for (const auto& [uid, resources] : node.held())
        ids.insert(resources.at(kGpu).begin(), resources.at(kGpu).end());
    EXPECT_EQ(ids.size(), 8U);
    const auto refused = node.admit("u9", {{"main", kGpu, 1}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("Requested: 1, Available: 0"));
    EXPECT_TRUE(node.release("u3"));
    EXPECT_TRUE(node.admit("u9", {{"main", kGpu, 1}}));
}

TEST(LightNode, AnIllGpuIsNeitherToldNorGiven) {
    LightNode node = light(shared_a2());
    node.set_health(0, false);
    EXPECT_EQ(Json::parse(node.status())["status"]["allocatable"][kGpu], "4");
    EXPECT_EQ(Json::parse(node.status())["status"]["capacity"][kGpu], "8");
    ASSERT_TRUE(node.admit("u1", {{"main", kGpu, 4}}));
    EXPECT_FALSE(node.admit("u2", {{"main", kGpu, 1}}));
}

TEST(LightNode, ReadsAsANodeThatOurAgentServes) {
    const LightNode node = light(shared_a2());
    Json object = Json::parse(node.object("z1"));
    object.merge_patch(Json::parse(node.told()));
    object.merge_patch(Json::parse(node.status()));
    const auto parsed = k8s::parse_node(object.dump());
    ASSERT_TRUE(parsed);
    const auto served = scheduling::read_served_node(*parsed);
    ASSERT_TRUE(served);
    ASSERT_EQ(served->gpus.size(), 2U);
    EXPECT_EQ(served->gpus[0].units.at(kGpu), 4U);
    EXPECT_TRUE(served->is_open);
    EXPECT_EQ(parsed->labels.at("nvidia.com/gpu.product"), "NVIDIA-A2-SHARED");
}

TEST(LightNode, UnknownModelsAreRefused) {
    EXPECT_FALSE(LightNode::make("n", {.model = "a3"}));
    EXPECT_FALSE(LightNode::make("n", {.model = "a2", .gpus = 17}));
}

class FleetTest : public testing::Test {
protected:
    void SetUp() override {
        auto started =
            ApiServer::start({.directory = directory_.path().native(), .collect_garbage = false});
        ASSERT_TRUE(started) << started.error().message;
        server_ = *std::move(started);
        auto connected = kube_client::connect(
            {.kubeconfig = server_->kubeconfig_file(), .burst = 10'000, .per_second = 100'000});
        ASSERT_TRUE(connected) << connected.error().message;
        connection_ = *std::move(connected);
    }
    kube_client::Api& api() { return *connection_.api; }
    void begin(unsigned nodes, const KubeletOptions& options = {.heartbeat = 0ms}) {
        kubelets_ = std::make_unique<Kubelets>(api(), options);
        for (unsigned i = 0; i < nodes; ++i)
            ASSERT_TRUE(kubelets_->add(light(shared_a2(), "n" + std::to_string(i)), ""));
        kubelets_->start();
        scheduler_ = std::make_unique<Scheduler>(api(), SchedulerOptions{});
        scheduler_->start();
    }
    void create(const std::string& name, unsigned units, const std::string& run_for = "") {
        Json pod{
            {"metadata", {{"name", name}}},
            {"spec",
             {{"containers",
               Json::array({{{"name", "main"},
                             {"image", "none.invalid/c:1"},
                             {"resources", {{"limits", {{kGpu, std::to_string(units)}}}}}}})}}}};
        if (!run_for.empty()) pod["metadata"]["annotations"][kRunForAnnotation] = run_for;
        ASSERT_TRUE(api().create(resources::pods(), "default", pod.dump()));
    }
    std::string at(const std::string& pod, const std::string& pointer) {
        const auto found = api().get(resources::pods(), {"default", pod});
        return found ? kube_client::string_at(found->json, pointer).value_or("") : "gone";
    }
    std::string phase(const std::string& pod) { return at(pod, "/status/phase"); }
    template <class Holds>
    static bool soon(const Holds& holds) {
        const auto limit = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < limit) {
            if (holds()) return true;
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }

    const os::TemporaryDirectory directory_;
    std::unique_ptr<ApiServer> server_;
    kube_client::Connection connection_;
    std::unique_ptr<Kubelets> kubelets_;
    std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(FleetTest, PodsAreBoundAndRunAndFreeWhatTheyHadAtTheirEnd) {
    begin(2);
    for (unsigned i = 0; i < 16; ++i) create("p" + std::to_string(i), 1);
    for (unsigned i = 0; i < 16; ++i) {
        const std::string name = "p" + std::to_string(i);
        ASSERT_TRUE(soon([&] { return phase(name) == "Running"; })) << name << phase(name);
    }
    create("late", 1);
    ASSERT_TRUE(soon([&] {
        return at("late", "/status/conditions/0/message").contains("2 Insufficient nvidia.com/gpu");
    })) << at("late", "/status/conditions/0/message");
    ASSERT_TRUE(api().remove(resources::pods(), {"default", "p3"}));
    EXPECT_TRUE(soon([&] { return phase("late") == "Running"; }));
    EXPECT_EQ(phase("p3"), "gone");
}

TEST_F(FleetTest, APodThatSaysHowLongItRunsEndsWithSuccess) {
    begin(1);
    create("short", 8, "100ms");
    ASSERT_TRUE(soon([&] { return phase("short") == "Succeeded"; })) << phase("short");
    create("next", 8);
    EXPECT_TRUE(soon([&] { return phase("next") == "Running"; }));
}

TEST_F(FleetTest, ALostNodeLosesItsPodsAndComesBack) {
    begin(1, {.heartbeat = 0ms, .evict_after = 0ms});
    create("p1", 8);
    ASSERT_TRUE(soon([&] { return phase("p1") == "Running"; }));
    kubelets_->lose("n0");
    ASSERT_TRUE(soon([&] { return !at("p1", "/metadata/deletionTimestamp").empty(); }));
    create("p2", 8);
    ASSERT_TRUE(soon([&] { return !at("p2", "/status/conditions/0/message").empty(); }));
    EXPECT_EQ(at("p2", "/spec/nodeName"), "");
    EXPECT_NE(phase("p1"), "gone");
    kubelets_->bring_back("n0");
    EXPECT_TRUE(soon([&] { return phase("p1") == "gone" && phase("p2") == "Running"; }));
}

TEST_F(FleetTest, AKubeletSaysAgainWhatALateRequestOverwrote) {
    begin(1, {.heartbeat = 0ms, .look_again = 50ms});
    const auto allocatable = [&] {
        const auto node = api().get(resources::nodes(), {"", "n0"});
        return node ? kube_client::string_at(node->json, "/status/allocatable/nvidia.com~1gpu")
                    : std::nullopt;
    };
    ASSERT_TRUE(soon([&] { return allocatable() == "8"; }));
    const char* const late = R"({"status":{"allocatable":{"nvidia.com/gpu":"3"}}})";
    ASSERT_TRUE(
        api().patch(resources::nodes(), {"", "n0"}, late, {.write = {.subresource = "status"}}));
    EXPECT_TRUE(soon([&] { return allocatable() == "8"; }));
}

TEST_F(FleetTest, WithoutAnAgentNoDeviceIsAllocatable) {
    begin(1);
    kubelets_->stop_agent("n0");
    ASSERT_TRUE(soon([&] {
        const auto node = api().get(resources::nodes(), {"", "n0"});
        return node &&
               kube_client::string_at(node->json, "/status/allocatable/nvidia.com~1gpu") == "0";
    }));
    create("p1", 1);
    ASSERT_TRUE(soon([&] { return !at("p1", "/status/conditions/0/message").empty(); }));
    kubelets_->start_agent("n0");
    EXPECT_TRUE(soon([&] { return phase("p1") == "Running"; }));
}

TEST_F(FleetTest, NodesRenewTheirLeases) {
    begin(2, {.heartbeat = 20ms});
    const auto renewed = [&] {
        const auto lease = api().get(resources::leases(), {"kube-node-lease", "n1"});
        return lease ? kube_client::string_at(lease->json, "/spec/renewTime").value_or("") : "";
    };
    ASSERT_TRUE(soon([&] { return !renewed().empty(); }));
    const std::string first = renewed();
    EXPECT_TRUE(soon([&] { return renewed() != first; }));
}

}  // namespace
}  // namespace aliquot::sim::fleet
