// SPDX-License-Identifier: Apache-2.0
// What a token of the agent can do with the admission policies installed. Only a real API server obeys them:
// ALIQUOT_TEST_KUBECONFIG.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "tests/contract/install_world.h"

namespace aliquot::install {
namespace {

using Json = nlohmann::json;
using kube_client::Reason;
using kube_client::resources::nodes;
using kube_client::resources::pods;

class InstallPolicy : public InstallContract {};

std::string agent_pod(const std::string& name, const std::string& node) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"("},"spec":{"serviceAccountName":"aliquot-agent","nodeName":")" + node +
           R"(","containers":[{"name":"agent","image":"none.invalid/a:1"}]}})";
}

TEST_P(InstallPolicy, AnAgentChangesItsOwnNodeOnly) {
    if (!real()) GTEST_SKIP() << "the simulated server does not obey admission policies";
    install();
    make(nodes(), "", node_json("node-a"));
    make(nodes(), "", node_json("node-b"));
    const auto pod = make(pods(), kSpace, agent_pod("agent-a", "node-a"));
    ASSERT_TRUE(pod);
    const auto agent = with_token(token_of("aliquot-agent", &*pod));
    const std::string label = R"({"metadata":{"labels":{"nvidia.com/gpu.count":"1"}}})";
    // A new policy takes a moment until the server obeys it.
    kube_client::Outcome<kube_client::Object> other =
        agent.api->patch(nodes(), {"", "node-b"}, label);
    for (int i = 0; i < 100 && other; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        other = agent.api->patch(nodes(), {"", "node-b"},
                                 R"({"metadata":{"labels":{"x":")" + std::to_string(i) + R"("}}})");
    }
    ASSERT_FALSE(other) << "the policy was never obeyed";
    EXPECT_TRUE(other.failure().is(Reason::kForbidden)) << other.failure().message;
    EXPECT_TRUE(other.failure().message.contains("only the node it runs on, not node-b"))
        << other.failure().message;
    const auto own = agent.api->patch(nodes(), {"", "node-a"}, label);
    EXPECT_TRUE(own) << own.failure().message;
    const auto status = agent.api->patch(
        nodes(), {"", "node-a"},
        R"({"status":{"conditions":[{"type":"GpuHealthy","status":"True"}]}})",
        {.kind = kube_client::PatchKind::kStrategic, .write = {.subresource = "status"}});
    EXPECT_TRUE(status) << status.failure().message;
    const auto loose = with_token(token_of("aliquot-agent"));
    EXPECT_FALSE(loose.api->patch(nodes(), {"", "node-a"}, label));  // its token names no node
    // Others are not concerned.
    EXPECT_TRUE(api().patch(nodes(), {"", "node-b"}, label));
}

/// What a token of the agent that was stolen cannot do to the node it is of; and what the agent does itself.
TEST_P(InstallPolicy, AnAgentChangesOfItsNodeWhatIsItsOwnOnly) {
    if (!real()) GTEST_SKIP() << "the simulated server does not obey admission policies";
    install({.node_taint = "dedicated=gpu:NoSchedule"});
    make(nodes(), "", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a",
        "labels":{"team":"vision","nvidia.com/mig.config":"all-disabled"},"annotations":{"others.dev/a":"b"}},
        "spec":{"taints":[{"key":"theirs","value":"x","effect":"NoSchedule"}]}})");
    const auto pod = make(pods(), kSpace, agent_pod("agent-a", "node-a"));
    ASSERT_TRUE(pod);
    const auto agent = with_token(token_of("aliquot-agent", &*pod));
    const kube_client::PatchOptions merge;
    const kube_client::PatchOptions status{.kind = kube_client::PatchKind::kStrategic,
                                           .write = {.subresource = "status"}};
    const auto patch = [&](const std::string& body, const kube_client::PatchOptions& how) {
        return agent.api->patch(nodes(), {"", "node-a"}, body, how);
    };
    const std::string cordon = R"({"spec":{"unschedulable":true}})";
    for (int i = 0; i < 100 && patch(cordon, merge); ++i) {  // a new policy takes a moment
        (void)api().patch(nodes(), {"", "node-a"}, R"({"spec":{"unschedulable":null}})");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    // The server may have added one of its own. "[...]"
    const std::string theirs =
        *kube_client::json_at(api().get(nodes(), {"", "node-a"})->json, "/spec/taints");
    const std::string and_ours =
        theirs.substr(0, theirs.size() - 1) +
        R"(,{"key":"dedicated","value":"gpu","effect":"NoSchedule"},{"key":"aliquot.dev/gpu-unhealthy","effect":"NoSchedule"}])";
    struct Case {
        std::string body;
        bool to_status;
        const char* said;  // empty: allowed
    };
    const std::vector<Case> cases{
        {R"({"spec":{"unschedulable":true}})", false, "of a node's spec"},
        {R"({"spec":{"providerID":"x"}})", false, "of a node's spec"},
        {R"({"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}})", false,
         "no label but its own: node-role.kubernetes.io/control-plane"},
        {R"({"metadata":{"labels":{"node-restriction.kubernetes.io/x":"y"}}})", false, "no label"},
        {R"({"metadata":{"labels":{"node-restriction.kubernetes.io/x":"y"}}})", true, "no label"},
        {R"({"metadata":{"labels":{"kubernetes.io/hostname":"other"}}})", false, "no label"},
        {R"({"metadata":{"labels":{"team":null}}})", false, "no label"},
        {R"({"metadata":{"labels":{"nvidia.com/mig.config":"all-1g.5gb"}}})", false, "no label"},
        {R"({"metadata":{"labels":{"nvidia.com/gpu.deploy.driver":"false"}}})", false, "no label"},
        {R"({"metadata":{"annotations":{"others.dev/a":"c"}}})", false, "no annotation"},
        {R"({"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":"9"}}})", true,
         "no annotation"},
        {R"({"metadata":{"finalizers":["a.dev/b"]}})", false, "finalizers"},
        {R"({"spec":{"taints":null}})", false, "no taint"},
        {R"({"spec":{"taints":[{"key":"theirs","value":"y","effect":"NoSchedule"}]}})", false,
         "no taint"},
        {R"({"spec":{"taints":[{"key":"theirs","value":"x","effect":"NoSchedule"},{"key":"new","effect":"NoExecute"}]}})",
         false, "no taint"},
        {R"({"metadata":{"annotations":{"aliquot.dev/owned-taints":"theirs:NoSchedule"}}})", false,
         "no taint"},
        {R"({"status":{"capacity":{"nvidia.com/gpu":"99"}}})", true, "of a node's status"},
        {R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})", true,
         "of a node's status"},
        {R"({"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})", true,
         "of a node's status"},
        {R"({"metadata":{"labels":{"nvidia.com/gpu.count":"1","role":"gpu","nvidia.com/mig.config.state":"success"},
             "annotations":{"aliquot.dev/agent":"1","aliquot.dev/owned-taints":"dedicated:NoSchedule,aliquot.dev/gpu-unhealthy:NoSchedule"}},
             "spec":{"taints":)" +
             and_ours + "}}",
         false, ""},
        {R"({"status":{"conditions":[{"type":"GpuHealthy","status":"False"},{"type":"MigConfigServed","status":"True"},{"type":"GpuToolkitReady","status":"True"}]}})",
         true, ""},
        {R"({"metadata":{"labels":{"nvidia.com/gpu.count":null,"role":null},"annotations":{"aliquot.dev/owned-taints":null}},
             "spec":{"taints":)" +
             theirs + "}}",
         false, ""},
    };
    for (const Case& one : cases) {
        auto done = patch(one.body, one.to_status ? status : merge);
        for (int i = 0; i < 100 && !done && *one.said == '\0';
             ++i) {  // the policy of a test before
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            done = patch(one.body, one.to_status ? status : merge);
        }
        EXPECT_EQ(done.ok(), *one.said == '\0') << one.body << '\n'
                                                << (done ? "" : done.failure().message);
        if (done) continue;
        EXPECT_TRUE(done.failure().is(Reason::kForbidden)) << done.failure().message;
        EXPECT_TRUE(done.failure().message.contains(one.said)) << one.body << '\n'
                                                               << done.failure().message;
    }
}

TEST_P(InstallPolicy, AnAgentWritesEventsAboutItsNodeOnly) {
    if (!real()) GTEST_SKIP() << "the simulated server does not obey admission policies";
    install();
    make(nodes(), "", node_json("node-a"));
    const auto pod = make(pods(), kSpace, agent_pod("agent-a", "node-a"));
    ASSERT_TRUE(pod);
    const auto agent = with_token(token_of("aliquot-agent", &*pod));
    const auto event = [](const std::string& name, const std::string& kind,
                          const std::string& about, const std::string& controller) {
        return R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":")" + name +
               R"(","namespace":"default"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":")" +
               controller +
               R"(","reportingInstance":"x","action":"A","reason":"R","type":"Normal","regarding":{"kind":")" +
               kind + R"(","name":")" + about + R"("}})";
    };
    const auto& events = kube_client::resources::events();
    const auto stamp = std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
    const auto write = [&](const std::string& name, const std::string& kind,
                           const std::string& about, const std::string& controller) {
        return agent.api->create(events, "default",
                                 event(name + "." + stamp, kind, about, controller));
    };
    for (int i = 0;
         i < 100 && write("w" + std::to_string(i), "Node", "node-b", "aliquot.dev/agent"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a new policy takes a moment
    EXPECT_FALSE(write("a", "Node", "node-b", "aliquot.dev/agent"));
    EXPECT_FALSE(write("b", "Pod", "node-a", "aliquot.dev/agent"));
    EXPECT_FALSE(write("c", "Node", "node-a", "kubelet"));
    const auto own = write("d", "Node", "node-a", "aliquot.dev/agent");
    ASSERT_TRUE(own) << own.failure().message;
    const std::string series =
        R"({"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:01.000000Z"}})";
    EXPECT_TRUE(agent.api->patch(events, own->key(), series));
    const auto theirs =
        api().create(events, "default", event("e." + stamp, "Node", "node-a", "kubelet"));
    ASSERT_TRUE(theirs) << theirs.failure().message;
    EXPECT_FALSE(agent.api->patch(events, theirs->key(), series));
}

TEST_P(InstallPolicy, TheControllerOfPoolsChangesOfANodeItsAnnotationsAndTheStartupTaintOnly) {
    if (!real()) GTEST_SKIP() << "the simulated server does not obey admission policies";
    install({.pools = true});
    make(nodes(), "",
         R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"},"spec":{"taints":[
        {"key":"theirs","value":"x","effect":"NoSchedule"},
        {"key":"startup-taint.cluster-autoscaler.kubernetes.io/aliquot","value":"true","effect":"NoSchedule"}]}})");
    const auto controller = with_token(token_of("aliquot-controller"));
    const auto patch = [&](const std::string& body) {
        return controller.api->patch(nodes(), {"", "node-a"}, body);
    };
    const std::string theirs = R"({"key":"theirs","value":"x","effect":"NoSchedule"})";
    // A new policy takes a moment until the server obeys it.
    auto refused = patch(R"({"metadata":{"labels":{"x":"0"}}})");
    for (int i = 1; i < 100 && refused; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        refused = patch(R"({"metadata":{"labels":{"x":")" + std::to_string(i) + R"("}}})");
    }
    ASSERT_FALSE(refused) << "the policy was never obeyed";
    for (const std::string& wrong :
         {std::string(R"({"spec":{"unschedulable":true}})"),
          std::string(R"({"spec":{"taints":[]}})"),
          R"({"spec":{"taints":[)" + theirs + R"(,{"key":"more","effect":"NoSchedule"}]}})"}) {
        const auto done = patch(wrong);
        ASSERT_FALSE(done) << wrong;
        EXPECT_TRUE(done.failure().is(Reason::kForbidden)) << done.failure().message;
    }
    // The API server adds a taint of its own to a new Node (node.kubernetes.io/not-ready): all but ours stay.
    const auto there = api().get(nodes(), {"", "node-a"});
    ASSERT_TRUE(there) << there.failure().message;
    Json kept = Json::array();
    const Json node = Json::parse(there->json);
    for (const Json& taint : node["spec"]["taints"])
        if (taint["key"] != "startup-taint.cluster-autoscaler.kubernetes.io/aliquot")
            kept.push_back(taint);
    ASSERT_GE(kept.size(), 1U);
    const auto marked = patch(R"({"metadata":{"annotations":{"aliquot.dev/kept-by":"ci"}}})");
    EXPECT_TRUE(marked) << marked.failure().message;
    const auto started = patch(Json{{"spec", {{"taints", kept}}}}.dump());
    EXPECT_TRUE(started) << started.failure().message;
    EXPECT_FALSE(patch(R"({"spec":{"taints":[]}})")) << "the other one";
}

INSTANTIATE_TEST_SUITE_P(Cluster, InstallPolicy, testing::Values("Simulated", "Real"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace aliquot::install
