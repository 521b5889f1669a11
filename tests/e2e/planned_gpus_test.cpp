// SPDX-License-Identifier: Apache-2.0
//
// Placement on one node from the gate to the device: the built controller and agent, a simulated API server and
// kubelet. Who binds a pod to its node is this test.
#include <algorithm>
#include <map>

#include "gpu/replica_id.h"
#include "scheduling/plan.h"
#include "scheduling/served_node.h"
#include "tests/contract/controller_process.h"
#include "tests/e2e/cluster_node.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;

constexpr char kPods[] = "/api/v1/namespaces/team/pods";
constexpr char kConfig[] =
    "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, "
    "replicas: 4}\n";

class PlannedGpus : public ClusterNode {
protected:
    void SetUp() override {
        ClusterNode::SetUp();
        const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
        const Json rule{{"apiGroups", {""}}, {"resources", {"pods"}}, {"verbs", {"list", "watch"}}};
        ask("POST", rbac + "/clusterroles",
            {{"metadata", {{"name", "agent-placement"}}}, {"rules", Json::array({rule})}});
        ask("POST", rbac + "/clusterrolebindings",
            {{"metadata", {{"name", "agent-placement"}}},
             {"roleRef",
              {{"apiGroup", "rbac.authorization.k8s.io"},
               {"kind", "ClusterRole"},
               {"name", "agent-placement"}}},
             {"subjects", Json::array({{{"kind", "User"},
                                        {"apiGroup", "rbac.authorization.k8s.io"},
                                        {"name", "agent"}}})}});
        ask("POST", "/api/v1/namespaces", {{"metadata", {{"name", "team"}}}});
        make_gpus("a2", 2);
        configure({{"default", kConfig}});
        start_agent({"--placement"});
        ASSERT_TRUE(offers(kGpu, 8));
        ASSERT_TRUE(soon([&] { return annotation("aliquot.dev/gpus").contains("offers"); }));
        const Json amounts{{kGpu, "8"}, {"cpu", "16"}, {"memory", "64Gi"}, {"pods", "110"}};
        const Json ready{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}};
        ask("PATCH", std::string(kNode) + "/status",
            {{"status",
              {{"capacity", amounts},
               {"allocatable", amounts},
               {"conditions", Json::array({ready})}}}},
            "application/strategic-merge-patch+json");
        // Nobody else does it here: the node is ready.
        ask("PATCH", kNode, {{"spec", {{"taints", nullptr}}}}, "application/merge-patch+json");
        for (const auto& gpu : gpus_->gpus()) uuids_.push_back(gpu.uuid);
    }

    static Json pod_of(const std::string& name, unsigned units) {
        return {
            {"metadata", {{"name", name}}},
            {"spec",
             {{"containers",
               Json::array({{{"name", "main"},
                             {"image", "registry.example.com/c:1"},
                             {"resources", {{"limits", {{kGpu, std::to_string(units)}}}}}}})}}}};
    }
    Json pod(const std::string& name) { return ask("GET", std::string(kPods) + "/" + name); }
    /// A pod that is bound to this node, with a plan for it. Returns its uid.
    std::string add_planned(const std::string& name, unsigned gpu, unsigned units = 1) {
        const scheduling::Plan plan{
            .generation = 1,
            .asked = {{"main", kGpu, units}},
            .targets = {{.node = "gpu-1", .units = {{kGpu, {{uuids_.at(gpu), units}}}}}}};
        Json made = pod_of(name, units);
        made["metadata"]["annotations"] = {{"aliquot.dev/plan", to_json(plan)}};
        made["spec"]["nodeName"] = "gpu-1";
        return ask("POST", kPods, made)["metadata"]["uid"];
    }
    /// As kubelet does when it sees the pod. Returns the GPUs that it got, by units.
    std::map<std::string, unsigned> admit_pod(const std::string& name, const std::string& uid,
                                              unsigned units) {
        sim::PodRequest request{.uid = uid, .pod_namespace = "team", .name = name};
        request.containers.push_back({.name = "main", .limits = {{kGpu, units}}});
        const auto grants = kubelet_->admit(request);
        EXPECT_TRUE(grants) << grants.error().message;
        std::map<std::string, unsigned> gpus;
        if (!grants) return gpus;
        for (const std::string& id : grants->front().devices.at(kGpu))
            ++gpus[std::string(gpu::device_of(id))];
        return gpus;
    }
    scheduling::Granted granted() {
        return scheduling::parse_granted(annotation("aliquot.dev/granted"));
    }

    /// A kubeconfig that may do everything.
    std::string admin() {
        Json kubeconfig = Json::parse(*root_.read("/kube/config", 1U << 20U));
        kubeconfig["users"][0]["user"] = {{"tokenFile", "admin-token"}};
        EXPECT_TRUE(root_.write_atomically("/kube/admin-token",
                                           api_->issue_token({"admin", {"system:masters"}}), 0600));
        EXPECT_TRUE(root_.write_atomically("/kube/admin", kubeconfig.dump(), 0600));
        return root_.resolve("/kube/admin").string();
    }
    /// Exit code and output of `aliquot ...`.
    std::pair<int, std::string> say(std::vector<std::string> words) {
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot");
        words.insert(words.end(), {"--kubeconfig", admin()});
        const std::string output =
            (temporary_.path() / ("said" + std::to_string(++said_))).string();
        auto process = os::Process::start(
            {.argv = words, .environment = os::current_environment(), .output_path = output});
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(kPatience);
        std::ifstream in(output);
        return {exit ? exit->code : -1, {std::istreambuf_iterator<char>(in), {}}};
    }

    std::vector<std::string> uuids_;
    unsigned said_ = 0;
};

TEST_F(PlannedGpus, ThePodGetsTheGpuThatWasPlannedForIt) {
    // By itself the agent would spread or pack; this order is neither.
    const std::vector<unsigned> order{1, 1, 0, 1, 0, 1};
    for (unsigned i = 0; i < order.size(); ++i) {
        const std::string name = "p" + std::to_string(i);
        const std::string uid = add_planned(name, order[i]);
        EXPECT_EQ(admit_pod(name, uid, 1), (std::map<std::string, unsigned>{{uuids_[order[i]], 1}}))
            << name;
        EXPECT_TRUE(soon([&] { return granted().contains(uid); })) << name;
    }
    const auto told = granted();
    EXPECT_EQ(told.size(), order.size());
    for (const auto& [uid, resources] : told) EXPECT_EQ(resources.at(kGpu).size(), 1U) << uid;
    kubelet_->remove(pod("p0")["metadata"]["uid"]);
    EXPECT_TRUE(soon([&] { return granted().size() == order.size() - 1; }));
}

TEST_F(PlannedGpus, APlanThatCannotBeHadNeverKeepsAPodBack) {
    // Another pod took what was planned, by hand; and a forged plan names a GPU that is not here.
    const std::string first = add_planned("planned", 0, 4);
    EXPECT_EQ(admit_pod("planned", first, 4), (std::map<std::string, unsigned>{{uuids_[0], 4}}));
    const std::string second = add_planned("late", 0, 2);
    EXPECT_EQ(admit_pod("late", second, 2), (std::map<std::string, unsigned>{{uuids_[1], 2}}));
    const scheduling::Plan forged{
        .generation = 1,
        .asked = {{"main", kGpu, 1}},
        .targets = {{.node = "gpu-1", .units = {{kGpu, {{"GPU-of-somebody", 1}}}}}}};
    Json made = pod_of("forged", 1);
    made["metadata"]["annotations"] = {{"aliquot.dev/plan", to_json(forged)}};
    made["spec"]["nodeName"] = "gpu-1";
    const std::string uid = ask("POST", kPods, made)["metadata"]["uid"];
    EXPECT_EQ(admit_pod("forged", uid, 1), (std::map<std::string, unsigned>{{uuids_[1], 1}}));
}

TEST_F(PlannedGpus, APersonSeesWhyAPodWaitsAndLetsItGo) {
    admit_pod("holds", add_planned("holds", 0, 4), 4);
    admit_pod("small", add_planned("small", 1, 3), 3);
    EXPECT_TRUE(soon([&] { return granted().size() == 2; }));
    Json made = pod_of("waits", 3);
    made["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
    ask("POST", kPods, made);
    const auto [code, text] = say({"explain", "pod", "waits", "-n", "team"});
    EXPECT_EQ(code, 1) << text;
    EXPECT_THAT(text, testing::HasSubstr("has 1 of 8 nvidia.com/gpu free, 3 are asked"));
    EXPECT_THAT(text, testing::HasSubstr("team/"));
    const auto [held_code, held] = say({"explain", "pod", "holds", "-n", "team", "-o", "json"});
    EXPECT_EQ(held_code, 0) << held;
    EXPECT_EQ(Json::parse(held)["granted"][kGpu][uuids_[0]], 4) << held;
    const auto [status_code, status] = say({"placement", "status", "-o", "json"});
    EXPECT_EQ(status_code, 0) << status;
    EXPECT_EQ(Json::parse(status)["waiting"][0]["pod"], "team/waits") << status;
    EXPECT_EQ(Json::parse(status)["resources"][0]["freeUnits"], 1) << status;
    EXPECT_EQ(say({"placement", "release", "waits", "-n", "team"}).first, 0);
    EXPECT_FALSE(pod("waits")["spec"].contains("schedulingGates"));
    EXPECT_THAT(say({"placement", "release", "waits", "-n", "team"}).second,
                testing::HasSubstr("unchanged: it has no gate"));
    EXPECT_THAT(say({"placement", "release", "--all"}).second,
                testing::HasSubstr("no pod has the gate"));
    EXPECT_EQ(say({"explain", "pod", "nobody", "-n", "team"}).first, 3);
    EXPECT_EQ(say({"placement", "release"}).first, 2);
}

TEST_F(PlannedGpus, APersonSeesWhoWouldHaveToGoForAPodOfAHigherPriority) {
    ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
        {{"metadata", {{"name", "first"}}}, {"value", 1000}});
    add_planned("holds", 0, 4);
    add_planned("small", 1, 3);
    Json made = pod_of("urgent", 3);
    made["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
    made["spec"]["priorityClassName"] = "first";
    ask("POST", kPods, made);
    const auto explain = [&] { return say({"explain", "pod", "urgent", "-n", "team"}).second; };
    EXPECT_THAT(explain(), testing::Not(testing::HasSubstr("Preempts"))) << "they began just now";
    const Json bound{{"type", "PodScheduled"},
                     {"status", "True"},
                     {"lastTransitionTime", "2020-01-01T00:00:00Z"}};
    ask("PATCH", std::string(kPods) + "/small/status",
        {{"status", {{"conditions", Json::array({bound})}}}},
        "application/strategic-merge-patch+json");
    EXPECT_THAT(explain(), testing::HasSubstr("would evict team/small from gpu-1"));
    const Json told =
        Json::parse(say({"explain", "pod", "urgent", "-n", "team", "-o", "json"}).second);
    EXPECT_EQ(told["preemption"]["node"], "gpu-1") << told;
    EXPECT_EQ(told["preemption"]["pods"], Json::array({"team/small"})) << told;
}

TEST_F(PlannedGpus, FromTheGateToTheDeviceWhatIsPlannedIsWhatIsGranted) {
    contract::ControllerProcess controller(admin(), "aliquot-system", "aliquot", {"--placement"});
    const auto planned_of = [&](const std::string& name) {
        const Json notes = pod(name)["metadata"].value("annotations", Json::object());
        return scheduling::parse_plan(notes.value("aliquot.dev/plan", ""));
    };
    std::map<std::string, scheduling::DeviceUnits> planned;  // by uid
    for (unsigned i = 0; i < 5; ++i) {
        const std::string name = "p" + std::to_string(i);
        Json made = pod_of(name, 1 + i % 2);
        made["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
        const std::string uid = ask("POST", kPods, made)["metadata"]["uid"];
        ASSERT_TRUE(soon([&] { return planned_of(name).has_value(); })) << controller.said();
        planned[uid] = planned_of(name)->targets.at(0).units;
        ask("POST", std::string(kPods) + "/" + name + "/binding",
            {{"apiVersion", "v1"},
             {"kind", "Binding"},
             {"metadata", {{"name", name}}},
             {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "gpu-1"}}}});
        EXPECT_EQ(admit_pod(name, uid, 1 + i % 2), planned[uid].at(kGpu)) << name;
    }
    EXPECT_TRUE(soon([&] { return granted() == planned; }));
    // Seven of eight units are held: this one waits, and goes on when another pod has ended.
    Json made = pod_of("waits", 2);
    made["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
    ask("POST", kPods, made);
    const std::string ended = pod("p1")["metadata"]["uid"];
    EXPECT_FALSE(planned_of("waits"));
    ask("DELETE", std::string(kPods) + "/p1?gracePeriodSeconds=0");
    kubelet_->remove(ended);
    EXPECT_TRUE(soon([&] { return planned_of("waits").has_value(); })) << controller.said();
}

}  // namespace
}  // namespace aliquot
