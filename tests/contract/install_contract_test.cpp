// SPDX-License-Identifier: Apache-2.0
// What install brings into a cluster: accepted, idempotent, no more rights than are listed, and gone
// after uninstall. ALIQUOT_TEST_KUBECONFIG names a real API server that is there for this alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "install/apply.h"
#include "install/render.h"
#include "install/uninstall.h"
#include "kube/connect.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"

namespace aliquot::install {
namespace {

using kube::Reason;
using kube::resources::config_maps;
using kube::resources::daemon_sets;
using kube::resources::namespaces;
using kube::resources::nodes;
using kube::resources::pods;

const std::string kSpace(kNamespace);

/// Of which server a test is: a simulated one with roles, or the real one.
class InstallContract : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (real()) {
            const auto environment = os::current_environment();
            const auto found = environment.find("ALIQUOT_TEST_KUBECONFIG");
            if (found == environment.end()) GTEST_SKIP() << "ALIQUOT_TEST_KUBECONFIG is not set";
            kubeconfig_ = found->second;
        } else {
            auto server =
                sim::ApiServer::start({.directory = directory_.path().string(), .rbac = true});
            ASSERT_TRUE(server) << server.error().message;
            server_ = *std::move(server);
            kubeconfig_ = server_->kubeconfig_file();
        }
        auto connection =
            kube::connect({.kubeconfig = kubeconfig_, .burst = 2000, .per_second = 2000});
        ASSERT_TRUE(connection) << connection.error().message;
        connection_ = *std::move(connection);
        make(namespaces(), "",
             R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
        prepare();
        if (real()) clear();
    }

    void TearDown() override {
        if (real() && connection_.api) clear();
    }

    /// The namespace with what a controller would put there, and a ConfigMap that holds it.
    void prepare() {
        const auto manifests = render({});
        const auto space = api().apply(namespaces(), {"", kSpace}, to_json(manifests.front()));
        ASSERT_TRUE(space) << space.failure().message;
        make(kube::resources::service_accounts(), kSpace,
             R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})");
        make(config_maps(), kSpace,
             R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"anchor",
                 "labels":{"app.kubernetes.io/part-of":"aliquot"}}})");
    }

    static bool real() { return GetParam() == "Real"; }
    kube::Api& api() { return *connection_.api; }

    /// Like uninstall, but the namespace stays: a server alone never ends to remove one.
    void clear() {
        (void)uninstall(
            api(), {.keep_config = true, .clean_hosts = false, .limit = std::chrono::seconds(0)});
        for (const char* const name : {"aliquot-config", "aliquot-mig-config"}) {
            (void)api().remove(config_maps(), {kSpace, name});
        }
        for (const char* const name : {"node-a", "node-b"}) (void)api().remove(nodes(), {"", name});
        for (const char* const name : {"agent-a", "aliquot-clean-up-node-a"}) {
            (void)api().remove(pods(), {kSpace, name}, {.grace_seconds = 0});
        }
    }

    std::optional<kube::Object> make(const kube::Resource& resource, const std::string& space,
                                     const std::string& json) {
        auto made = api().create(resource, space, json);
        if (made) return *std::move(made);
        EXPECT_TRUE(made.failure().is(Reason::kAlreadyExists)) << made.failure().message;
        return std::nullopt;
    }

    ApplyResult install(const Values& values = {}, const ApplyOptions& options = {}) {
        auto result = apply(api(), render(values), options);
        EXPECT_FALSE(result.stopped)
            << result.stopped->title << ": " << result.stopped->failure.message;
        return result;
    }

    /// As somebody else.
    kube::Connection with_token(const std::string& token) {
        const auto file = directory_.path() / ("token-" + std::to_string(++tokens_));
        std::ofstream(file) << "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n"
                               "    server: "
                            << connection_.server
                            << "\n    insecure-skip-tls-verify: true\nusers:\n- name: u\n"
                            << "  user: {token: \"" << token << "\"}\ncontexts:\n- name: x\n"
                            << "  context: {cluster: c, user: u}\ncurrent-context: x\n";
        auto connection = kube::connect({.kubeconfig = file.native()});
        EXPECT_TRUE(connection) << connection.error().message;
        return *std::move(connection);
    }

    /// A token of a service account; bound to a pod when one is named.
    std::string token_of(const std::string& account, const kube::Object* pod = nullptr) {
        std::string spec = R"("audiences":[])";
        if (pod != nullptr) {
            spec = R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":")" + pod->name +
                   R"(","uid":")" + pod->uid + R"("})";
        }
        const auto answer = api().exchange(
            {.method = "POST",
             .path = "/api/v1/namespaces/" + kSpace + "/serviceaccounts/" + account + "/token",
             .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{)" +
                     spec + "}}",
             .content_type = "application/json",
             .what = "token"});
        EXPECT_TRUE(answer && answer->status == 201) << (answer ? answer->body : "");
        return kube::string_at(answer->body, "/status/token").value_or("");
    }

    /// Whether roles allow it.
    bool may(const std::string& account, const std::string& verb, const std::string& group,
             const std::string& resource, const std::string& subresource, const std::string& space,
             const std::string& name) {
        const auto quoted = [](const std::string& text) { return kube::json_quoted(text); };
        const auto answer = api().exchange(
            {.method = "POST",
             .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
             .body =
                 R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{
                     "user":"system:serviceaccount:aliquot-system:)" +
                 account + R"(","groups":["system:serviceaccounts","system:authenticated"],
                     "resourceAttributes":{"verb":)" +
                 quoted(verb) + R"(,"group":)" + quoted(group) + R"(,"resource":)" +
                 quoted(resource) + R"(,"subresource":)" + quoted(subresource) +
                 R"(,"namespace":)" + quoted(space) + R"(,"name":)" + quoted(name) + "}}}",
             .content_type = "application/json",
             .what = "review"});
        EXPECT_TRUE(answer && answer->status == 201) << (answer ? answer->body : "");
        return answer && kube::bool_at(answer->body, "/status/allowed").value_or(false);
    }

    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;
    std::string kubeconfig_;
    kube::Connection connection_;
    unsigned tokens_ = 0;
};

Values everything() {
    Values values{.mig_config = "version: v1\nmig-configs: {}\n", .mps = true, .mig = true};
    values.mig_drain = "evict";
    values.labels = "nodefeature";
    values.metrics_api = values.critical_quota = true;
    values.node_taint = "dedicated=gpu:NoExecute";
    values.tolerations = {{.key = "a", .value = "true", .effect = "NoSchedule"}};
    return values;
}

TEST_P(InstallContract, EveryObjectIsAcceptedWithStrictValidation) {
    install();  // the namespace
    Values without = everything();
    without.gpu_access = GpuAccess::kRuntime;
    for (const Values& values : {Values(), everything(), without}) {
        auto manifests = render(values);
        manifests.push_back(clean_up_pod(values, "node-a"));
        for (const Manifest& one : manifests) {
            const auto resource = api().find_resource(one.api_version, one.kind);
            ASSERT_TRUE(resource) << one.title() << ": " << resource.failure().message;
            const auto answer = api().exchange(
                {.method = "PATCH",
                 .path = kube::path_of(*resource, {one.namespace_name, one.name}) +
                         "?fieldManager=aliquot&dryRun=All&fieldValidation=Strict&force=true",
                 .body = to_json(one),
                 .content_type = "application/apply-patch+yaml",
                 .what = "apply"});
            ASSERT_TRUE(answer) << answer.failure().message;
            EXPECT_TRUE(answer->status == 200 || answer->status == 201)
                << one.title() << ": " << answer->body;
        }
    }
}

TEST_P(InstallContract, ASecondTimeNothingChanges) {
    for (const Applied& one : install().applied) {
        EXPECT_TRUE(one.what == Applied::What::kCreated || one.manifest.kind == "Namespace")
            << one.manifest.title() << " " << to_text(one.what);
    }
    for (const Applied& one : install().applied) {
        const bool config = one.manifest.kind == "ConfigMap";
        EXPECT_EQ(one.what, config ? Applied::What::kKept : Applied::What::kUnchanged)
            << one.manifest.title() << " " << to_text(one.what);
    }
    std::set<std::string> changed;
    for (const Applied& one : install({.unhealthy_taint = "any"}).applied) {
        if (one.what == Applied::What::kChanged) changed.insert(one.manifest.title());
    }
    EXPECT_EQ(changed, std::set<std::string>{"DaemonSet aliquot-system/aliquot-agent"});
}

TEST_P(InstallContract, AnEditedConfigurationStaysUnlessAnotherIsGiven) {
    install();
    const kube::ObjectKey key{kSpace, "aliquot-config"};
    const std::string edit = R"({"data":{"default":"version: v1\n# mine\n","a2":"version: v1\n"}})";
    const auto edited =
        api().patch(config_maps(), key, edit, {.write = {.field_manager = "kubectl-edit"}});
    ASSERT_TRUE(edited) << edited.failure().message;
    install();
    EXPECT_EQ(kube::string_at(api().get(config_maps(), key)->json, "/data/default"),
              "version: v1\n# mine\n");
    const Values given{.config = {{"default", "version: v1\n# given\n"}}};
    const auto refused = apply(api(), render(given), {.replace_config = true});
    ASSERT_TRUE(refused.stopped);
    EXPECT_EQ(conflicts(refused.stopped->failure),
              std::vector<std::string>{".data.default belongs to kubectl-edit"});
    install(given, {.force = true, .replace_config = true});
    const auto now = api().get(config_maps(), key);
    EXPECT_EQ(kube::string_at(now->json, "/data/default"), "version: v1\n# given\n");
    EXPECT_EQ(kube::string_at(now->json, "/data/a2"), "version: v1\n");
}

TEST_P(InstallContract, ADryRunKeepsNothing) {
    install();
    const auto before = api().get(daemon_sets(), {kSpace, "aliquot-agent"});
    const auto result = apply(api(), render({.unhealthy_taint = "any"}), {.dry_run = true});
    ASSERT_FALSE(result.stopped) << result.stopped->failure.message;
    const auto daemon_set = std::ranges::find_if(
        result.applied, [](const Applied& one) { return one.manifest.kind == "DaemonSet"; });
    ASSERT_NE(daemon_set, result.applied.end());
    EXPECT_TRUE(daemon_set->after.contains("--unhealthy-taint=any"));
    const auto after = api().get(daemon_sets(), {kSpace, "aliquot-agent"});
    EXPECT_EQ(before->resource_version, after->resource_version);
}

/// "verb group/resource/subresource space/name"
struct Question {
    std::string verb, group, resource, subresource, space, name;
    [[nodiscard]] std::string text() const {
        return verb + " " + (group.empty() ? "" : group + "/") + resource +
               (subresource.empty() ? "" : "/" + subresource) + " " + space + "/" + name;
    }
};

/// All that somebody could want of what is worth wanting.
std::vector<Question> questions() {
    struct Kind {
        std::string group, resource, subresource;
        bool namespaced;
        std::vector<std::string> names;
    };
    const std::vector<Kind> kinds{
        {"", "nodes", "", false, {"node-a"}},
        {"", "nodes", "status", false, {"node-a"}},
        {"", "nodes", "proxy", false, {"node-a"}},
        {"", "namespaces", "", false, {"default"}},
        {"", "pods", "", true, {"web"}},
        {"", "pods", "exec", true, {"web"}},
        {"", "pods", "eviction", true, {"web"}},
        {"", "configmaps", "", true, {"aliquot-config", "aliquot-mig-config", "other"}},
        {"", "secrets", "", true, {"aliquot-webhook", "other"}},
        {"", "serviceaccounts", "", true, {"aliquot-agent"}},
        {"", "serviceaccounts", "token", true, {"aliquot-agent"}},
        {"", "events", "", true, {"e"}},
        {"events.k8s.io", "events", "", true, {"e"}},
        {"coordination.k8s.io", "leases", "", true, {"aliquot-controller", "other"}},
        {"apps", "daemonsets", "", true, {"aliquot-agent"}},
        {"nfd.k8s-sigs.io", "nodefeatures", "", true, {"node-a"}},
        {"rbac.authorization.k8s.io", "clusterroles", "", false, {"aliquot-agent"}},
        {"rbac.authorization.k8s.io", "clusterrolebindings", "", false, {"aliquot-agent"}},
        {"admissionregistration.k8s.io",
         "mutatingwebhookconfigurations",
         "",
         false,
         {"aliquot", "other"}},
        {"admissionregistration.k8s.io",
         "validatingadmissionpolicies",
         "",
         false,
         {"aliquot-agent-own-node"}}};
    std::vector<Question> all;
    for (const Kind& kind : kinds) {
        for (const char* const verb :
             {"get", "list", "watch", "create", "update", "patch", "delete"}) {
            for (const std::string& space :
                 kind.namespaced ? std::vector<std::string>{kSpace, "default", "kube-system"}
                                 : std::vector<std::string>{""}) {
                for (const std::string& name : kind.names) {
                    // A new object has no name yet when rights are asked.
                    const bool nameless =
                        std::string_view(verb) == "create" && kind.subresource.empty();
                    all.push_back({verb, kind.group, kind.resource, kind.subresource, space,
                                   nameless ? "" : name});
                }
            }
        }
    }
    return all;
}

std::set<std::string> expand(const std::string& verbs, const std::string& what) {
    std::set<std::string> made;
    std::istringstream words(verbs);
    for (std::string verb; words >> verb;) made.insert(verb + " " + what);
    return made;
}

std::set<std::string> all_of(std::initializer_list<std::set<std::string>> parts) {
    std::set<std::string> made;
    for (const auto& part : parts) made.insert(part.begin(), part.end());
    return made;
}

TEST_P(InstallContract, TheAgentMayDoWhatIsListedAndNothingElse) {
    install({.labels = "nodefeature"});
    std::set<std::string> allowed;
    for (const Question& one : questions()) {
        if (may("aliquot-agent", one.verb, one.group, one.resource, one.subresource, one.space,
                one.name)) {
            allowed.insert(one.text());
        }
    }
    EXPECT_EQ(
        allowed,
        all_of({expand("get list watch patch", "nodes /node-a"),
                expand("patch", "nodes/status /node-a"),
                expand("get list watch", "configmaps aliquot-system/aliquot-config"),
                expand("get list watch", "configmaps aliquot-system/aliquot-mig-config"),
                expand("get patch delete", "nfd.k8s-sigs.io/nodefeatures aliquot-system/node-a"),
                expand("create", "nfd.k8s-sigs.io/nodefeatures aliquot-system/"),
                expand("create", "events.k8s.io/events default/"),
                expand("patch", "events.k8s.io/events default/e")}));
    EXPECT_FALSE(may("aliquot-agent", "list", "", "pods", "", "", ""));
    install({.mig = true, .mig_drain = "evict"});
    EXPECT_TRUE(may("aliquot-agent", "list", "", "pods", "", "", ""));
    EXPECT_TRUE(may("aliquot-agent", "create", "", "pods", "eviction", "default", "web"));
    EXPECT_FALSE(may("aliquot-agent", "delete", "", "pods", "", "default", "web"));
}

TEST_P(InstallContract, TheControllerMayDoWhatIsListedAndNothingElse) {
    install();
    std::set<std::string> allowed;
    for (const Question& one : questions()) {
        if (may("aliquot-controller", one.verb, one.group, one.resource, one.subresource, one.space,
                one.name)) {
            allowed.insert(one.text());
        }
    }
    EXPECT_EQ(allowed,
              all_of({expand("list watch", "nodes /node-a"),
                      expand("list watch patch",
                             "admissionregistration.k8s.io/mutatingwebhookconfigurations /aliquot"),
                      expand("create", "secrets aliquot-system/"),
                      expand("list watch update", "secrets aliquot-system/aliquot-webhook"),
                      expand("create", "coordination.k8s.io/leases aliquot-system/"),
                      expand("get update",
                             "coordination.k8s.io/leases aliquot-system/aliquot-controller")}));
}

std::string node_json(const std::string& name) {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"("}})";
}

std::string agent_pod(const std::string& name, const std::string& node) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"("},"spec":{"serviceAccountName":"aliquot-agent","nodeName":")" + node +
           R"(","containers":[{"name":"agent","image":"none.invalid/a:1"}]}})";
}

TEST_P(InstallContract, ADeniedVerbIsDenied) {
    install();
    make(nodes(), "", node_json("node-a"));
    const auto agent = with_token(token_of("aliquot-agent"));
    EXPECT_TRUE(agent.api->get(nodes(), {"", "node-a"}));
    const auto removed = agent.api->remove(nodes(), {"", "node-a"});
    ASSERT_FALSE(removed);
    EXPECT_TRUE(removed.failure().is(Reason::kForbidden)) << removed.failure().message;
    const auto secrets = agent.api->list(kube::resources::secrets(), {.namespace_name = kSpace});
    ASSERT_FALSE(secrets);
    EXPECT_TRUE(secrets.failure().is(Reason::kForbidden)) << secrets.failure().message;
    const auto config =
        agent.api->patch(config_maps(), {kSpace, "aliquot-config"}, R"({"data":{"x":"y"}})");
    ASSERT_FALSE(config);
    EXPECT_TRUE(config.failure().is(Reason::kForbidden)) << config.failure().message;
    EXPECT_TRUE(agent.api->get(config_maps(), {kSpace, "aliquot-config"}));
}

TEST_P(InstallContract, AnAgentChangesItsOwnNodeOnly) {
    if (!real()) GTEST_SKIP() << "the simulated server does not obey admission policies";
    install();
    make(nodes(), "", node_json("node-a"));
    make(nodes(), "", node_json("node-b"));
    const auto pod = make(pods(), kSpace, agent_pod("agent-a", "node-a"));
    ASSERT_TRUE(pod);
    const auto agent = with_token(token_of("aliquot-agent", &*pod));
    const std::string label = R"({"metadata":{"labels":{"nvidia.com/gpu.count":"1"}}})";
    // A new policy takes a moment until the server obeys it.
    kube::Outcome<kube::Object> other = agent.api->patch(nodes(), {"", "node-b"}, label);
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
    const auto status =
        agent.api->patch(nodes(), {"", "node-a"},
                         R"({"status":{"conditions":[{"type":"GpuHealthy","status":"True"}]}})",
                         {.kind = kube::PatchKind::kStrategic, .write = {.subresource = "status"}});
    EXPECT_TRUE(status) << status.failure().message;
    const auto loose = with_token(token_of("aliquot-agent"));
    EXPECT_FALSE(loose.api->patch(nodes(), {"", "node-a"}, label));  // its token names no node
    // Others are not concerned.
    EXPECT_TRUE(api().patch(nodes(), {"", "node-b"}, label));
}

TEST_P(InstallContract, ItsNamespaceMustAllowPrivilegedPods) {
    install();
    const auto daemon_set = api().get(daemon_sets(), {kSpace, "aliquot-agent"});
    const std::string spec = *kube::json_at(daemon_set->json, "/spec/template/spec");
    const std::string pod =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"probe"},"spec":)" + spec + "}";
    const kube::WriteOptions dry{.dry_run = true};
    const auto allowed = api().create(pods(), kSpace, pod, dry);
    EXPECT_TRUE(allowed) << allowed.failure().message;
    for (const char* const level : {"restricted", "baseline"}) {
        const auto label = [this](const std::string& word) {
            const auto done =
                api().patch(namespaces(), {"", kSpace},
                            R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":")" +
                                word + R"("}}})");
            EXPECT_TRUE(done) << done.failure().message;
        };
        label(level);
        auto refused = api().create(pods(), kSpace, pod, dry);
        for (int i = 0; i < 100 && refused; ++i) {  // the server's view of namespaces lags
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            refused = api().create(pods(), kSpace, pod, dry);
        }
        label("privileged");
        ASSERT_FALSE(refused) << level;
        EXPECT_TRUE(refused.failure().message.contains("violates PodSecurity"))
            << refused.failure().message;
    }
}

/// Marks clean-up pods as done, as a kubelet would.
class Kubelet {
public:
    explicit Kubelet(kube::Api& api)
        : thread_([&api](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  const auto found =
                      api.list(pods(), {.namespace_name = kSpace,
                                        .label_selector = "app.kubernetes.io/component=clean-up"});
                  for (const kube::Object& pod :
                       found ? found->items : std::vector<kube::Object>()) {
                      (void)api.patch(pods(), pod.key(), R"({"status":{"phase":"Succeeded"}})",
                                      {.write = {.subresource = "status"}});
                  }
                  std::this_thread::sleep_for(std::chrono::milliseconds(50));
              }
          }) {}

private:
    std::jthread thread_;
};

TEST_P(InstallContract, UninstallLeavesNodesAsTheyWereAndNothingOfOurs) {
    const auto before =
        make(nodes(), "", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a",
        "labels":{"team":"vision","nvidia.com/gpu.family":"mine"}},
        "spec":{"taints":[{"key":"dedicated","value":"x","effect":"NoSchedule"}]}})");
    ASSERT_TRUE(before);
    install();
    std::string taints = *kube::json_at(before->json, "/spec/taints");
    taints.insert(1, R"({"key":"nvidia.com/gpu","value":"true","effect":"NoSchedule"},)");
    const auto wrote =
        api().patch(nodes(), {"", "node-a"},
                    R"({"metadata":{"labels":{"nvidia.com/gpu.count":"2"},"annotations":{
            "aliquot.dev/agent":"0.1.0","aliquot.dev/owned-labels":"nvidia.com/gpu.count",
            "aliquot.dev/owned-taints":"nvidia.com/gpu:NoSchedule","aliquot.dev/gpus":"[]"}},
            "spec":{"taints":)" +
                        taints + "}}");
    ASSERT_TRUE(wrote) << wrote.failure().message;
    const kube::PatchOptions to_status{.kind = kube::PatchKind::kStrategic,
                                       .write = {.subresource = "status"}};
    ASSERT_TRUE(api().patch(nodes(), {"", "node-a"},
                            R"({"status":{"conditions":[{"type":"GpuHealthy","status":"True"},
                                                        {"type":"Ready","status":"True"}]}})",
                            to_status));
    UninstallOptions options{.keep_config = true, .limit = std::chrono::seconds(20)};
    const auto asked = uninstall(api(), {.dry_run = true, .limit = std::chrono::seconds(1)});
    EXPECT_GT(asked.removed.size(), 15U);
    EXPECT_TRUE(api().get(daemon_sets(), {kSpace, "aliquot-agent"}));
    UninstallResult result;
    {
        const Kubelet kubelet(api());
        result = uninstall(api(), options);
    }
    EXPECT_TRUE(result.problems.empty()) << result.problems.front();
    ASSERT_EQ(result.nodes.size(), 1U);
    EXPECT_EQ(result.nodes[0].host, "cleaned");
    EXPECT_EQ(result.nodes[0].removed.size(), 7U);
    const auto after = api().get(nodes(), {"", "node-a"});
    for (const char* const place : {"/metadata/labels", "/metadata/annotations", "/spec/taints"}) {
        EXPECT_EQ(kube::json_at(after->json, place).value_or("{}"),
                  kube::json_at(before->json, place).value_or("{}"))
            << place;
    }
    EXPECT_EQ(kube::string_at(after->json, "/status/conditions/0/type"), "Ready");
    EXPECT_FALSE(kube::json_at(after->json, "/status/conditions/1"));
    EXPECT_EQ(result.kept, (std::vector<std::string>{"ConfigMap aliquot-system/aliquot-config",
                                                     "ConfigMap aliquot-system/anchor",
                                                     "Namespace aliquot-system"}));
    for (const Manifest& one : render({})) {
        if (one.kind == "Namespace" || one.kind == "ConfigMap") continue;
        const auto resource = api().find_resource(one.api_version, one.kind);
        ASSERT_TRUE(resource);
        EXPECT_FALSE(api().get(*resource, {one.namespace_name, one.name})) << one.title();
    }
    const auto again = uninstall(api(), options);
    EXPECT_TRUE(again.removed.empty()) << again.removed.front();
    EXPECT_TRUE(again.nodes.empty());
    EXPECT_TRUE(again.problems.empty());
}

TEST_P(InstallContract, AHostThatDoesNotAnswerIsSaidToRemain) {
    make(nodes(), "", node_json("node-a"));
    ASSERT_TRUE(api().patch(nodes(), {"", "node-a"},
                            R"({"metadata":{"annotations":{"aliquot.dev/agent":"0.1.0"}}})"));
    install();
    const auto result = uninstall(api(), {.keep_config = true, .limit = std::chrono::seconds(1)});
    ASSERT_EQ(result.nodes.size(), 1U);
    EXPECT_TRUE(result.nodes[0].host.starts_with("not cleaned")) << result.nodes[0].host;
    ASSERT_FALSE(result.remains.empty());
    EXPECT_TRUE(result.remains[0].contains("node-a: /var/lib/aliquot")) << result.remains[0];
}

TEST_P(InstallContract, TheNamespaceGoesLast) {
    if (real()) GTEST_SKIP() << "nobody empties a namespace there";
    install();
    const auto result = uninstall(api(), {.limit = std::chrono::seconds(20)});
    EXPECT_TRUE(result.problems.empty()) << result.problems.front();
    EXPECT_EQ(result.removed.back(), "Namespace aliquot-system");
    EXPECT_TRUE(result.remains.empty()) << result.remains.front();
    EXPECT_FALSE(api().get(namespaces(), {"", kSpace}));
}

INSTANTIATE_TEST_SUITE_P(Cluster, InstallContract, testing::Values("Simulated", "Real"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace aliquot::install
