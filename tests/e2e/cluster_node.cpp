// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/cluster_node.h"

#include <algorithm>

namespace aliquot {
namespace {

using namespace std::chrono_literals;

/// What an installation allows the agent.
constexpr char kClusterRole[] = R"({"metadata":{"name":"agent"},"rules":[
  {"apiGroups":[""],"resources":["nodes"],"verbs":["get","list","watch","patch"]},
  {"apiGroups":[""],"resources":["nodes/status"],"verbs":["patch"]},
  {"apiGroups":[""],"resources":["pods/eviction"],"verbs":["create"]}]})";
constexpr char kRole[] = R"({"metadata":{"name":"agent"},"rules":[
  {"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list","watch"],
   "resourceNames":["aliquot-config","aliquot-mig-config"]}]})";
constexpr char kEvents[] = R"({"metadata":{"name":"agent"},"rules":[
  {"apiGroups":["events.k8s.io"],"resources":["events"],"verbs":["create","patch"]}]})";

std::string binding(std::string_view kind) {
    return R"({"metadata":{"name":"agent"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" +
           std::string(kind) +
           R"(","name":"agent"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"agent"}]})";
}

}  // namespace

void ClusterNode::SetUp() {
    kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
    ASSERT_TRUE(kubelet_->start());
    auto server = sim::ApiServer::start(
        {.http_address = "", .rbac = true, .disabled_features = disabled_features()});
    ASSERT_TRUE(server) << server.error().message;
    api_ = *std::move(server);
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    ask("POST", "/api/v1/namespaces", {{"metadata", {{"name", "aliquot-system"}}}});
    ask("POST", rbac + "/clusterroles", Json::parse(kClusterRole));
    ask("POST", rbac + "/clusterrolebindings", Json::parse(binding("ClusterRole")));
    ask("POST", rbac + "/namespaces/aliquot-system/roles", Json::parse(kRole));
    ask("POST", rbac + "/namespaces/aliquot-system/rolebindings", Json::parse(binding("Role")));
    ask("POST", rbac + "/namespaces/default/roles", Json::parse(kEvents));
    ask("POST", rbac + "/namespaces/default/rolebindings", Json::parse(binding("Role")));
    ask("POST", "/api/v1/nodes",
        {{"metadata", {{"name", "gpu-1"}, {"labels", {{"role", "gpu"}}}}}});
    Json kubeconfig{{"apiVersion", "v1"},
                    {"kind", "Config"},
                    {"current-context", "c"},
                    {"contexts", {{{"name", "c"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
                    {"users", {{{"name", "u"}, {"user", {{"tokenFile", ""}}}}}},
                    {"clusters", Json::array()}};
    kubeconfig["clusters"].push_back(
        {{"name", "c"},
         {"cluster", {{"server", api_->https_url()}, {"certificate-authority", "ca.crt"}}}});
    kubeconfig["users"][0]["user"] = {{"tokenFile", "token"}};
    ASSERT_TRUE(root_.write_atomically("/kube/ca.crt", api_->ca_certificate()));
    ASSERT_TRUE(root_.write_atomically("/kube/token", api_->issue_token({"agent", {}}), 0600));
    ASSERT_TRUE(root_.write_atomically("/kube/config", kubeconfig.dump(), 0600));
}

void ClusterNode::TearDown() {
    if (HasFailure()) std::cerr << "agent's log:\n" << agent_log() << "\n";
    if (agent_) agent_->terminate(60s);
}

void ClusterNode::make_gpus(const std::string& model, unsigned count) {
    auto node = sim::Node::create(
        temporary_.path() / "driver", {.gpus = {{.model = model, .count = count}}},
        ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
    ASSERT_TRUE(node) << node.error().message;
    gpus_.emplace(*std::move(node));
}

void ClusterNode::start_agent(const std::vector<std::string>& more) {
    std::vector<std::string> argv{ALIQUOT_BIN_DIR "/aliquot-agent",
                                  "--root",
                                  temporary_.path().string(),
                                  "--driver-root",
                                  "/driver",
                                  "--metrics-listen",
                                  "off",
                                  "--cluster",
                                  "on",
                                  "--kubeconfig",
                                  root_.resolve("/kube/config").string(),
                                  "--node-name",
                                  "gpu-1"};
    argv.insert(argv.end(), more.begin(), more.end());
    auto process = os::Process::start({.argv = argv,
                                       .environment = environment_,
                                       .output_path = (temporary_.path() / "agent.log").string()});
    ASSERT_TRUE(process) << process.error().message;
    agent_.emplace(*std::move(process));
}

Json ClusterNode::ask(std::string_view method, std::string_view target, const Json& body,
                      std::string_view type) {
    const auto reply = api_->request(method, target, body.is_null() ? "" : body.dump(), type);
    EXPECT_LT(reply.status, 300) << method << ' ' << target << ": " << reply.body;
    return Json::parse(reply.body, nullptr, false);
}

void ClusterNode::label(const std::string& key, const Json& value) {
    ask("PATCH", kNode, {{"metadata", {{"labels", {{key, value}}}}}},
        "application/merge-patch+json");
}

void ClusterNode::configure(const Json& data) {
    const std::string maps = "/api/v1/namespaces/aliquot-system/configmaps";
    const Json map{{"metadata", {{"name", "aliquot-config"}}}, {"data", data}};
    const bool known = api_->request("GET", maps + "/aliquot-config").status == 200;
    ask(known ? "PUT" : "POST", known ? maps + "/aliquot-config" : maps, map);
}

Json ClusterNode::condition(std::string_view type) {
    const Json all = node().value("status", Json::object()).value("conditions", Json::array());
    for (const Json& one : all) {
        if (one["type"] == type) return one;
    }
    return {{"status", ""}, {"reason", ""}, {"message", ""}};
}

std::string ClusterNode::annotation(const std::string& key) {
    return node()["metadata"].value("annotations", Json::object()).value(key, "");
}

bool ClusterNode::has_event(std::string_view reason) {
    const Json list = ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events");
    return std::ranges::any_of(list["items"],
                               [&](const Json& event) { return event["reason"] == reason; });
}

bool ClusterNode::has_taint(std::string_view key) {
    const Json taints = node().value("spec", Json::object()).value("taints", Json::array());
    return std::ranges::any_of(taints, [&](const Json& taint) { return taint["key"] == key; });
}

testing::AssertionResult ClusterNode::soon(const std::function<bool()>& so) {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < limit) {
        if (so()) return testing::AssertionSuccess();
        std::this_thread::sleep_for(50ms);
    }
    return testing::AssertionFailure() << "it did not come to that; the Node is " << node().dump(1);
}

testing::AssertionResult ClusterNode::offers(const std::string& resource, unsigned devices) {
    if (kubelet_->wait_allocatable(resource, devices, kPatience)) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << resource << " has " << kubelet_->resources()[resource].allocatable;
}

Result<std::vector<sim::ContainerGrant>> ClusterNode::admit(const std::string& name,
                                                            const std::string& resource) {
    sim::PodRequest pod{.uid = name, .name = name, .init_containers = {}, .containers = {}};
    pod.containers.push_back({.name = "main", .limits = {{resource, 1}}});
    return kubelet_->admit(pod);
}

std::string ClusterNode::agent_log() const {
    std::ifstream in(temporary_.path() / "agent.log");
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace aliquot
