// SPDX-License-Identifier: Apache-2.0
// What install brings into a cluster: accepted, idempotent, and gone after uninstall. ALIQUOT_TEST_KUBECONFIG names a real API server that is there for this alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "install/uninstall.h"
#include "tests/contract/install_world.h"

namespace aliquot::install {
namespace {

using kube_client::resources::config_maps;
using kube_client::resources::daemon_sets;
using kube_client::resources::namespaces;
using kube_client::resources::nodes;
using kube_client::resources::pods;

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
                 .path = kube_client::path_of(*resource, {one.namespace_name, one.name}) +
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
    const kube_client::ObjectKey key{kSpace, "aliquot-config"};
    const std::string edit = R"({"data":{"default":"version: v1\n# mine\n","a2":"version: v1\n"}})";
    const auto edited =
        api().patch(config_maps(), key, edit, {.write = {.field_manager = "kubectl-edit"}});
    ASSERT_TRUE(edited) << edited.failure().message;
    install();
    EXPECT_EQ(kube_client::string_at(api().get(config_maps(), key)->json, "/data/default"),
              "version: v1\n# mine\n");
    const Values given{.config = {{"default", "version: v1\n# given\n"}}};
    const auto refused = apply(api(), render(given), {.replace_config = true});
    ASSERT_TRUE(refused.stopped);
    EXPECT_EQ(conflicts(refused.stopped->failure),
              std::vector<std::string>{".data.default belongs to kubectl-edit"});
    install(given, {.force = true, .replace_config = true});
    const auto now = api().get(config_maps(), key);
    EXPECT_EQ(kube_client::string_at(now->json, "/data/default"), "version: v1\n# given\n");
    EXPECT_EQ(kube_client::string_at(now->json, "/data/a2"), "version: v1\n");
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

constexpr const char* kSucceeded = R"({"status":{"phase":"Succeeded"}})";
// As kubelet has it while it waits before it starts the container again.
constexpr const char* kHeldUp =
    R"({"status":{"phase":"Running","containerStatuses":[{"name":"clean-up",
    "image":"x","imageID":"x","ready":false,"restartCount":1,
    "state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}},
    "lastState":{"terminated":{"exitCode":4,"message":"aliquot-agent: /run/aliquot/regions stays: containers with limits run: a/b/c\n"}}}]}})";

/// Says of clean-up pods how they ended, and removes them when told to, as a kubelet would.
class Kubelet {
public:
    explicit Kubelet(kube_client::Api& api, std::string ending = kSucceeded)
        : thread_([&api, ending = std::move(ending)](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  const auto found =
                      api.list(pods(), {.namespace_name = kSpace,
                                        .label_selector = "app.kubernetes.io/component=clean-up"});
                  for (const kube_client::Object& pod :
                       found ? found->items : std::vector<kube_client::Object>()) {
                      if (kube_client::read_metadata(pod.json)->deleting)
                          (void)api.remove(pods(), pod.key(), {.grace_seconds = 0});
                      (void)api.patch(pods(), pod.key(), ending,
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
    std::string taints = *kube_client::json_at(before->json, "/spec/taints");
    taints.insert(1, R"({"key":"nvidia.com/gpu","value":"true","effect":"NoSchedule"},)");
    const auto wrote =
        api().patch(nodes(), {"", "node-a"},
                    R"({"metadata":{"labels":{"nvidia.com/gpu.count":"2"},"annotations":{
            "aliquot.dev/agent":"0.1.0","aliquot.dev/owned-labels":"nvidia.com/gpu.count",
            "aliquot.dev/owned-taints":"nvidia.com/gpu:NoSchedule","aliquot.dev/gpus":"[]"}},
            "spec":{"taints":)" +
                        taints + "}}");
    ASSERT_TRUE(wrote) << wrote.failure().message;
    const kube_client::PatchOptions to_status{.kind = kube_client::PatchKind::kStrategic,
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
        EXPECT_EQ(kube_client::json_at(after->json, place).value_or("{}"),
                  kube_client::json_at(before->json, place).value_or("{}"))
            << place;
    }
    EXPECT_EQ(kube_client::string_at(after->json, "/status/conditions/0/type"), "Ready");
    EXPECT_FALSE(kube_client::json_at(after->json, "/status/conditions/1"));
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

// kubelet would start the pod again and again; uninstall waited two minutes for it, said that all files remain, and
// found nothing of ours the next time.
TEST_P(InstallContract, AHostWhoseContainersStillRunIsToldAtOnceAndFoundAgain) {
    if (real()) GTEST_SKIP() << "its kubelet would have to say so";
    make(nodes(), "", node_json("node-a"));
    ASSERT_TRUE(api().patch(nodes(), {"", "node-a"},
                            R"({"metadata":{"annotations":{"aliquot.dev/agent":"0.1.0"}}})"));
    install();
    UninstallOptions options{.keep_config = false, .limit = std::chrono::seconds(60)};
    {
        const Kubelet kubelet(api(), kHeldUp);
        const auto begin = std::chrono::steady_clock::now();
        const auto result = uninstall(api(), options);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
        EXPECT_EQ(
            result.remains,
            (std::vector<std::string>{
                "on node node-a: /run/aliquot/regions stays: containers with limits run: a/b/c; "
                "run uninstall again when they have ended"}));
    }
    EXPECT_FALSE(api().get(namespaces(), {"", kSpace}));
    const Kubelet kubelet(api());
    const auto again = uninstall(api(), options);
    ASSERT_EQ(again.nodes.size(), 1U);
    EXPECT_EQ(again.nodes[0].host, "cleaned");
    EXPECT_TRUE(again.remains.empty()) << again.remains.front();
    const auto node = api().get(nodes(), {"", "node-a"});
    EXPECT_FALSE(kube_client::string_at(node->json, "/metadata/annotations/aliquot.dev~1agent"));
    EXPECT_FALSE(api().get(namespaces(), {"", kSpace}));
}

TEST_P(InstallContract, AResourceThatKubeletHasForgottenIsTakenOffTheNodeTheNextTime) {
    make(nodes(), "", node_json("node-a"));
    ASSERT_TRUE(api().patch(nodes(), {"", "node-a"},
                            R"({"metadata":{"annotations":{"aliquot.dev/agent":"0.1.0"}}})"));
    const kube_client::PatchOptions to_status{.write = {.subresource = "status"}};
    ASSERT_TRUE(api().patch(nodes(), {"", "node-a"},
                            R"({"status":{"capacity":{"cpu":"1","nvidia.com/gpu":"0"},
                                "allocatable":{"cpu":"1","nvidia.com/gpu":"0"}}})",
                            to_status));
    install();
    const Kubelet kubelet(api());
    const UninstallOptions options{.keep_config = true, .limit = std::chrono::seconds(20)};
    const auto first = uninstall(api(), options);
    ASSERT_EQ(first.remains.size(), 1U);
    EXPECT_TRUE(first.remains[0].starts_with("node node-a lists nvidia.com/gpu, with 0"));
    const auto second = uninstall(api(), options);
    ASSERT_EQ(second.nodes.size(), 1U);
    EXPECT_EQ(second.nodes[0].removed, std::vector<std::string>{"resource nvidia.com/gpu"});
    const auto node = api().get(nodes(), {"", "node-a"});
    EXPECT_EQ(kube_client::json_at(node->json, "/status/capacity"), R"({"cpu":"1"})");
    EXPECT_TRUE(uninstall(api(), options).nodes.empty());
}

// `install -o yaml | kubectl apply -f -`, then `install`: the fields belong to kubectl.
TEST_P(InstallContract, WhatKubectlAppliedOfOurObjectsIsTakenOver) {
    for (const Manifest& one : render({})) {
        const auto resource = api().find_resource(one.api_version, one.kind);
        ASSERT_TRUE(resource) << one.title();
        const auto answer = api().exchange(
            {.method = "PATCH",
             .path = kube_client::path_of(*resource, {one.namespace_name, one.name}) +
                     "?fieldManager=kubectl&force=true",
             .body = to_json(one),
             .content_type = "application/apply-patch+yaml",
             .what = "apply"});
        ASSERT_TRUE(answer) << answer.failure().message;
    }
    const auto done = apply(api(), render({.unhealthy_taint = "any"}), {});
    ASSERT_FALSE(done.stopped) << done.stopped->title << ": " << done.stopped->failure.message;
    const auto daemon_set = std::ranges::find_if(
        done.applied, [](const Applied& one) { return one.manifest.kind == "DaemonSet"; });
    ASSERT_NE(daemon_set, done.applied.end());
    EXPECT_EQ(daemon_set->why, "taken over from kubectl apply");
    EXPECT_TRUE(daemon_set->after.contains("--unhealthy-taint=any"));
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
