// SPDX-License-Identifier: Apache-2.0
//
// aliquot-controller as a process, asked by an API server: a simulated one, and the one that
// ALIQUOT_TEST_KUBECONFIG names (it must be able to reach 127.0.0.1).
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "kube_client/kubeconfig.h"
#include "tests/contract/controller_process.h"
#include "tests/contract/kube_world.h"

namespace aliquot::contract {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Json = nlohmann::json;

const kube_client::Resource kConfigurations{.group = "admissionregistration.k8s.io",
                                            .version = "v1",
                                            .plural = "mutatingwebhookconfigurations",
                                            .kind = "MutatingWebhookConfiguration",
                                            .namespaced = false};

template <class Holds>
bool comes_true(const Holds& holds, std::chrono::seconds patience = 60s) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < limit) {
        if (holds()) return true;
        std::this_thread::sleep_for(20ms);
    }
    return false;
}

class AdmissionContract : public KubeContract {
protected:
    void SetUp() override {
        KubeContract::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        node_ = space_ + "-gpu";
        Json shares = Json::array({{{"resource", "nvidia.com/gpu"},
                                    {"mechanism", "memory"},
                                    {"devices", 8},
                                    {"perGpu", 4},
                                    {"memoryMiB", 3839}}});
        make(kube_client::resources::nodes(),
             Json{{"metadata",
                   {{"name", node_},
                    {"labels", {{"nvidia.com/gpu.product", "NVIDIA-A2-SHARED"}}},
                    {"annotations", {{"aliquot.dev/shares", shares.dump()}}}}},
                  {"status", {{"allocatable", {{"nvidia.com/gpu", "8"}}}}}}
                 .dump());
    }
    void TearDown() override {
        if (connection_.api && !space_.empty()) {
            (void)api().remove(kConfigurations, {"", space_});
            (void)api().remove(kube_client::resources::nodes(), {"", node_});
        }
        KubeContract::TearDown();
    }

    std::unique_ptr<ControllerProcess> start(const std::vector<std::string>& more = {},
                                             const std::string& kubeconfig = "") {
        return std::make_unique<ControllerProcess>(
            kubeconfig.empty() ? world_->kubeconfig() : kubeconfig, space_, space_, more);
    }

    void configure(unsigned port, const char* failure_policy = "Ignore") {
        const Json webhook{
            {"name", "pods.aliquot.dev"},
            {"clientConfig",
             {{"url", "https://127.0.0.1:" + std::to_string(port) + "/mutate/pods"}}},
            {"rules",
             {{{"operations", {"CREATE"}},
               {"apiGroups", {""}},
               {"apiVersions", {"v1"}},
               {"resources", {"pods"}}}}},
            {"failurePolicy", failure_policy},
            {"timeoutSeconds", 5},
            {"reinvocationPolicy", "IfNeeded"},
            {"sideEffects", "None"},
            {"admissionReviewVersions", {"v1"}},
            {"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", space_}}}}},
            {"matchConditions",
             {{{"name", "asks-for-a-gpu"},
               {"expression",
                "has(object.metadata.annotations) && object.metadata.annotations.exists(key, "
                "key.startsWith('aliquot.dev/gpu'))"}}}}};
        make(kConfigurations,
             Json{{"metadata", {{"name", space_}}}, {"webhooks", {webhook}}}.dump());
    }

    kube_client::Outcome<kube_client::Object> create(const Json& annotations, bool dry_run = true) {
        const Json pod{
            {"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"generateName", "p-"}, {"annotations", annotations}}},
            {"spec", {{"containers", {{{"name", "main"}, {"image", "none.invalid/c:1"}}}}}}};
        return api().create(kube_client::resources::pods(), space_, pod.dump(),
                            {.dry_run = dry_run});
    }
    static std::string gpus(const kube_client::Outcome<kube_client::Object>& pod) {
        if (!pod) return "refused: " + pod.failure().message;
        const Json::json_pointer amount("/spec/containers/0/resources/limits/nvidia.com~1gpu");
        return Json::parse(pod->json).value(amount, "none");
    }
    bool is_mutated() { return gpus(create({{"aliquot.dev/gpu-memory", "3Gi"}})) == "1"; }

    std::string kept(const char* key) {
        const auto secret =
            api().get(kube_client::resources::secrets(), {space_, "aliquot-webhook"});
        if (!secret) return {};
        return kube_client::string_at(secret->json, std::string("/data/") + key).value_or("");
    }

    /// A kubeconfig for a service account that has the rights of docs/guide/admission.md.
    std::string account_of_the_guide(const std::filesystem::path& folder);

    std::string node_;
};

TEST_P(AdmissionContract, APodGetsWhatIsWrittenOnIt) {
    const auto controller = start();
    configure(controller->webhook_port());
    ASSERT_TRUE(comes_true([&] { return is_mutated(); })) << controller->said();
    const auto made = create({{"aliquot.dev/gpu-memory", "3Gi"}, {"aliquot.dev/gpu-type", "a2"}});
    ASSERT_TRUE(made) << made.failure().message;
    Json pod = Json::parse(made->json);
    EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"], "1");
    EXPECT_THAT(pod["spec"]["tolerations"].dump(), HasSubstr("nvidia.com/gpu"));
    EXPECT_THAT(pod["spec"]["affinity"].dump(), HasSubstr("NVIDIA-A2-SHARED"));
    EXPECT_EQ(gpus(create({{"aliquot.dev/gpu-memory", "9000Gi"}})), "none") << "with a warning";
}

TEST_P(AdmissionContract, AWrongValueIsRefusedWithTheReason) {
    const auto controller = start();
    configure(controller->webhook_port());
    ASSERT_TRUE(comes_true([&] { return is_mutated(); })) << controller->said();
    const auto wrong = create({{"aliquot.dev/gpu-memory", "3Gb"}});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.failure().http_status, 400);
    EXPECT_THAT(wrong.failure().message, HasSubstr("did you mean 3G?"));
    const auto strict =
        create({{"aliquot.dev/gpu-memory", "9000Gi"}, {"aliquot.dev/strict", "true"}});
    ASSERT_FALSE(strict);
    EXPECT_EQ(strict.failure().http_status, 422);
}

TEST_P(AdmissionContract, WithoutAnAnswerPodsAreMadeAsTheyAre) {
    const auto controller = start();
    configure(controller->webhook_port());
    ASSERT_TRUE(comes_true([&] { return is_mutated(); })) << controller->said();
    controller->process().signal(SIGTERM);
    const auto exit = controller->process().wait(30s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0);
    EXPECT_EQ(gpus(create({{"aliquot.dev/gpu-memory", "3Gi"}}, false)), "none");
}

TEST_P(AdmissionContract, CertificatesRotateWithoutAFailedCall) {
    const auto controller = start(
        {"--authority-lifetime", "36s", "--certificate-lifetime", "20s", "--trust-delay", "5s"});
    configure(controller->webhook_port());
    ASSERT_TRUE(comes_true([&] { return is_mutated(); })) << controller->said();
    // From now on a call that fails is an error.
    ASSERT_TRUE(
        api().patch(kConfigurations, {"", space_},
                    R"([{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}])",
                    {.kind = kube_client::PatchKind::kJson}));
    const std::string authority = kept("authority.crt");
    const std::string serving = kept("tls.crt");
    ASSERT_FALSE(authority.empty());
    unsigned calls = 0;
    // The new authority signs, and the certificate before it is gone.
    const bool rotated = comes_true([&] {
        const auto answer = gpus(create({{"aliquot.dev/gpu-memory", "3Gi"}}));
        EXPECT_EQ(answer, "1") << "call " << calls;
        ++calls;
        return kept("authority.crt") != authority && kept("tls.crt") != serving &&
               controller->said().contains("signed by another authority");
    });
    EXPECT_TRUE(rotated) << controller->said();
    EXPECT_GT(calls, 20U);
    EXPECT_TRUE(is_mutated());
}

TEST_P(AdmissionContract, WhenTheLeaderIsKilledAnotherOneRenews) {
    const std::vector<std::string> short_lives{
        "--authority-lifetime", "10m", "--certificate-lifetime", "30s", "--trust-delay", "1s"};
    const auto first = start(short_lives);
    ASSERT_TRUE(first->says("kube.leading")) << first->said();
    const auto second = start(short_lives);
    configure(second->webhook_port());
    ASSERT_TRUE(comes_true([&] { return is_mutated(); })) << second->said();
    const std::string before = kept("tls.crt");
    first->process().signal(SIGKILL);
    ASSERT_TRUE(first->process().wait(10s));
    EXPECT_TRUE(is_mutated()) << "the one that is left answers";
    ASSERT_TRUE(second->says("kube.leading")) << second->said();
    EXPECT_TRUE(comes_true([&] { return kept("tls.crt") != before; })) << second->said();
    EXPECT_TRUE(comes_true([&] { return is_mutated(); })) << second->said();
}

TEST_P(AdmissionContract, ABrokenSecretIsMended) {
    const auto controller = start();
    configure(controller->webhook_port());
    ASSERT_TRUE(comes_true([&] { return is_mutated(); })) << controller->said();
    ASSERT_TRUE(api().patch(kube_client::resources::secrets(), {space_, "aliquot-webhook"},
                            R"({"data":{"tls.key":"AAAA","authority.crt":"AAAA"}})"));
    EXPECT_TRUE(comes_true([&] { return controller->said().contains("was broken"); }));
    EXPECT_TRUE(comes_true([&] { return is_mutated(); })) << controller->said();
}

std::string AdmissionContract::account_of_the_guide(const std::filesystem::path& folder) {
    const kube_client::Resource roles{"rbac.authorization.k8s.io", "v1", "roles", "Role", true};
    const kube_client::Resource bindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                         "RoleBinding", true};
    const kube_client::Resource wide{"rbac.authorization.k8s.io", "v1", "clusterroles",
                                     "ClusterRole", false};
    const kube_client::Resource wide_bindings{"rbac.authorization.k8s.io", "v1",
                                              "clusterrolebindings", "ClusterRoleBinding", false};
    const Json metadata{{"name", space_}};
    const Json subjects{
        {{"kind", "ServiceAccount"}, {"name", "controller"}, {"namespace", space_}}};
    const auto rule = [](const char* group, const char* resource, Json names, Json verbs) {
        Json made{{"apiGroups", {group}}, {"resources", {resource}}, {"verbs", std::move(verbs)}};
        if (!names.empty()) made["resourceNames"] = std::move(names);
        return made;
    };
    const auto reference = [&](const char* kind) {
        return Json{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", space_}};
    };
    make(kube_client::resources::service_accounts(), R"({"metadata":{"name":"controller"}})");
    make(wide, Json{{"metadata", metadata},
                    {"rules",
                     {rule("", "nodes", Json::array(), {"list", "watch"}),
                      rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations",
                           {space_}, {"list", "watch", "patch"})}}}
                   .dump());
    make(wide_bindings,
         Json{{"metadata", metadata}, {"roleRef", reference("ClusterRole")}, {"subjects", subjects}}
             .dump());
    make(roles,
         Json{{"metadata", metadata},
              {"rules",
               {rule("", "secrets", Json::array(), {"create"}),
                rule("", "secrets", {"aliquot-webhook"}, {"list", "watch", "update"}),
                rule("coordination.k8s.io", "leases", Json::array(), {"create"}),
                rule("coordination.k8s.io", "leases", {"aliquot-controller"}, {"get", "update"})}}}
             .dump());
    make(bindings,
         Json{{"metadata", metadata}, {"roleRef", reference("Role")}, {"subjects", subjects}}
             .dump());
    const auto reply = api().exchange(
        {.method = "POST",
         .path = "/api/v1/namespaces/" + space_ + "/serviceaccounts/controller/token",
         .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})",
         .content_type = "application/json"});
    if (!reply) return {};
    const auto token = kube_client::string_at(reply->body, "/status/token");
    const auto config = kube_client::read_kubeconfigs({world_->kubeconfig()});
    if (!token || !config) return {};
    const auto choice = kube_client::choose(*config, "");
    const std::string ca_file = (folder / "ca.crt").string();
    std::ofstream(ca_file) << choice->cluster.ca_pem;
    const std::string authority =
        choice->cluster.ca_pem.empty() ? choice->cluster.ca_file : ca_file;
    const std::string file = (folder / "kubeconfig").string();
    std::ofstream(file) << Json{
        {"apiVersion", "v1"},
        {"kind", "Config"},
        {"current-context", "c"},
        {"clusters",
         {{{"name", "c"},
           {"cluster",
            {{"server", choice->cluster.server}, {"certificate-authority", authority}}}}}},
        {"users", {{{"name", "c"}, {"user", {{"token", *token}}}}}},
        {"contexts", {{{"name", "c"}, {"context", {{"cluster", "c"}, {"user", "c"}}}}}}};
    return file;
}

TEST_P(AdmissionContract, TheRightsOfTheGuideAreEnoughAndNoMore) {
    if (GetParam().name != "real") GTEST_SKIP() << "roles count on a real API server only";
    const os::TemporaryDirectory folder;
    const std::string kubeconfig = account_of_the_guide(folder.path());
    ASSERT_FALSE(kubeconfig.empty());
    const auto controller = start({}, kubeconfig);
    configure(controller->webhook_port());
    EXPECT_TRUE(comes_true([&] { return is_mutated(); })) << controller->said();
    auto limited = kube_client::connect({.kubeconfig = kubeconfig});
    ASSERT_TRUE(limited);
    const auto is_denied = [](const auto& outcome) {
        return !outcome && outcome.failure().is(kube_client::Reason::kForbidden);
    };
    kube_client::Api& theirs = *limited->api;
    EXPECT_TRUE(
        is_denied(theirs.list(kube_client::resources::secrets(), {.namespace_name = space_})));
    EXPECT_TRUE(is_denied(theirs.list(kube_client::resources::pods(), {.namespace_name = space_})));
    EXPECT_TRUE(
        is_denied(theirs.remove(kube_client::resources::secrets(), {space_, "aliquot-webhook"})));
    EXPECT_TRUE(is_denied(theirs.patch(kube_client::resources::nodes(), {"", node_}, "{}")));
    EXPECT_TRUE(is_denied(theirs.patch(kConfigurations, {"", "another"}, "{}")));
    const kube_client::Resource wide{"rbac.authorization.k8s.io", "v1", "clusterroles", "", false};
    const kube_client::Resource bindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings",
                                         "", false};
    (void)api().remove(bindings, {"", space_});
    (void)api().remove(wide, {"", space_});
}

std::string name_of(const testing::TestParamInfo<KubeParam>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, AdmissionContract,
                         testing::Values(KubeParam{"real", real_kube_world},
                                         KubeParam{"simulated", simulated_kube_world}),
                         name_of);

}  // namespace
}  // namespace aliquot::contract
