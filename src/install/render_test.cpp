// SPDX-License-Identifier: Apache-2.0
#include "install/render.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "document/json.h"
#include "install/rendered.h"
#include "pools/definition.h"

namespace aliquot::install {
namespace {

std::vector<std::string> args(const Values& values) {
    const Value agent = object(values, "DaemonSet", "aliquot-agent");
    std::vector<std::string> words;
    for (const Value& one : at(agent, "spec.template.spec.containers.0.args")->items) {
        words.push_back(one.scalar);
    }
    return words;
}

TEST(Render, TheKustomizeBaseIsWhatInstallPrints) {
    expect_file(kDeploy / "kustomize/base/aliquot.yaml", to_yaml(render({})));
}

TEST(Render, TheChartsTemplatesAreOfTheSameSource) {
    for (const auto& [file, text] : chart_files()) {
        expect_file(kDeploy / "helm/aliquot" / file, text);
    }
}

TEST(Render, TheSameValuesGiveTheSameBytes) {
    EXPECT_EQ(to_yaml(render({})), to_yaml(render({})));
    EXPECT_EQ(to_yaml(render({})).find('@'), std::string::npos);
}

TEST(Render, EveryObjectHasTheLabelsThatUninstallGoesBy) {
    Values all{.mig_config = "version: v1\nmig-configs: {}\n", .mig = true, .mig_drain = "evict"};
    all.service_monitor = all.pod_monitor = all.prometheus_rule = all.metrics_api = true;
    all.critical_quota = true;
    all.labels = "nodefeature";
    std::set<std::string> titles;
    for (const Manifest& one : render(all)) {
        const Value node = node_of(one);
        const Value* const labels = at(node, "metadata.labels");
        ASSERT_NE(labels, nullptr) << one.title();
        EXPECT_EQ(labels->find("app.kubernetes.io/part-of")->scalar, "aliquot") << one.title();
        EXPECT_TRUE(titles.insert(one.title()).second) << one.title() << " is there twice";
    }
    EXPECT_EQ(titles.size(), 33U);
}

TEST(Render, NamespaceAndRightsComeBeforeWhatNeedsThem) {
    const auto all = render({});
    EXPECT_EQ(all.front().title(), "Namespace aliquot-system");
    const auto place = [&all](const std::string& kind, const std::string& name) {
        return find(all, kind, name) - all.data();
    };
    EXPECT_LT(place("ServiceAccount", "aliquot-agent"), place("DaemonSet", "aliquot-agent"));
    EXPECT_LT(place("ClusterRoleBinding", "aliquot-agent"), place("DaemonSet", "aliquot-agent"));
    EXPECT_LT(place("ConfigMap", "aliquot-config"), place("DaemonSet", "aliquot-agent"));
    EXPECT_LT(place("Deployment", "aliquot-controller"),
              place("MutatingWebhookConfiguration", "aliquot"));
}

TEST(Render, FlagsStandInTheAgentsCommandLineOnlyWhereTheyDifferFromItsDefaults) {
    EXPECT_EQ(args({}), (std::vector<std::string>{
                            "--fail-on-init-error=false", "--device-list-strategy=cdi-cri",
                            "--metrics-listen=:9400", "--probe-listen=:9401"}));
    Values values{.profile = Profile::kEks, .driver_root = "/run/nvidia/driver"};
    values.default_config = "a2";
    values.labels = "off";
    values.label_profiles = {"present", "role"};
    values.node_taint = "nvidia.com/gpu=true:NoSchedule";
    values.unhealthy_taint = "any";
    values.mig = true;
    values.mig_drain = "wait";
    values.agent_args = {"--log-format=json"};
    EXPECT_EQ(args(values),
              (std::vector<std::string>{
                  "--fail-on-init-error=false", "--device-list-strategy=envvar",
                  "--metrics-listen=:9400", "--probe-listen=:9401",
                  "--nvidia-driver-root=/run/nvidia/driver", "--default-config=a2", "--labels=off",
                  "--label-profile=present,role", "--node-taint=nvidia.com/gpu=true:NoSchedule",
                  "--unhealthy-taint=any", "--mig", "--mig-drain=wait", "--log-format=json"}));
}

TEST(Render, ATextThatYamlTakesForSomethingElseStaysAText) {
    Values values;
    values.node_selector = {{"gpu", "true"}, {"pool", "8"}};
    values.tolerations = {{.key = "dedicated", .value = "1", .effect = "NoExecute"},
                          {.key = "any", .value = {}, .effect = {}}};
    values.config = {{"8", "version: v1\n"}, {"odd", "# no break at the end\nversion: v1"}};
    const Value agent = object(values, "DaemonSet", "aliquot-agent");
    const Value* const selector = at(agent, "spec.template.spec.nodeSelector");
    EXPECT_TRUE(selector->find("gpu")->is_string());
    EXPECT_TRUE(selector->find("pool")->is_string());
    EXPECT_EQ(selector->find("kubernetes.io/os")->scalar, "linux");
    const Value* const own = at(agent, "spec.template.spec.tolerations.3");
    EXPECT_TRUE(own->find("value")->is_string());
    EXPECT_EQ(text_at(*own, "operator"), "Equal");
    EXPECT_EQ(text_at(agent, "spec.template.spec.tolerations.4.operator"), "Exists");
    const Value config = object(values, "ConfigMap", "aliquot-config");
    EXPECT_EQ(at(config, "data")->find("8")->scalar, "version: v1\n");
    EXPECT_EQ(at(config, "data")->find("odd")->scalar, "# no break at the end\nversion: v1");
}

TEST(Render, ATaintOfOurOwnIsTolerated) {
    const Value agent =
        object({.node_taint = "dedicated=gpu:NoExecute"}, "DaemonSet", "aliquot-agent");
    EXPECT_EQ(text_at(agent, "spec.template.spec.tolerations.3.key"), "dedicated");
}

TEST(Render, ProfilesDifferWhereKubeletAndTheApiServerAre) {
    for (const auto& [profile, directory, port] :
         {std::tuple(Profile::kKubeadm, "/var/lib/kubelet/pod-resources", "6443"),
          std::tuple(Profile::kMicrok8s, "/var/snap/microk8s/common/var/lib/kubelet/pod-resources",
                     "16443"),
          std::tuple(Profile::kK3s, "/var/lib/kubelet/pod-resources", "6443"),
          std::tuple(Profile::kEks, "/var/lib/kubelet/pod-resources", "443")}) {
        const Value agent = object({.profile = profile}, "DaemonSet", "aliquot-agent");
        EXPECT_EQ(text_at(agent, "spec.template.spec.volumes.0.hostPath.path"),
                  "/var/lib/kubelet/device-plugins");
        EXPECT_EQ(text_at(agent, "spec.template.spec.volumes.1.hostPath.path"), directory);
        const Value policy = object({.profile = profile}, "NetworkPolicy", "aliquot-agent");
        EXPECT_EQ(text_at(policy, "spec.egress.0.ports.1.port"), port);
    }
}

/// The names of volumes that are mounted read-only, and of the others.
std::map<std::string, bool> mounts(const Value& agent) {
    std::map<std::string, bool> read_only;
    std::set<std::string> volumes;
    for (const Value& one : at(agent, "spec.template.spec.volumes")->items) {
        volumes.insert(text_at(one, "name"));
    }
    for (const Value& one : at(agent, "spec.template.spec.containers.0.volumeMounts")->items) {
        read_only[text_at(one, "name")] = text_at(one, "readOnly") == "true";
        EXPECT_EQ(volumes.erase(text_at(one, "name")), 1U);
    }
    EXPECT_TRUE(volumes.empty()) << "a volume that nobody mounts: " << *volumes.begin();
    return read_only;
}

TEST(Render, TheAgentHasThesePrivilegesAndNoOthers) {
    const Value agent = object({}, "DaemonSet", "aliquot-agent");
    EXPECT_EQ(mounts(agent), (std::map<std::string, bool>{{"device-plugins", false},
                                                          {"pod-resources", true},
                                                          {"cdi", false},
                                                          {"run", false},
                                                          {"state", false},
                                                          {"driver-root", true},
                                                          {"dev", false},
                                                          {"pod-logs", true},
                                                          {"container-logs", true}}));
    const Value* const pod = at(agent, "spec.template.spec");
    EXPECT_EQ(text_at(*pod, "hostPID"), "true");
    EXPECT_EQ(pod->find("hostNetwork"), nullptr);
    EXPECT_EQ(pod->find("hostIPC"), nullptr);
    EXPECT_EQ(text_at(*pod, "containers.0.securityContext.readOnlyRootFilesystem"), "true");
}

TEST(Render, WithNvidiasRuntimeTheAgentIsNotPrivileged) {
    Values values{.gpu_access = GpuAccess::kRuntime, .runtime_class = "nvidia"};
    const auto capabilities = [&values] {
        std::string words;
        const Value agent = object(values, "DaemonSet", "aliquot-agent");
        const Value* const context = at(agent, "spec.template.spec.containers.0.securityContext");
        EXPECT_EQ(context->find("privileged"), nullptr);
        EXPECT_EQ(text_at(*context, "allowPrivilegeEscalation"), "false");
        EXPECT_EQ(text_at(*context, "seccompProfile.type"), "RuntimeDefault");
        EXPECT_EQ(text_at(*context, "capabilities.drop.0"), "ALL");
        EXPECT_FALSE(mounts(agent).contains("dev"));
        for (const Value& one : at(*context, "capabilities.add")->items) words += one.scalar + " ";
        return words;
    };
    EXPECT_EQ(capabilities(), "SYS_PTRACE KILL ");
    values.mig = true;
    EXPECT_EQ(capabilities(), "SYS_PTRACE KILL SYS_ADMIN ");
    values.mps = true;
    EXPECT_EQ(capabilities(), "SYS_PTRACE KILL SYS_ADMIN SETUID SETGID ");
    const Value agent = object(values, "DaemonSet", "aliquot-agent");
    EXPECT_EQ(text_at(agent, "spec.template.spec.runtimeClassName"), "nvidia");
    EXPECT_TRUE(mounts(agent).contains("mps"));
}

TEST(Render, TheGuideTellsOfEveryPrivilege) {
    const std::string guide = text_of(fs::path(ALIQUOT_SOURCE_DIR) / "docs/guide/install.md");
    Values values{.gpu_access = GpuAccess::kRuntime, .mps = true, .mig = true};
    for (int i = 0; i < 2; ++i) {
        const Value agent = object(values, "DaemonSet", "aliquot-agent");
        const Value& container = *at(agent, "spec.template.spec.containers.0");
        for (const Value& one : container.find("volumeMounts")->items) {
            EXPECT_TRUE(guide.contains("| `" + text_at(one, "mountPath") + "`") ||
                        guide.contains(", `" + text_at(one, "mountPath") + "`"))
                << text_at(one, "mountPath");
        }
        const Value* const added = at(container, "securityContext.capabilities.add");
        for (const Value& one : added == nullptr ? std::vector<Value>() : added->items) {
            EXPECT_TRUE(guide.contains("`" + one.scalar + "`")) << one.scalar;
        }
        values.gpu_access = GpuAccess::kPrivileged;
    }
    EXPECT_TRUE(guide.contains("`hostPID`"));
    EXPECT_TRUE(guide.contains("`privileged: true`"));
}

TEST(Render, OptionsBringTheirRightsAndTheirObjects) {
    const auto rules = [](const Values& values, const std::string& kind) {
        return at(object(values, kind, "aliquot-agent"), "rules")->items.size();
    };
    EXPECT_EQ(rules({}, "ClusterRole"), 2U);
    EXPECT_EQ(rules({.mig = true}, "ClusterRole"), 2U);
    EXPECT_EQ(rules({.mig = true, .mig_drain = "evict"}, "ClusterRole"), 4U);
    EXPECT_EQ(rules({.placement = true}, "ClusterRole"), 3U);
    EXPECT_EQ(rules({}, "Role"), 1U);
    EXPECT_EQ(rules({.labels = "nodefeature"}, "Role"), 2U);
    const auto all = render({.webhook = false, .network_policy = false, .own_node_policy = false});
    for (const char* const kind : {"Deployment", "MutatingWebhookConfiguration", "NetworkPolicy",
                                   "PodDisruptionBudget", "ValidatingAdmissionPolicy"}) {
        for (const Manifest& one : all) EXPECT_NE(one.kind, kind);
    }
    EXPECT_NE(find(render({.prometheus_rule = true}), "PrometheusRule", "aliquot"), nullptr);
}

TEST(Render, PlacementIsAWebhookOfItsOwnForNamespacesThatAskForIt) {
    const Values values{.placement = true};
    const Value configuration = object(values, "MutatingWebhookConfiguration", "aliquot");
    ASSERT_EQ(at(configuration, "webhooks")->items.size(), 2U);
    EXPECT_EQ(text_at(configuration, "webhooks.1.clientConfig.service.path"), "/gate/pods");
    EXPECT_EQ(text_at(configuration, "webhooks.1.failurePolicy"), "Ignore");
    EXPECT_EQ(text_at(configuration, "webhooks.1.namespaceSelector.matchExpressions.1.key"),
              "aliquot.dev/placement");
    EXPECT_EQ(at(object({}, "MutatingWebhookConfiguration", "aliquot"), "webhooks")->items.size(),
              1U);
    const auto all = render(values);
    EXPECT_NE(find(all, "ValidatingAdmissionPolicy", "aliquot-plan"), nullptr);
    EXPECT_NE(find(all, "ValidatingAdmissionPolicyBinding", "aliquot-plan"), nullptr);
    EXPECT_EQ(find(render({}), "ValidatingAdmissionPolicy", "aliquot-plan"), nullptr);
    EXPECT_FALSE(check({.webhook = false, .placement = true}));
    EXPECT_FALSE(check({.placement_preemption = true}));
    const auto may_evict = [](const Values& some) {
        const auto rendered = render(some);
        return to_json(*find(rendered, "ClusterRole", "aliquot-controller"))
            .contains("pods/eviction");
    };
    EXPECT_FALSE(may_evict(values));
    EXPECT_TRUE(may_evict({.placement = true, .placement_preemption = true}));
}

TEST(Render, PoolsComeWithTheirDefinitionAndTheRightsToTendThem) {
    EXPECT_FALSE(check({.webhook = false, .pools = true}));
    EXPECT_EQ(find(render({}), "CustomResourceDefinition", "pools.aliquot.dev"), nullptr);
    const auto all = render({.pools = true});
    const auto* const made = find(all, "CustomResourceDefinition", "pools.aliquot.dev");
    ASSERT_NE(made, nullptr);
    // What `aliquot pool crd` prints.
    EXPECT_EQ(to_json(*made), document::to_json(pools::pool_definition()));
    const std::string may = to_json(*find(all, "ClusterRole", "aliquot-controller"));
    EXPECT_TRUE(may.contains("pools/status") && may.contains("nodepools"));
    const std::string runs = to_json(*find(all, "Deployment", "aliquot-controller"));
    EXPECT_TRUE(runs.contains("\"--pools\""));
}

TEST(Render, CostsComeWithAPlaceForThemAndTheWayToTheAgents) {
    const auto deployment = [](const Values& values) {
        return to_json(*find(render(values), "Deployment", "aliquot-controller"));
    };
    EXPECT_FALSE(deployment({}).contains("cost"));
    const std::string kept = deployment({.cost_store = "claim/costs"});
    EXPECT_TRUE(kept.contains(R"("--cost-store=/var/lib/aliquot/cost.sqlite")")) << kept;
    EXPECT_TRUE(kept.contains(R"("claimName": "costs")")) << kept;
    EXPECT_TRUE(kept.contains(R"("replicas": 1)")) << "a volume that one node may mount";
    const Values database{.cost_store = "postgresql://db.lab:6432/aliquot",
                          .cost_secret = "database",
                          .prices = "apiVersion: aliquot.dev/v1alpha1\nkind: Prices\n"};
    const std::string elsewhere = deployment(database);
    EXPECT_TRUE(elsewhere.contains(R"("--cost-store=postgresql://db.lab:6432/aliquot")"));
    EXPECT_TRUE(elsewhere.contains(R"("name": "database")")) << elsewhere;
    EXPECT_FALSE(elsewhere.contains("/var/lib/aliquot"));
    EXPECT_NE(find(render(database), "ConfigMap", "aliquot-prices"), nullptr);
    const std::string network =
        to_json(*find(render(database), "NetworkPolicy", "aliquot-controller"));
    EXPECT_TRUE(network.contains(R"("port": 6432)")) << network;
    EXPECT_TRUE(network.contains(R"("port": 9400)")) << network;
}

TEST(Render, WrongPlacesForCostsAreRefused) {
    for (const char* const store :
         {"", "on", "claim/", "claim/A", "/var/lib/costs", "postgresql://",
          "postgresql://me:secret@db/x", "postgresql://db/x?password=secret", "mysql://db/x"}) {
        const auto checked = check({.cost_store = store});
        ASSERT_FALSE(checked) << store;
        EXPECT_FALSE(checked.error().message.contains(":secret@") ||
                     checked.error().message.contains("=secret"))
            << "nor is a password told";
    }
    EXPECT_TRUE(check({.cost_store = "postgresql://me@db/x?sslmode=require"}));
    EXPECT_FALSE(check({.cost_store = "temporary", .cost_secret = "database"}));
    EXPECT_FALSE(check({.prices = "kind: Prices\n"})) << "without a store";
    EXPECT_FALSE(check({.cost_store = "temporary",
                        .prices = "apiVersion: aliquot.dev/v1alpha1\nkind: Prices\nrules: 7\n"}));
    EXPECT_FALSE(check({.webhook = false, .cost_store = "temporary"}));
}

TEST(Render, ClaimsBringClassesRightsAndSocketsOfTheSamePathOnBothSides) {
    const Values values{.profile = Profile::kMicrok8s, .dra = "auto"};
    const auto all = render(values);
    for (const auto& [kind, name] : std::vector<std::pair<std::string, std::string>>{
             {"DeviceClass", "gpu.aliquot.dev"},
             {"DeviceClass", "mig.aliquot.dev"},
             {"ClusterRole", "aliquot-agent-claims"},
             {"ClusterRoleBinding", "aliquot-agent-claims"},
             {"ValidatingAdmissionPolicy", "aliquot-agent-own-slices"},
             {"ValidatingAdmissionPolicyBinding", "aliquot-agent-own-slices"}}) {
        EXPECT_NE(find(all, kind, name), nullptr) << kind << ' ' << name;
        EXPECT_EQ(find(render({}), kind, name), nullptr) << kind << ' ' << name;
    }
    const std::string root = "/var/snap/microk8s/common/var/lib/kubelet";
    const Value agent = object(values, "DaemonSet", "aliquot-agent");
    const std::string text = to_json(*find(all, "DaemonSet", "aliquot-agent"));
    EXPECT_TRUE(text.contains("--dra=auto"));
    EXPECT_TRUE(text.contains("--plugins-registry=" + root + "/plugins_registry"));
    std::map<std::string, std::string> mounted;
    for (const Value& one : at(agent, "spec.template.spec.containers.0.volumeMounts")->items)
        mounted[text_at(one, "name")] = text_at(one, "mountPath");
    unsigned same = 0;
    for (const Value& one : at(agent, "spec.template.spec.volumes")->items) {
        const std::string name = text_at(one, "name");
        if (!name.starts_with("plugins")) continue;
        EXPECT_EQ(text_at(one, "hostPath.path"), mounted[name]);
        ++same;
    }
    EXPECT_EQ(same, 2U);
    EXPECT_FALSE(check({.dra = "yes"}));
    // Those that are applied by hand are the same.
    const auto by_hand = split_manifests(text_of(kDeploy / "dra/device-classes.yaml"));
    ASSERT_TRUE(by_hand);
    for (const Manifest& one : *by_hand) {
        const Value ours = node_of(*find(all, one.kind, one.name));
        EXPECT_EQ(document::to_json(*at(ours, "spec")),
                  document::to_json(*at(node_of(one), "spec")));
    }
}

TEST(Render, TheCleanUpPodRunsOnceOnItsNode) {
    const Manifest pod = clean_up_pod({.image = "registry.example/aliquot:1"}, "gpu-1.example");
    EXPECT_EQ(pod.title(), "Pod aliquot-system/aliquot-clean-up-gpu-1.example");
    const Value node = node_of(pod);
    EXPECT_EQ(text_at(node, "spec.nodeName"), "gpu-1.example");
    EXPECT_EQ(text_at(node, "spec.restartPolicy"), "OnFailure");
    EXPECT_EQ(text_at(node, "spec.containers.0.command.1"), "--clean-up");
    EXPECT_EQ(text_at(node, "spec.containers.0.image"), "registry.example/aliquot:1");
}

TEST(Render, ATextOfSeveralObjectsIsSplit) {
    const auto parts = split_manifests(
        "# only a comment\n---\napiVersion: v1\nkind: Pod\n"
        "metadata: {name: a}\n---\n---\napiVersion: v1\nkind: Pod\n"
        "metadata: {name: b, namespace: c}");
    ASSERT_TRUE(parts) << parts.error().message;
    ASSERT_EQ(parts->size(), 2U);
    EXPECT_EQ(parts->at(1).title(), "Pod c/b");
    EXPECT_FALSE(split_manifests("kind: Pod\n"));
    EXPECT_FALSE(split_manifests("a: [\n"));
}

}  // namespace
}  // namespace aliquot::install
