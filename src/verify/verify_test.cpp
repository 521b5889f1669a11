// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "document/json.h"
#include "kube_client/stub_api.h"
#include "verify/test_pod.h"
#include "verify/wanted.h"

namespace aliquot::verify {
namespace {

using kube_client::Outcome;
using kube_client::Reply;
using kube_client::Request;
using Json = nlohmann::json;

constexpr const char* kGood =
    R"({"driver":"13.0","gpus":[{"index":0,"uuid":"GPU-1","name":"NVIDIA A2","memoryMiB":3839}],)"
    R"("visible":{"ok":true},"arithmetic":{"ok":true,"elements":1048576,"how":"fma"},)"
    R"("share":{"ok":true,"how":"more than 3584 MiB is refused"},"problem":""})";

/// A cluster of one node whose pods are as the test wants them.
class Cluster {
public:
    Cluster() {
        node("4");
        api.put("/apis/apps/v1/daemonsets", {"aliquot-system", "aliquot-agent"},
                R"({"apiVersion":"apps/v1","kind":"DaemonSet",
                    "spec":{"template":{"spec":{"containers":[{"image":"here/aliquot:1"}]}}},
                    "status":{"desiredNumberScheduled":1,"numberReady":1,"updatedNumberScheduled":1}})");
        api.put(
            "/api/v1/pods", {"aliquot-system", "aliquot-agent-x"},
            R"({"apiVersion":"v1","kind":"Pod","spec":{"nodeName":"gpu-1"},"status":{"phase":"Running"}})");
        api.before = [this](const Request& request) { return answer(request); };
    }

    void node(const std::string& devices) {
        const Json shares = Json::array({{{"resource", "nvidia.com/gpu"},
                                          {"mechanism", mechanism},
                                          {"model", "NVIDIA A2"},
                                          {"devices", 4},
                                          {"perGpu", 4},
                                          {"memoryMiB", 3839}}});
        const Json gpus = Json::array({{{"index", 0}, {"uuid", "GPU-1"}, {"healthy", true}}});
        const Json counts{{"cpu", "8"}, {"nvidia.com/gpu", devices}};
        const Json body{
            {"apiVersion", "v1"},
            {"kind", "Node"},
            {"metadata",
             {{"labels", {{"nvidia.com/gpu.count", "1"}, {"nvidia.com/gpu.replicas", "4"}}},
              {"annotations",
               {{"aliquot.dev/shares", shares.dump()}, {"aliquot.dev/gpus", gpus.dump()}}}}},
            {"status",
             {{"capacity", counts},
              {"allocatable", counts},
              {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
        api.put("/api/v1/nodes", {"", "gpu-1"}, body.dump());
    }

    /// Its GPU is handed out by claims only.
    void serve_claims(const std::string& device) {
        api.put("/api/v1/nodes", {"", "gpu-1"},
                R"({"apiVersion":"v1","kind":"Node","status":{"conditions":[{"type":"Ready",)"
                R"("status":"True"}]}})");
        api.put("/apis/resource.k8s.io/v1/resourceslices", {"", "s"},
                R"({"spec":{"driver":"gpu.aliquot.dev","nodeName":"gpu-1","pool":{"name":"gpu-1",)"
                R"("generation":1,"resourceSliceCount":1},"devices":[)" +
                    device + "]}}");
    }

    Report run(Options options = {}, std::stop_token stop = {}) {
        options.look_every = std::chrono::milliseconds(1);
        return verify::run(api, options, std::move(stop));
    }

    kube_client::StubApi api;
    std::string mechanism = "memory";
    std::string log = kGood;
    Json status{{"phase", "Running"}};
    bool metrics = true;
    std::string forbidden;
    std::string why = "no";       // it is forbidden
    std::vector<Json> pods;       // that were made
    std::vector<Json> templates;  // of claims
    std::function<void()> on_pod = [] {};
    unsigned removed_spaces = 0;
    std::mutex mutex;

private:
    std::optional<Outcome<Reply>> answer(const Request& request) {
        const std::lock_guard lock(mutex);
        const std::string path = request.path.substr(0, request.path.find('?'));
        if (!forbidden.empty() && path.find(forbidden) != std::string::npos) {
            const Json refusal{{"kind", "Status"}, {"reason", "Forbidden"}, {"message", why}};
            return Reply{403, refusal.dump()};
        }
        if (path == "/version") return Reply{200, "{}"};
        if (path == "/api" || path == "/apis") return Reply{200, "{}"};
        if (path.ends_with("/proxy/metrics")) {
            const std::string name =
                pods.empty() ? "" : pods[0]["metadata"]["name"].get<std::string>();
            return Reply{200, metrics ? "x{pod=\"" + name + "\"} 1\n" : "y 1\n"};
        }
        if (path.ends_with("/log")) return Reply{200, log + "\n"};
        if (path == "/api/v1/namespaces/aliquot-verify" && request.method == "DELETE") {
            ++removed_spaces;
            return Reply{200, R"({"kind":"Status","status":"Success"})"};
        }
        if (path == "/api/v1/namespaces/aliquot-verify/pods" && request.method == "POST") {
            Json pod = Json::parse(request.body);
            pods.push_back(pod);
            on_pod();
            pod["status"] = status;
            if (status["phase"] != "Pending") pod["spec"]["nodeName"] = "gpu-1";
            return Reply{201, pod.dump()};
        }
        if (path.ends_with("/aliquot-verify/resourceclaimtemplates") && request.method == "POST") {
            templates.push_back(Json::parse(request.body));
            return Reply{201, request.body};
        }
        if (path.starts_with("/api/v1/namespaces/aliquot-verify/pods/") &&
            request.method == "GET") {
            Json pod = pods.back();
            pod["status"] = status;
            if (status.contains("containerStatuses") || status["phase"] != "Pending") {
                pod["spec"]["nodeName"] = "gpu-1";
            }
            return Reply{200, pod.dump()};
        }
        return std::nullopt;
    }
};

const Step* find(const Report& report, std::string_view id) {
    const auto found = std::ranges::find(report.steps, id, &Step::id);
    return found == report.steps.end() ? nullptr : &*found;
}

std::string text_of(const Report& report) {
    std::ostringstream text;
    print_text(text, report, Colour::kNever, 1);
    return text.str();
}

TEST(Verify, ProvesANodeThatKeepsItsWord) {
    Cluster cluster;
    const Report report = cluster.run();
    EXPECT_TRUE(report.success()) << text_of(report);
    for (const auto* id : {"nodes", "agent", "labels", "pod", "visible", "arithmetic", "share",
                           "together", "metrics", "clean-up"}) {
        const Step* const step = find(report, id);
        ASSERT_NE(step, nullptr) << id << "\n" << text_of(report);
        EXPECT_EQ(step->result, Verdict::kOk) << id << ": " << step->message;
    }
    EXPECT_EQ(cluster.removed_spaces, 1U);
    ASSERT_EQ(cluster.pods.size(), 2U);
    const Json& container = cluster.pods[0]["spec"]["containers"][0];
    EXPECT_EQ(container["image"], "here/aliquot:1");
    EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"], "1");
    EXPECT_NE(container["args"].dump().find("3839Mi"), std::string::npos);
    EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
}

TEST(Verify, ProvesANodeThatHandsOutItsGpusByClaims) {
    Cluster cluster;
    cluster.serve_claims(
        R"({"name":"gpu-0","allowMultipleAllocations":true,"attributes":{"type":{"string":"gpu"}}})");
    const Report report = cluster.run();
    EXPECT_TRUE(report.success()) << text_of(report);
    EXPECT_EQ(find(report, "nodes")->evidence, "gpu-1: 1 of gpu.aliquot.dev by claims");
    EXPECT_EQ(find(report, "pod")->message, "a pod with 1Gi of gpu.aliquot.dev by claim runs");
    EXPECT_EQ(find(report, "share")->result, Verdict::kOk);
    EXPECT_EQ(find(report, "together")->result, Verdict::kOk);
    ASSERT_EQ(cluster.templates.size(), 2U);
    const Json& request = cluster.templates[0]["spec"]["spec"]["devices"]["requests"][0];
    EXPECT_EQ(request["exactly"]["deviceClassName"], "gpu.aliquot.dev");
    EXPECT_EQ(request["exactly"]["capacity"]["requests"],
              Json({{"memory", "1Gi"}, {"compute", "10"}}));
    ASSERT_EQ(cluster.pods.size(), 2U);
    const Json& spec = cluster.pods[0]["spec"];
    EXPECT_EQ(spec["resourceClaims"][0]["resourceClaimTemplateName"],
              cluster.templates[0]["metadata"]["name"]);
    EXPECT_EQ(spec["containers"][0]["resources"]["claims"][0]["name"], "gpu");
    EXPECT_NE(spec["containers"][0]["args"].dump().find("1024Mi"), std::string::npos);
}

TEST(Verify, SaysThatNobodyGetsATaintedDevice) {
    Cluster cluster;
    cluster.serve_claims(R"({"name":"gpu-0","taints":[{"key":"a/b","effect":"NoSchedule"}]})");
    const Report report = cluster.run();
    EXPECT_EQ(find(report, "nodes")->message, "none of 1 node offers a GPU") << text_of(report);
}

TEST(Verify, GoesOnWhereItMayNotReadClaims) {
    Cluster cluster;
    cluster.forbidden = "/resourceslices";
    const Report report = cluster.run();
    EXPECT_TRUE(report.success()) << text_of(report);
    EXPECT_EQ(find(report, "claims")->result, Verdict::kSkipped);
}

TEST(Wanted, IsWhatANodeOffers) {
    node::GpuNode node;
    node.allocatable = {{"nvidia.com/gpu", 4}, {"nvidia.com/none", 0}};
    node.shares = {{.resource = "nvidia.com/gpu",
                    .mechanism = grant::Mechanism::kMps,
                    .model = {},
                    .devices = 4,
                    .per_gpu = 4,
                    .memory_mib = 3839}};
    const auto share = [](const char* name, std::uint64_t memory) {
        return node::ClaimDevice{.driver = "gpu.aliquot.dev",
                                 .name = name,
                                 .kind = "share",
                                 .uuid = "GPU-a",
                                 .model = {},
                                 .memory_mib = memory,
                                 .gpu_memory_mib = 15356,
                                 .held = {}};
    };
    node::ClaimDevice mig = share("mig-0", 4864);
    mig.kind = "mig";
    node.claim_devices = {share("share-0", 7168), share("share-1", 7168), mig};
    auto wanted = wanted_of(node);
    ASSERT_EQ(wanted.size(), 3U);
    EXPECT_EQ(wanted[0].text, "one nvidia.com/gpu");
    EXPECT_EQ(wanted[0].memory_mib, 3839U);
    EXPECT_TRUE(wanted[0].several);
    EXPECT_EQ(wanted[1].claim, ClaimRequest{.device_class = "gpu.aliquot.dev"});
    EXPECT_EQ(wanted[1].mechanism, grant::Mechanism::kGuarded);
    EXPECT_EQ(wanted[1].memory_mib, 7168U);
    EXPECT_TRUE(wanted[1].several);
    EXPECT_EQ(wanted[2].claim.device_class, "mig.aliquot.dev");
    EXPECT_EQ(wanted[2].mechanism, grant::Mechanism::kMig);
    EXPECT_FALSE(wanted[2].several);
    node.claim_devices[1].memory_mib = 3584;
    EXPECT_EQ(wanted_of(node)[1].kinds, 2U) << "which limit counts is not known";
    node.claim_devices = {share("share-0", 15356), share("share-1", 15356)};
    EXPECT_EQ(wanted_of(node)[1].mechanism, grant::Mechanism::kTimeSlicing) << "no limits";
    for (node::ClaimDevice& one : node.claim_devices) one.fits = false;
    EXPECT_EQ(wanted_of(node).size(), 1U) << "a test pod would only wait";
}

TEST(Verify, SaysThatAShareDoesNotHold) {
    Cluster cluster;
    cluster.log =
        R"({"gpus":[{"uuid":"GPU-1","name":"A2","memoryMiB":15356}],"visible":{"ok":true},)"
        R"("arithmetic":{"ok":true},"share":{"ok":false,"how":"4078 MiB were given"},"problem":"p"})";
    const Report report = cluster.run();
    EXPECT_FALSE(report.success());
    const Step* const share = find(report, "share");
    ASSERT_NE(share, nullptr);
    EXPECT_EQ(share->result, Verdict::kFailed);
    EXPECT_EQ(share->evidence, "4078 MiB were given");
    EXPECT_NE(share->message.find("3839 MiB"), std::string::npos);
}

TEST(Verify, SaysThatTimeSlicesLimitNothing) {
    Cluster cluster;
    cluster.mechanism = "time-slicing";
    cluster.node("4");
    cluster.log =
        R"({"gpus":[{"uuid":"GPU-1","name":"A2","memoryMiB":15356}],"visible":{"ok":true},)"
        R"("arithmetic":{"ok":true},"share":{"ok":null},"problem":""})";
    const Report report = cluster.run();
    EXPECT_TRUE(report.success()) << text_of(report);
    EXPECT_EQ(find(report, "share")->result, Verdict::kSkipped);
}

TEST(Verify, SaysWhyAPodDoesNotStart) {
    Cluster cluster;
    cluster.status = Json::parse(
        R"({"phase":"Pending","containerStatuses":[{"name":"probe","state":{"waiting":
            {"reason":"ImagePullBackOff","message":"Back-off pulling image here/aliquot:1"}}}]})");
    const Report report = cluster.run();
    EXPECT_FALSE(report.success());
    const Step* const pod = find(report, "pod");
    ASSERT_NE(pod, nullptr) << text_of(report);
    EXPECT_NE(pod->message.find("ImagePullBackOff: Back-off pulling"), std::string::npos)
        << pod->message;
    EXPECT_NE(pod->fix.find("--image"), std::string::npos);
    EXPECT_EQ(cluster.removed_spaces, 1U);
}

TEST(Verify, TakesAnAnswerOfTheProbeThatSeesNothing) {
    Cluster cluster;
    cluster.status = Json{{"phase", "Failed"}};
    cluster.log =
        R"({"gpus":[],"visible":{"ok":null},"arithmetic":{"ok":null},"problem":"no libcuda"})";
    const Report report = cluster.run();
    const Step* const visible = find(report, "visible");
    ASSERT_NE(visible, nullptr) << text_of(report);
    EXPECT_EQ(visible->result, Verdict::kFailed);
    EXPECT_NE(visible->message.find("no libcuda"), std::string::npos);
}

TEST(Verify, SkipsMetricsThatItMayNotRead) {
    Cluster cluster;
    cluster.forbidden = "/proxy/metrics";
    const Report report = cluster.run();
    EXPECT_TRUE(report.success()) << text_of(report);
    EXPECT_EQ(find(report, "metrics")->result, Verdict::kSkipped);
}

TEST(Verify, SaysThatLabelsAndCapacityDisagree) {
    Cluster cluster;
    cluster.node("8");
    const Report report = cluster.run();
    const Step* const labels = find(report, "labels");
    ASSERT_NE(labels, nullptr);
    EXPECT_EQ(labels->result, Verdict::kFailed);
    EXPECT_EQ(labels->message, "labels say 1 x 4 devices, the kubelet counts 8");
}

TEST(Verify, CleansUpWhenItIsStopped) {
    Cluster cluster;
    cluster.status = Json{{"phase", "Running"}};
    cluster.log = "";  // never answers
    std::stop_source source;
    cluster.on_pod = [&] { source.request_stop(); };
    const Report report = cluster.run({}, source.get_token());
    EXPECT_TRUE(report.stopped);
    EXPECT_FALSE(report.success());
    EXPECT_EQ(cluster.removed_spaces, 1U);
}

TEST(Verify, SaysThatThereIsNothingToVerify) {
    Cluster cluster;
    EXPECT_FALSE(cluster.run({.node = "gpu-7"}).success());
    cluster.api.erase("/api/v1/nodes", {"", "gpu-1"});
    const Report report = cluster.run();
    EXPECT_FALSE(report.success());
    EXPECT_TRUE(report.could_look);
    EXPECT_EQ(cluster.removed_spaces, 0U);
    cluster.forbidden = "/api/v1/nodes";
    EXPECT_FALSE(cluster.run().success());
}

TEST(Verify, LeavesANamespaceAloneThatIsNotOurs) {
    Cluster cluster;
    cluster.api.put("/api/v1/namespaces", {"", "aliquot-verify"},
                    R"({"apiVersion":"v1","kind":"Namespace"})");
    const Report report = cluster.run();
    const Step* const space = find(report, "namespace");
    ASSERT_NE(space, nullptr) << text_of(report);
    EXPECT_EQ(space->result, Verdict::kFailed);
    EXPECT_EQ(cluster.removed_spaces, 0U);
}

TEST(Verify, PrintsOneShapeOfJson) {
    Cluster cluster;
    const Json root = Json::parse(document::to_json(to_value(cluster.run())));
    EXPECT_EQ(root["success"], true);
    EXPECT_EQ(root["summary"]["failed"], 0);
    for (const Json& step : root["steps"]) {
        EXPECT_EQ(step.size(), 6U) << step;
        EXPECT_TRUE(step["fix"].is_string());
    }
}

TEST(TestPod, ReadsOnlyAnAnswerOfTheProbe) {
    EXPECT_FALSE(read_answer(""));
    EXPECT_FALSE(read_answer("{\"a\":1}\nsome words\n{broken"));
    EXPECT_FALSE(read_answer("{\"arithmetic\":{},\"gpus\":7}"));
    const auto answer = read_answer(std::string("a word before\n") + kGood);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->gpus[0].uuid, "GPU-1");
    EXPECT_EQ(answer->elements, 1U << 20U);
}

TEST(Verify, ProvesNothingWhereItMayNotMakePods) {
    Cluster cluster;
    cluster.forbidden = "/namespaces/aliquot-verify/pods";
    const Report denied = cluster.run();
    EXPECT_FALSE(denied.success()) << text_of(denied);
    ASSERT_NE(find(denied, "pod"), nullptr);
    EXPECT_EQ(find(denied, "pod")->result, Verdict::kFailed);
    EXPECT_NE(find(denied, "pod")->fix.find("create, get and delete pods"), std::string::npos);
    Cluster strict;
    strict.forbidden = cluster.forbidden;
    strict.why = "violates PodSecurity \"restricted:latest\"";
    const Report refused = strict.run();
    EXPECT_NE(find(refused, "pod")->fix.find("--pod-security"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::verify
