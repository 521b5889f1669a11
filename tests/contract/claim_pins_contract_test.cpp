// SPDX-License-Identifier: Apache-2.0
//
// aliquot-controller --claims as a process on a simulated cluster: the failure table of docs/internals/dra.md, row by
// row. kube-scheduler is this test, with its algorithm for claims.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "claims/allocate.h"
#include "document/json.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"
#include "tests/contract/controller_process.h"

namespace aliquot::contract {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kCore = "/api/v1/namespaces/ai/";
const std::string kGroup = "/apis/resource.k8s.io/v1/";
const std::string kClaims = kGroup + "namespaces/ai/resourceclaims";

constexpr std::string_view kClass = R"(
apiVersion: v1
kind: Namespace
metadata: {name: ai, labels: {aliquot.dev/claims: enabled}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.aliquot.dev}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.aliquot.dev"'}}]}
)";

class ClaimPinsContract : public testing::Test {
protected:
    void SetUp() override {
        auto server = sim::ApiServer::start({.directory = directory_.path().string()});
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
        const auto applied = server_->apply(kClass);
        ASSERT_TRUE(applied) << applied.error().message;
        for (const char* const node : {"a", "b"}) add_node(node);
    }

    Json ask(std::string_view method, const std::string& target, const Json& body = nullptr,
             std::string_view type = "application/json") {
        const auto reply =
            server_->request(method, target, body.is_null() ? "" : body.dump(), type);
        status_ = reply.status;
        return Json::parse(reply.body, nullptr, false);
    }
    void add_node(const std::string& name) {
        const Json amounts{{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "100"}};
        ask("POST", "/api/v1/nodes", {{"metadata", {{"name", name}}}});
        ask("PATCH", "/api/v1/nodes/" + name, {{"spec", {{"taints", nullptr}}}},
            "application/merge-patch+json");
        ask("PATCH", "/api/v1/nodes/" + name + "/status",
            {{"status",
              {{"allocatable", amounts},
               {"capacity", amounts},
               {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "Ready"}}}}}}},
            "application/strategic-merge-patch+json");
        const Json range{{"min", "256Mi"}, {"max", "16Gi"}, {"step", "256Mi"}};
        const Json percent{{"min", "0"}, {"max", "100"}, {"step", "1"}};
        const Json device{
            {"name", "gpu-" + name},
            {"allowMultipleAllocations", true},
            {"attributes", {{"type", {{"string", "gpu"}}}, {"uuid", {{"string", "GPU-" + name}}}}},
            {"capacity",
             {{"memory",
               {{"value", "16Gi"},
                {"requestPolicy", {{"default", "16Gi"}, {"validRange", range}}}}},
              {"compute",
               {{"value", "100"},
                {"requestPolicy", {{"default", "100"}, {"validRange", percent}}}}}}}};
        const Json made =
            ask("POST", kGroup + "resourceslices",
                {{"metadata", {{"name", "slice-" + name}}},
                 {"spec",
                  {{"driver", "gpu.aliquot.dev"},
                   {"nodeName", name},
                   {"pool", {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}}},
                   {"devices", {device}}}}});
        ASSERT_EQ(status_, 201) << made;
    }

    std::unique_ptr<ControllerProcess> start(std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"--claims", "--claims-patience", "1s"});
        return std::make_unique<ControllerProcess>(server_->kubeconfig_file(), "default", "claims",
                                                   more);
    }
    /// The webhook, as an installation has it.
    void configure(unsigned port, const std::string& policy = "Ignore") {
        const Json webhook{{"name", "claims.aliquot.dev"},
                           {"clientConfig",
                            {{"url", "https://127.0.0.1:" + std::to_string(port) + "/claim/pods"}}},
                           {"rules",
                            {{{"operations", {"CREATE"}},
                              {"apiGroups", {""}},
                              {"apiVersions", {"v1"}},
                              {"resources", {"pods"}}}}},
                           {"failurePolicy", policy},
                           {"sideEffects", "None"},
                           {"timeoutSeconds", 2},
                           {"admissionReviewVersions", {"v1"}}};
        ask("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            {{"metadata", {{"name", "claims"}}}, {"webhooks", {webhook}}});
        ASSERT_EQ(status_, 201);
    }

    static Json wishing(const std::string& name, const std::string& wish) {
        return {{"metadata", {{"name", name}, {"annotations", {{"aliquot.dev/claim", wish}}}}},
                {"spec",
                 {{"tolerations", {{{"operator", "Exists"}}}},
                  {"containers", {{{"name", "main"}, {"image", "none.invalid/c:1"}}}}}}};
    }
    /// What the webhook makes of a pod; tests of the rest do without it.
    void create(const std::string& name, const std::string& wish = "memory=8Gi,compute=50",
                const Json& more = Json::object()) {
        Json pod = wishing(name, wish);
        pod["metadata"]["labels"] = {{"aliquot.dev/claim", "pinned"}};
        pod["spec"]["resourceClaims"] = {
            {{"name", "aliquot"}, {"resourceClaimName", claim_name(name)}}};
        pod["spec"]["containers"][0]["resources"]["claims"] = {{{"name", "aliquot"}}};
        pod["spec"].update(more);
        const Json made = ask("POST", kCore + "pods", pod);
        ASSERT_EQ(status_, 201) << made;
    }
    static std::string claim_name(const std::string& pod) { return "aq-" + pod + "0123456789"; }
    Json pod(const std::string& name) { return ask("GET", kCore + "pods/" + name); }
    Json claim(const std::string& pod) { return ask("GET", kClaims + "/" + claim_name(pod)); }
    /// The GPU that a claim was made for; "any" without one, "" without a claim.
    std::string pinned(const std::string& name) {
        const Json found = claim(name);
        if (status_ != 200) return "";
        return found["metadata"]["annotations"].value("aliquot.dev/pinned-gpu", "any");
    }
    testing::AssertionResult soon(const std::function<bool()>& so) {
        const auto until = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < until) {
            if (so()) return testing::AssertionSuccess();
            std::this_thread::sleep_for(20ms);
        }
        return testing::AssertionFailure();
    }

    // ---- kube-scheduler ----

    claims::Cluster cluster() {
        claims::Cluster known;
        const auto each = [&](const std::string& plural, auto read) {
            const Json list = ask("GET", kGroup + plural);
            for (const Json& one : list["items"]) read(*document::parse_json(one.dump()));
        };
        each("resourceslices",
             [&](const auto& one) { known.slices.push_back(claims::read_slice(one)); });
        each("resourceclaims",
             [&](const auto& one) { known.claims.push_back(claims::read_claim(one)); });
        each("deviceclasses", [&](const auto& one) {
            auto read = claims::read_class(one);
            known.classes.emplace(read.name, read);
        });
        return known;
    }
    /// Filter and PreBind of one attempt: the node, or "" and the pod says why.
    std::string allocate(const std::string& name, const std::string& uid_seen = "") {
        Json object = claim(name);
        if (status_ != 200) return "";
        if (!uid_seen.empty()) object["metadata"]["uid"] = uid_seen;
        const auto known = cluster();
        const auto wanted = claims::read_claim(*document::parse_json(object.dump()));
        for (const char* const node : {"a", "b"}) {
            const auto answer = claims::allocate(known, {.name = node, .labels = {}}, {wanted}, [] {
                static int number = 0;
                return "8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2" + std::to_string(100 + ++number);
            });
            if (answer.allocations.empty()) continue;
            object["status"] = {
                {"allocation", Json::parse(document::to_json_line(
                                   claims::write_allocation(answer.allocations[0])))},
                {"reservedFor",
                 {{{"resource", "pods"}, {"name", name}, {"uid", pod(name)["metadata"]["uid"]}}}}};
            ask("PUT", kClaims + "/" + claim_name(name) + "/status", object);
            return status_ == 200 ? node : "";
        }
        ask("PATCH", kCore + "pods/" + name + "/status",
            {{"status",
              {{"conditions",
                {{{"type", "PodScheduled"},
                  {"status", "False"},
                  {"reason", "Unschedulable"},
                  {"message", "0/2 nodes are available: cannot allocate all claims."}}}}}}},
            "application/strategic-merge-patch+json");
        return "";
    }
    bool schedule(const std::string& name) {
        const std::string node = allocate(name);
        if (node.empty()) return false;
        ask("POST", kCore + "pods/" + name + "/binding",
            {{"apiVersion", "v1"},
             {"kind", "Binding"},
             {"metadata", {{"name", name}}},
             {"target", {{"kind", "Node"}, {"name", node}}}});
        return status_ == 201;
    }
    /// Somebody's own claim on our class takes all of a GPU.
    void take(const std::string& node) {
        const std::string name = "own-" + node;
        Json made = ask(
            "POST", kClaims,
            {{"metadata", {{"name", name}}},
             {"spec",
              {{"devices",
                {{"requests",
                  {{{"name", "gpu"}, {"exactly", {{"deviceClassName", "gpu.aliquot.dev"}}}}}}}}}}});
        made["status"]["allocation"]["devices"]["results"] = {
            {{"request", "gpu"},
             {"driver", "gpu.aliquot.dev"},
             {"pool", node},
             {"device", "gpu-" + node},
             {"shareID", "8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3b"},
             {"consumedCapacity", {{"memory", "16Gi"}, {"compute", "100"}}}}};
        const Json kept = ask("PUT", kClaims + "/" + name + "/status", made);
        ASSERT_EQ(status_, 200) << kept;
    }

    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;
    int status_ = 0;
};

TEST_F(ClaimPinsContract, ThePodGetsItsClaimOnTheChosenGpuAndRuns) {
    const auto controller = start();
    configure(controller->webhook_port());
    ASSERT_TRUE(soon([&] {
        ask("POST", kCore + "pods?dryRun=All", wishing("try", "memory=8Gi,compute=50"));
        return status_ == 201;
    }));
    const auto rewritten = [&] {
        const Json tried = ask("POST", kCore + "pods?dryRun=All", wishing("p", "memory=8Gi"));
        return tried["spec"].contains("resourceClaims");
    };
    ASSERT_TRUE(soon(rewritten)) << controller->said();
    const Json made = ask("POST", kCore + "pods", wishing("p", "memory=8Gi,compute=50"));
    ASSERT_EQ(status_, 201) << made;
    const std::string name = made["spec"]["resourceClaims"][0]["resourceClaimName"];
    EXPECT_TRUE(name.starts_with("aq-"));
    ASSERT_TRUE(soon([&] {
        ask("GET", kClaims + "/" + name);
        return status_ == 200;
    })) << controller->said();
    const Json claim = ask("GET", kClaims + "/" + name);
    EXPECT_EQ(claim["metadata"]["ownerReferences"][0]["uid"], made["metadata"]["uid"]);
    // A wish that is wrong is refused with words.
    const Json wrong = ask("POST", kCore + "pods", wishing("q", "memory=much"));
    EXPECT_NE(status_, 201);
    EXPECT_THAT(wrong["message"].get<std::string>(), HasSubstr("memory is not an amount"));
}

// Row: device taken in between, node full; and: foreign claims on our class.
TEST_F(ClaimPinsContract, AGpuThatWasTakenMeanwhileIsLeftForAnother) {
    const auto controller = start();
    create("p");
    ASSERT_TRUE(soon([&] { return pinned("p") == "GPU-a" || pinned("p") == "GPU-b"; }))
        << controller->said();
    const std::string first = pinned("p");
    take(first.substr(4));
    EXPECT_FALSE(schedule("p"));
    ASSERT_TRUE(soon([&] { return !pinned("p").empty() && pinned("p") != first; }))
        << controller->said();
    EXPECT_EQ(claim("p")["metadata"]["annotations"]["aliquot.dev/pins"], "2");
    EXPECT_TRUE(schedule("p"));
    EXPECT_EQ(pod("p")["spec"]["nodeName"], first == "GPU-a" ? "b" : "a");
}

// Row: the claim is deleted while kube-scheduler is in PreBind.
TEST_F(ClaimPinsContract, AClaimThatGoesWhileItIsAllocatedIsMadeAgain) {
    const auto controller = start();
    create("p");
    ASSERT_TRUE(soon([&] { return !pinned("p").empty(); })) << controller->said();
    const std::string uid = claim("p")["metadata"]["uid"];
    ask("DELETE", kClaims + "/" + claim_name("p"));
    ASSERT_TRUE(soon([&] {
        const Json now = claim("p");
        return status_ == 200 && now["metadata"]["uid"] != uid;
    })) << controller->said();
    EXPECT_EQ(allocate("p", uid), "") << "kube-scheduler's write is for a claim that is gone";
    EXPECT_TRUE(schedule("p"));
}

// Row: allocated but bind failed.
TEST_F(ClaimPinsContract, AnAllocatedClaimIsKeptUntilItsAllocationIsTakenBack) {
    const auto controller = start();
    create("p");
    ASSERT_TRUE(soon([&] { return !pinned("p").empty(); })) << controller->said();
    ASSERT_NE(allocate("p"), "");
    const std::string uid = claim("p")["metadata"]["uid"];
    ask("PATCH", kCore + "pods/p/status",
        {{"status",
          {{"conditions",
            {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}}}}}},
        "application/strategic-merge-patch+json");
    std::this_thread::sleep_for(3s);
    EXPECT_EQ(claim("p")["metadata"]["uid"], uid) << "it has its GPU";
    Json back = claim("p");  // as PostFilter does
    back.erase("status");
    ask("PUT", kClaims + "/" + claim_name("p") + "/status", back);
    ASSERT_TRUE(soon([&] {
        const Json now = claim("p");
        return status_ == 200 && now["metadata"]["uid"] != uid;
    })) << controller->said();
}

// Row: controller down; webhook down.
TEST_F(ClaimPinsContract, WithoutAControllerNewPodsWaitAndTheNextOneGoesOn) {
    auto first = start();
    create("runs");
    ASSERT_TRUE(soon([&] { return !pinned("runs").empty(); }));
    ASSERT_TRUE(schedule("runs"));
    first->process().signal(SIGKILL);
    (void)first->process().wait(30s);
    create("waits");
    std::this_thread::sleep_for(1s);
    EXPECT_EQ(pinned("waits"), "");
    EXPECT_EQ(pod("runs")["spec"].value("nodeName", "").size(), 1U);
    const auto second = start();
    EXPECT_TRUE(soon([&] { return !pinned("waits").empty(); })) << second->said();
    EXPECT_TRUE(schedule("waits"));

    configure(1);  // nobody listens there
    const Json as_written = ask("POST", kCore + "pods", wishing("as-written", "memory=8Gi"));
    EXPECT_EQ(status_, 201);
    EXPECT_FALSE(as_written["spec"].contains("resourceClaims"));
    ask("DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/claims");
    configure(1, "Fail");
    ask("POST", kCore + "pods", wishing("refused", "memory=8Gi"));
    EXPECT_NE(status_, 201) << "where a pod must not run without limits";
}

// Row: autoscaler.
TEST_F(ClaimPinsContract, WhereNothingFitsAnyGpuWillDo) {
    take("a");
    take("b");
    const auto controller = start();
    create("p");
    ASSERT_TRUE(soon([&] { return pinned("p") == "any"; })) << controller->said();
    EXPECT_FALSE(schedule("p"));
    add_node("c");  // what an autoscaler does
    std::this_thread::sleep_for(2s);
    EXPECT_EQ(pinned("p"), "any") << "kube-scheduler takes it";
}

// Row: pre-emption.
TEST_F(ClaimPinsContract, PodsOfALowerPriorityLeaveForOneThatHasNoGpu) {
    take("b");
    ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
        {{"metadata", {{"name", "high"}}}, {"value", 1000}});
    const auto controller = start({"--claims-preemption"});
    create("low");
    ASSERT_TRUE(soon([&] { return pinned("low") == "GPU-a"; })) << controller->said();
    ASSERT_TRUE(schedule("low"));
    ASSERT_TRUE(soon([&] { return pod("low")["spec"].contains("nodeName"); }));
    create("high", "memory=12Gi,compute=80", {{"priorityClassName", "high"}});
    ASSERT_TRUE(soon([&] {
        const Json low = pod("low");
        return status_ == 404 || low["metadata"].contains("deletionTimestamp");
    })) << controller->said();
    ask("DELETE", kCore + "pods/low?gracePeriodSeconds=0");
    ask("DELETE", kClaims + "/" + claim_name("low"));
    ASSERT_TRUE(soon([&] { return pinned("high") == "GPU-a"; })) << controller->said();
    EXPECT_TRUE(schedule("high"));
}

// Row: other pods that reference a claim of ours.
TEST_F(ClaimPinsContract, AClaimThatSomebodyElseHasMadeIsNotTouched) {
    const Json mine =
        ask("POST", kClaims,
            {{"metadata", {{"name", claim_name("p")}}},
             {"spec",
              {{"devices",
                {{"requests",
                  {{{"name", "gpu"}, {"exactly", {{"deviceClassName", "gpu.aliquot.dev"}}}}}}}}}}});
    ASSERT_EQ(status_, 201);
    const auto controller = start();
    create("p");
    ASSERT_TRUE(soon([&] {
        return server_->request("GET", "/apis/events.k8s.io/v1/events")
            .body.contains("is not the one that is made for this pod");
    })) << controller->said();
    EXPECT_EQ(claim("p")["metadata"]["uid"], mine["metadata"]["uid"]);
}

}  // namespace
}  // namespace aliquot::contract
