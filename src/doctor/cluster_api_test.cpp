// SPDX-License-Identifier: Apache-2.0
#include "doctor/cluster_api.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "doctor/fit.h"
#include "doctor/judge.h"
#include "kube_client/stub_api.h"

namespace aliquot::doctor {
namespace {

using kube_client::Outcome;
using kube_client::Reply;
using kube_client::Request;

constexpr const char* kTaint = R"("spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]})";

std::string node_with(const std::string& spec, unsigned gpus) {
    const std::string list =
        R"({"cpu":"8","pods":"110")" +
        (gpus == 0 ? "" : R"(,"nvidia.com/gpu":")" + std::to_string(gpus) + "\"") + "}";
    return spec + ",\"status\":{\"capacity\":" + list + ",\"allocatable\":" + list +
           ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}";
}

std::string pod_with(const std::string& node, const std::string& phase) {
    return "\"spec\":{" + (node.empty() ? "" : "\"nodeName\":\"" + node + "\",") +
           R"("containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)"
           R"("status":{"phase":")" +
           phase + "\"}";
}

/// A server that has the kinds that we ask for; those of discovery are not there.
class Server {
public:
    Server() {
        api.before = [this](const Request& request) -> std::optional<Outcome<Reply>> {
            asked.push_back(request.path);
            const std::string path = request.path.substr(0, request.path.find('?'));
            if (path == forbidden) {
                return Reply{403, R"({"kind":"Status","reason":"Forbidden","message":"no"})"};
            }
            if (path == "/api" || path == "/apis") return Reply{200, "{}"};
            if (path.ends_with("/log")) return Reply{200, "a line\n"};
            return std::nullopt;
        };
    }
    Facts judge_pod(const std::string& name) {
        Tree tree;
        const auto notes = gather_cluster(api, {.pod_namespace = "ml", .pod = name}, tree);
        EXPECT_TRUE(notes) << notes.failure().message;
        return facts_of(std::move(tree), {Target::Kind::kPod, "ml/" + name});
    }
    kube_client::StubApi api;
    std::string forbidden;
    std::vector<std::string> asked;
};

void put(Server& server, const std::string& collection, const kube_client::ObjectKey& key,
         const std::string& fields) {
    const std::string kind = collection.ends_with("/nodes") ? "Node" : "Pod";
    server.api.put(collection, key, R"({"apiVersion":"v1","kind":")" + kind + "\"," + fields + "}");
}

TEST(ClusterByApi, SaysWhichNodeIsNearestAndWhatItLacks) {
    Server server;
    put(server, "/api/v1/nodes", {"", "far"}, node_with(kTaint, 0));
    put(server, "/api/v1/nodes", {"", "near"}, node_with(kTaint, 2));
    put(server, "/api/v1/pods", {"ml", "waits"}, pod_with("", "Pending"));
    const Facts facts = server.judge_pod("waits");
    const Report report = judge(facts);
    EXPECT_EQ(report.root_causes, std::vector<std::string>{"SCH006"});
    const Judged* const why = report.find("SCH006");
    ASSERT_NE(why, nullptr);
    EXPECT_EQ(why->verdict.message,
              "Pod ml/waits: nearest of 2 nodes is near; only one thing is missing: taint "
              "gpu:NoSchedule is not tolerated.");
    ASSERT_EQ(why->verdict.evidence.size(), 2U);
    EXPECT_NE(why->verdict.evidence[1].value.find("far: taint gpu:NoSchedule is not tolerated; "
                                                  "nvidia.com/gpu: 1 asked, the node has 0"),
              std::string::npos)
        << why->verdict.evidence[1].value;
}

TEST(ClusterByApi, SaysWhoHoldsTheGpus) {
    Server server;
    const std::string plain = R"("spec":{})";
    put(server, "/api/v1/nodes", {"", "one"}, node_with(plain, 1));
    put(server, "/api/v1/pods", {"ml", "waits"}, pod_with("", "Pending"));
    put(server, "/api/v1/pods", {"ai", "holder"}, pod_with("one", "Running"));
    const Report report = judge(server.judge_pod("waits"));
    const Judged* const why = report.find("SCH001");
    ASSERT_NE(why, nullptr);
    EXPECT_NE(why->verdict.message.find("held by ai/holder"), std::string::npos)
        << why->verdict.message;
}

TEST(ClusterByApi, GoesOnWithoutWhatItMayNotSee) {
    Server server;
    put(server, "/api/v1/nodes", {"", "one"}, node_with(R"("spec":{})", 1));
    server.forbidden = "/apis/apps/v1/daemonsets";
    Tree tree;
    const auto notes = gather_cluster(server.api, {}, tree);
    ASSERT_TRUE(notes) << notes.failure().message;
    const Facts facts = facts_of(std::move(tree), {Target::Kind::kCluster, ""});
    const Report report = judge(facts);
    const Judged* const plugin = report.find("DP001");
    ASSERT_NE(plugin, nullptr);
    EXPECT_EQ(plugin->verdict.outcome, doctor::Outcome::kUnknown);
    EXPECT_EQ(plugin->verdict.message,
              "DaemonSets were not read: a role must allow: list daemonsets.apps");
}

TEST(ClusterByApi, FindsTheDevicePluginOfAPodOfAnotherNamespace) {
    Server server;
    put(server, "/api/v1/nodes", {"", "one"}, node_with(R"("spec":{})", 0));
    put(server, "/api/v1/pods", {"ml", "waits"}, pod_with("", "Pending"));
    server.api.put("/apis/apps/v1/daemonsets", {"kube-system", "nvidia-device-plugin-daemonset"},
                   R"({"apiVersion":"apps/v1","kind":"DaemonSet","spec":{},"status":{}})");
    const Report report = judge(server.judge_pod("waits"));
    const Judged* const plugin = report.find("DP001");
    ASSERT_NE(plugin, nullptr);
    EXPECT_EQ(plugin->verdict.outcome, doctor::Outcome::kOk) << plugin->verdict.message;
}

TEST(ClusterByApi, AsksNoDevicePluginOfAClusterThatHasClaims) {
    Server server;
    put(server, "/api/v1/nodes", {"", "one"}, node_with(R"("spec":{})", 0));
    const auto judged = [&](const std::string& name) {
        Tree tree;
        EXPECT_TRUE(gather_cluster(server.api, {.pod_namespace = "ml", .pod = name}, tree));
        tree.add_text(
            "k8s/resourceslices.json",
            R"({"items":[{"kind":"ResourceSlice","metadata":{"name":"one-gpu"},"spec":{)"
            R"("driver":"gpu.aliquot.dev","nodeName":"one","devices":[{"name":"gpu-0"}]}}]})");
        return judge(facts_of(std::move(tree), {Target::Kind::kPod, "ml/" + name}));
    };
    put(server, "/api/v1/pods", {"ml", "by-claim"},
        R"("spec":{"containers":[{"name":"main","resources":{"claims":[{"name":"g"}]}}],)"
        R"("resourceClaims":[{"name":"g","resourceClaimName":"g"}]},"status":{"phase":"Pending"})");
    const Report report = judged("by-claim");
    ASSERT_NE(report.find("DP001"), nullptr);
    EXPECT_EQ(report.find("DP001")->verdict.outcome, doctor::Outcome::kOk);
    put(server, "/api/v1/pods", {"ml", "by-count"}, pod_with("", "Pending"));
    const Report other = judged("by-count");
    ASSERT_NE(other.find("DP001"), nullptr);
    EXPECT_EQ(other.find("DP001")->verdict.message,
              "Nothing offers nvidia.com/gpu: the GPUs of this cluster come by ResourceClaims "
              "(gpu.aliquot.dev).");
}

TEST(ClusterByApi, ReadsOnlyTheNamespaceOfAPodWhenItMustAndSaysSo) {
    Server server;
    put(server, "/api/v1/nodes", {"", "one"}, node_with(R"("spec":{})", 1));
    server.forbidden = "/api/v1/pods";
    Tree tree;
    const auto notes = gather_cluster(server.api, {.pod_namespace = "ml", .pod = "gone"}, tree);
    ASSERT_FALSE(notes);
    EXPECT_TRUE(notes.failure().is(kube_client::Reason::kNotFound)) << notes.failure().message;
    EXPECT_TRUE(std::ranges::any_of(server.asked, [](const std::string& path) {
        return path.starts_with("/api/v1/namespaces/ml/pods?");
    }));
}

TEST(ClusterByApi, GivesUpWhenNobodyAnswers) {
    Server server;
    server.api.before = [](const Request&) -> std::optional<Outcome<Reply>> {
        return Outcome<Reply>(kube_client::Failure{.reason = kube_client::Reason::kUnreachable,
                                                   .message = "no connection"});
    };
    Tree tree;
    const auto notes = gather_cluster(server.api, {}, tree);
    ASSERT_FALSE(notes);
    EXPECT_TRUE(notes.failure().is(kube_client::Reason::kUnreachable));
}

TEST(ClusterByApi, ReadsTheLogOfAPluginThatIsNotWell) {
    Server server;
    put(server, "/api/v1/nodes", {"", "one"}, node_with(R"("spec":{})", 1));
    const std::string status =
        R"("spec":{"nodeName":"one"},"status":{"phase":"Running","containerStatuses":[)"
        R"({"name":"agent","ready":false,"restartCount":3,"containerID":"containerd://1"}]})";
    put(server, "/api/v1/pods", {"aliquot-system", "aliquot-agent-x"}, status);
    Tree tree;
    ASSERT_TRUE(gather_cluster(server.api, {}, tree));
    EXPECT_TRUE(tree.has("logs/aliquot-system/aliquot-agent-x/agent.log"));
    EXPECT_TRUE(tree.has("logs/aliquot-system/aliquot-agent-x/agent.previous.log"));
}

}  // namespace
}  // namespace aliquot::doctor
