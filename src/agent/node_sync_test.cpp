// SPDX-License-Identifier: Apache-2.0
#include "agent/node_sync.h"

#include <gmock/gmock.h>

#include "kube_client/object.h"
#include "kube_client/stub_api.h"
#include "node/names.h"

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr char kNodes[] = "/api/v1/nodes";
constexpr char kMaps[] = "/api/v1/configmaps";
constexpr auto kSoon = 20s;

class ANodeSync : public testing::Test {
protected:
    ANodeSync() { put_node(R"("labels":{"role":"gpu"})"); }

    void put_node(const std::string& metadata) {
        api.put(kNodes, {"", "gpu-1"}, R"({"metadata":{"name":"gpu-1",)" + metadata + "}}");
    }
    void put_config(const std::string& data) {
        api.put(kMaps, {"aliquot-system", "aliquot-config"}, R"({"data":)" + data + "}");
    }
    std::string node() const { return api.json(kNodes, {"", "gpu-1"}).value_or(""); }
    std::string at(const std::string& pointer) const {
        return kube_client::string_at(node(), pointer).value_or("");
    }
    static NodeFacts told() {
        NodeFacts told{.labels = {{"nvidia.com/gpu.count", "1"}}};
        told.inventory.gpus.resize(1);
        told.inventory.gpus[0].uuid = {"GPU-0"};
        told.inventory.gpus[0].model = "NVIDIA A2";
        return told;
    }
    template <class Condition>
    static bool soon(const Condition& condition) {
        const auto limit = std::chrono::steady_clock::now() + kSoon;
        while (std::chrono::steady_clock::now() < limit) {
            if (condition()) return true;
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }

    kube_client::StubApi api;
    os::SystemClock clock;
    ClusterOptions options;
};

TEST_F(ANodeSync, WritesLabelsAnnotationsAndTaints) {
    options.node_taint = k8s::Taint{"nvidia.com/gpu", "true", "NoSchedule"};
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    link.tell(told());
    link.tell_config({});
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_EQ(at("/metadata/labels/nvidia.com~1gpu.count"), "1");
    EXPECT_EQ(at("/metadata/labels/role"), "gpu");
    EXPECT_EQ(at("/metadata/annotations/aliquot.dev~1owned-labels"),
              "aliquot.dev/config.state,nvidia.com/gpu.count");
    EXPECT_EQ(at("/metadata/labels/aliquot.dev~1config.state"), "served");
    EXPECT_THAT(at("/metadata/annotations/aliquot.dev~1gpus"), HasSubstr("NVIDIA A2"));
    EXPECT_EQ(at("/spec/taints/0/key"), "nvidia.com/gpu");
    EXPECT_THAT(node(), HasSubstr("GpuHealthy"));
}

TEST_F(ANodeSync, KeepsOneConditionWhenItWritesAnother) {
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    link.tell(told());
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_THAT(node(), HasSubstr("GpuHealthy"));
    link.tell_config({});
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_THAT(node(), HasSubstr("GpuHealthy"));
    EXPECT_THAT(node(), HasSubstr("GpuConfigServed"));
}

TEST_F(ANodeSync, FollowsTheNodesLabelAndTheConfigMap) {
    put_config(R"({"default":"d1","a2":"two"})");
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    const auto first = link.requests().config();
    EXPECT_EQ(first.choice.text, "d1");
    EXPECT_EQ(first.name, "aliquot-config/default");
    EXPECT_GT(first.version, 0U);
    put_node(R"("labels":{"nvidia.com/device-plugin.config":"a2"})");
    ASSERT_TRUE(soon([&] { return link.requests().config().choice.text == "two"; }));
    EXPECT_GT(link.requests().config().version, first.version);
    put_config(R"({"default":"d1","a2":"three"})");
    ASSERT_TRUE(soon([&] { return link.requests().config().choice.text == "three"; }));
    put_config(R"({"default":"d1"})");
    ASSERT_TRUE(soon([&] { return !link.requests().config().choice.problem.empty(); }));
    EXPECT_THAT(link.requests().config().choice.problem,
                HasSubstr("does not have (it has default)"));
}

TEST_F(ANodeSync, SaysThatTheServerDoesNotAnswer) {
    api.before =
        [](const kube_client::Request&) -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        return kube_client::Failure{.reason = kube_client::Reason::kForbidden,
                                    .http_status = 403,
                                    .message = "list: forbidden for us"};
    };
    NodeSync link(api, clock, "gpu-1", options);
    link.start(300ms, {});
    EXPECT_EQ(link.requests().config().version, 0U);
    EXPECT_THAT(link.requests().config().choice.problem, HasSubstr("forbidden for us"));
}

TEST_F(ANodeSync, LearnsWhatIsAskedWhenTheServerAnswersAtLast) {
    // No ConfigMap: a list without an object calls no handler.
    std::atomic<bool> away = true;
    api.before = [&](const kube_client::Request&)
        -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        if (!away) return std::nullopt;
        return kube_client::Reply{.status = 503, .body = "away"};
    };
    NodeSync link(api, clock, "gpu-1", options);
    link.start(100ms, {});
    EXPECT_EQ(link.requests().config().version, 0U);
    away = false;
    EXPECT_TRUE(soon([&] { return link.requests().config().version > 0; }));
    EXPECT_EQ(link.requests().config().choice, node::ConfigChoice{});
}

TEST_F(ANodeSync, TellsOfAConfigurationThatIsRefused) {
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    link.tell(told());
    link.tell_config({.source = node::ConfigChoice::Source::kLabel, .key = "a2"});
    link.tell_config({.source = node::ConfigChoice::Source::kLabel,
                      .key = "a3",
                      .served = false,
                      .problem = "there is no a3"});
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_THAT(at("/metadata/annotations/aliquot.dev~1config"), HasSubstr(R"("state":"refused")"));
    EXPECT_TRUE(soon([&] {
        for (const auto& [key, version] : api.versions("/apis/events.k8s.io/v1/events")) {
            const auto event = api.json("/apis/events.k8s.io/v1/events", key).value_or("");
            if (kube_client::string_at(event, "/reason") == "GpuConfigRefused") return true;
        }
        return false;
    }));
}

TEST_F(ANodeSync, LeavesANodeWithoutGpusAlone) {
    const std::string before = node();
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    link.tell({.driver_problem = "libnvidia-ml.so.1: not found"});
    link.tell_config({});
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_EQ(node(), before);
}

TEST_F(ANodeSync, KeepsWhatItToldWhenTheDriverIsGoneAndClearsItWhenTheGpusAre) {
    options.unhealthy_taint = node::TaintPolicy::kAll;
    {
        NodeSync link(api, clock, "gpu-1", options);
        link.start(kSoon, {});
        link.tell(told());
        ASSERT_TRUE(link.flush(kSoon));
    }
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    link.tell({.driver_problem = "Driver Not Loaded"});
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_EQ(at("/metadata/labels/nvidia.com~1gpu.count"), "1");
    EXPECT_EQ(at("/spec/taints/0/key"), node::kUnhealthyTaint);
    link.tell({});
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_EQ(at("/metadata/labels/nvidia.com~1gpu.count"), "");
    EXPECT_EQ(at("/metadata/labels/role"), "gpu");
    EXPECT_EQ(at("/spec/taints/0/key"), "");
    EXPECT_EQ(at("/metadata/annotations/aliquot.dev~1gpus"), "");
}

TEST_F(ANodeSync, TellsNodeFeatureDiscoveryInsteadWhenAsked) {
    options.labels = ClusterOptions::Labels::kNodeFeature;
    std::string applied;
    api.before = [&](const kube_client::Request& request)
        -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        if (!request.path.starts_with("/apis/nfd.k8s-sigs.io/")) return std::nullopt;
        applied = request.body;
        return kube_client::Reply{.status = 200, .body = request.body};
    };
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    link.tell(told());
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_EQ(kube_client::string_at(applied, "/spec/labels/nvidia.com~1gpu.count"), "1");
    EXPECT_EQ(kube_client::string_at(applied, "/metadata/labels/nfd.node.kubernetes.io~1node-name"),
              "gpu-1");
    EXPECT_EQ(at("/metadata/labels/nvidia.com~1gpu.count"), "");
}

TEST_F(ANodeSync, TriesAgainWhenAWriteFails) {
    unsigned failures = 2;
    api.before = [&](const kube_client::Request& request)
        -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        if (request.method != "PATCH" || failures == 0) return std::nullopt;
        --failures;
        return kube_client::Failure{.reason = kube_client::Reason::kConflict,
                                    .http_status = 409,
                                    .message = "somebody was faster"};
    };
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    link.tell(told());
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_EQ(at("/metadata/labels/nvidia.com~1gpu.count"), "1");
}

TEST_F(ANodeSync, PassesOnWhatMigIsAskedFor) {
    options.mig = true;
    api.put(kMaps, {"aliquot-system", "aliquot-mig-config"}, R"({"data":{"config.yaml":"text"}})");
    NodeSync link(api, clock, "gpu-1", options);
    link.start(kSoon, {});
    EXPECT_EQ(link.requests().mig_spec().config, "");
    put_node(R"("labels":{"nvidia.com/mig.config":"all-1g.5gb"})");
    const auto asked = link.requests().wait_mig_spec(link.requests().mig_spec().version, kSoon, {});
    EXPECT_EQ(asked.config, "all-1g.5gb");
    link.tell(told());
    link.tell_mig({.state = node::MigStatus::State::kFailed,
                   .config = "all-1g.5gb",
                   .problem = "no GPU of this node has MIG"});
    ASSERT_TRUE(link.flush(kSoon));
    EXPECT_EQ(at("/metadata/labels/nvidia.com~1mig.config.state"), "failed");
    EXPECT_EQ(at("/metadata/annotations/aliquot.dev~1mig.config.problem"),
              "no GPU of this node has MIG");
}

TEST(AGuardEvent, HasAReasonInOneWord) {
    EXPECT_EQ(guard_reason(GuardEvent::Kind::kOverLimit), "GuardOverLimit");
    EXPECT_EQ(guard_reason(GuardEvent::Kind::kKilled), "GuardKilled");
}

}  // namespace
}  // namespace aliquot::agent
