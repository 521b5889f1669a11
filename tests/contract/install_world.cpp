// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/install_world.h"

#include <fstream>

#include "install/uninstall.h"
#include "os/spawner.h"

namespace aliquot::install {

using kube_client::Reason;
using kube_client::resources::config_maps;
using kube_client::resources::namespaces;
using kube_client::resources::nodes;
using kube_client::resources::pods;

void InstallContract::SetUp() {
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
        kube_client::connect({.kubeconfig = kubeconfig_, .burst = 2000, .per_second = 2000});
    ASSERT_TRUE(connection) << connection.error().message;
    connection_ = *std::move(connection);
    make(namespaces(), "",
         R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
    prepare();
    if (real()) clear();
}

void InstallContract::TearDown() {
    if (real() && connection_.api) clear();
}

void InstallContract::prepare() {
    const auto manifests = render({});
    const auto space = api().apply(namespaces(), {"", kSpace}, to_json(manifests.front()));
    ASSERT_TRUE(space) << space.failure().message;
    make(kube_client::resources::service_accounts(), kSpace,
         R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})");
    make(config_maps(), kSpace,
         R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"anchor",
             "labels":{"app.kubernetes.io/part-of":"aliquot"}}})");
}

void InstallContract::clear() {
    (void)uninstall(api(),
                    {.keep_config = true, .clean_hosts = false, .limit = std::chrono::seconds(0)});
    for (const char* const name : {"aliquot-config", "aliquot-mig-config"}) {
        (void)api().remove(config_maps(), {kSpace, name});
    }
    for (const char* const name : {"node-a", "node-b"}) (void)api().remove(nodes(), {"", name});
    for (const char* const name : {"agent-a", "aliquot-clean-up-node-a"}) {
        (void)api().remove(pods(), {kSpace, name}, {.grace_seconds = 0});
    }
}

std::optional<kube_client::Object> InstallContract::make(const kube_client::Resource& resource,
                                                         const std::string& space,
                                                         const std::string& json) {
    auto made = api().create(resource, space, json);
    if (made) return *std::move(made);
    EXPECT_TRUE(made.failure().is(Reason::kAlreadyExists)) << made.failure().message;
    return std::nullopt;
}

ApplyResult InstallContract::install(const Values& values, const ApplyOptions& options) {
    auto result = apply(api(), render(values), options);
    EXPECT_FALSE(result.stopped) << result.stopped->title << ": "
                                 << result.stopped->failure.message;
    return result;
}

kube_client::Connection InstallContract::with_token(const std::string& token) {
    const auto file = directory_.path() / ("token-" + std::to_string(++tokens_));
    std::ofstream(file) << "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n"
                           "    server: "
                        << connection_.server
                        << "\n    insecure-skip-tls-verify: true\nusers:\n- name: u\n"
                        << "  user: {token: \"" << token << "\"}\ncontexts:\n- name: x\n"
                        << "  context: {cluster: c, user: u}\ncurrent-context: x\n";
    auto connection = kube_client::connect({.kubeconfig = file.native()});
    EXPECT_TRUE(connection) << connection.error().message;
    return *std::move(connection);
}

std::string InstallContract::token_of(const std::string& account, const kube_client::Object* pod) {
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
    return kube_client::string_at(answer->body, "/status/token").value_or("");
}

std::string node_json(const std::string& name) {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"("}})";
}

}  // namespace aliquot::install
