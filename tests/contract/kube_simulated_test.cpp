// SPDX-License-Identifier: Apache-2.0
//
// What other tests build on: roles from manifests, logs and webhooks of the simulated API server, as
// our client sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "base/base64.h"
#include "http/certificate.h"
#include "http/server.h"
#include "kube_client/connect.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"

namespace aliquot::contract {
namespace {

using kube_client::Reason;
using namespace kube_client::resources;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kAgentRoles = R"(
apiVersion: v1
kind: Namespace
metadata: {name: aliquot-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: aliquot-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agent}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch, patch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: agent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: agent}
subjects: [{kind: ServiceAccount, name: agent, namespace: aliquot-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: agent, namespace: aliquot-system}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get], resourceNames: [aliquot-config]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: agent, namespace: aliquot-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: agent}
subjects: [{kind: ServiceAccount, name: agent}]
---
apiVersion: v1
kind: Node
metadata: {name: n}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: aliquot-config, namespace: aliquot-system}
)";

class SimulatedCluster : public testing::Test {
protected:
    void start(sim::ApiServerOptions options) {
        auto server = sim::ApiServer::start(std::move(options));
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
    }
    /// Our client as somebody.
    kube_client::Api& as(const sim::ApiUser& user) {
        const auto file = directory_.path() / "kubeconfig";
        std::ofstream(file) << server_->kubeconfig_for(user);
        auto connection = kube_client::connect({.kubeconfig = file.string()});
        EXPECT_TRUE(connection) << connection.error().message;
        connection_ = *std::move(connection);
        return *connection_.api;
    }
    void apply(std::string_view manifests) {
        const auto done = server_->apply(manifests);
        ASSERT_TRUE(done) << done.error().message;
    }

    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;
    kube_client::Connection connection_;
};

TEST_F(SimulatedCluster, DeniesAServiceAccountWhatItsRolesDoNotName) {
    start({.rbac = true});
    apply(kAgentRoles);
    kube_client::Api& agent = as(sim::service_account("aliquot-system", "agent"));
    const auto denied = [](const auto& outcome) {
        return !outcome && outcome.failure().is(Reason::kForbidden);
    };

    EXPECT_TRUE(agent.get(nodes(), {"", "n"}));
    EXPECT_TRUE(agent.list(nodes()));
    EXPECT_TRUE(agent.patch(nodes(), {"", "n"}, R"({"metadata":{"labels":{"a":"b"}}})"));
    EXPECT_TRUE(agent.patch(nodes(), {"", "n"}, R"({"status":{"conditions":[]}})",
                            {.write = {.subresource = "status"}}));
    EXPECT_TRUE(denied(agent.remove(nodes(), {"", "n"})));
    EXPECT_TRUE(denied(agent.create(nodes(), "", R"({"metadata":{"name":"m"}})")));
    EXPECT_TRUE(denied(agent.replace(nodes(), {"", "n"}, R"({"metadata":{"name":"n"}})")));

    EXPECT_TRUE(agent.get(config_maps(), {"aliquot-system", "aliquot-config"}));
    EXPECT_TRUE(denied(agent.get(config_maps(), {"aliquot-system", "other"})));
    EXPECT_TRUE(denied(agent.get(config_maps(), {"default", "aliquot-config"})));
    EXPECT_TRUE(denied(agent.list(config_maps(), {.namespace_name = "aliquot-system"})));
    const auto secret = agent.get(secrets(), {"aliquot-system", "s"});
    ASSERT_FALSE(secret);
    EXPECT_THAT(secret.failure().message,
                HasSubstr("User \"system:serviceaccount:aliquot-system:agent\" cannot get resource "
                          "\"secrets\" in API group \"\" in the namespace \"aliquot-system\""));
}

TEST_F(SimulatedCluster, NamesTheManifestThatItRefuses) {
    start({});
    const auto kind = server_->apply("apiVersion: v1\nkind: Gadget\nmetadata: {name: g}\n");
    ASSERT_FALSE(kind);
    EXPECT_THAT(kind.error().message, HasSubstr("v1 Gadget 'g'"));
    const auto field =
        server_->apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndatum: {}\n");
    ASSERT_FALSE(field);
    EXPECT_THAT(field.error().message, HasSubstr("ConfigMap 'c': "));
    EXPECT_THAT(field.error().message, HasSubstr("datum"));
    const auto list = server_->apply(
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: "
        "a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n");
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(*list, 2U);
}

TEST_F(SimulatedCluster, TellsWhatAContainerHasSaid) {
    start({});
    apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: i}, {name: b, image: i}]}
)");
    server_->set_log("default", "p", "a", "one\ntwo\nthree\n");
    kube_client::Api& api = as({"ada", {"system:masters"}});
    const std::string log = "/api/v1/namespaces/default/pods/p/log";
    EXPECT_EQ(*api.get_raw(log + "?container=a"), "one\ntwo\nthree\n");
    EXPECT_EQ(*api.get_raw(log + "?container=a&tailLines=2"), "two\nthree\n");
    EXPECT_EQ(*api.get_raw(log + "?container=a&tailLines=9"), "one\ntwo\nthree\n");
    EXPECT_EQ(*api.get_raw(log + "?container=a&tailLines=0"), "");
    EXPECT_EQ(*api.get_raw(log + "?container=a&limitBytes=5"), "one\nt");
    const auto which = api.get_raw(log);
    ASSERT_FALSE(which);
    EXPECT_THAT(which.failure().message, HasSubstr("choose one of: [a b]"));
    const auto silent = api.get_raw(log + "?container=b");
    ASSERT_FALSE(silent);
    EXPECT_THAT(silent.failure().message, HasSubstr("is waiting to start"));
    ASSERT_TRUE(api.remove(pods(), {"default", "p"}));
    apply(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: "
        "i}]}\n");
    EXPECT_FALSE(api.get_raw(log));
}

/// A webhook that labels what it is shown.
class SimulatedWebhook : public SimulatedCluster {
protected:
    void SetUp() override {
        auto authority = http::make_authority("webhook authority", 24h);
        ASSERT_TRUE(authority);
        authority_ = authority->certificate;
        auto server = http::issue(*authority, "webhook", {"DNS:hook.system.svc"}, 24h);
        ASSERT_TRUE(server);
        std::ofstream(directory_.path() / "crt") << server->certificate;
        std::ofstream(directory_.path() / "key") << server->key;
        auto listening = http::Server::listen(
            {.address = "127.0.0.1:0",
             .access = {.tls = http::Tls{.certificate_file = directory_.path() / "crt",
                                         .key_file = directory_.path() / "key"}},
             .methods = {"POST"},
             .most_body_bytes = 1U << 20U},
            [this](const http::Request& request) { return answer(request); });
        ASSERT_TRUE(listening) << listening.error().message;
        hook_ = *std::move(listening);
        start(
            {.service_addresses = {{"system/hook", "127.0.0.1:" + std::to_string(hook_->port())}}});
    }
    http::Response answer(const http::Request& request) {
        ++calls_;
        const auto uid = kube_client::string_at(request.body, "/request/uid");
        const std::string patch =
            R"([{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}])";
        return {
            .content_type = "application/json",
            .body =
                R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")" +
                uid.value_or("") +
                R"(","allowed":true,"warnings":["careful"],"patchType":"JSONPatch","patch":")" +
                encode_base64(patch) + R"("}})"};
    }
    void configure(const std::string& bundle, const std::string& policy) {
        apply(
            "apiVersion: admissionregistration.k8s.io/v1\n"
            "kind: MutatingWebhookConfiguration\n"
            "metadata: {name: hook}\n"
            "webhooks:\n"
            "- name: pods.example.com\n"
            "  clientConfig:\n"
            "    caBundle: " +
            encode_base64(bundle) +
            "\n    service: {namespace: system, name: hook, path: /mutate}\n"
            "  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: "
            "[pods]}]\n"
            "  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, "
            "operator: NotIn, values: [kube-system]}]}\n"
            "  admissionReviewVersions: [v1]\n"
            "  sideEffects: None\n"
            "  timeoutSeconds: 5\n"
            "  failurePolicy: " +
            policy + "\n");
    }
    sim::ApiServer::Reply make_pod(const std::string& name_space = "default") {
        return server_->request(
            "POST", "/api/v1/namespaces/" + name_space + "/pods?fieldManager=t",
            R"({"metadata":{"generateName":"p-"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    }

    std::string authority_;
    std::atomic<unsigned> calls_ = 0;
    std::unique_ptr<http::Server> hook_;
};

TEST_F(SimulatedWebhook, IsCalledOverTlsForWhatItsSelectorsName) {
    configure(authority_, "Fail");
    const auto made = make_pod();
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(kube_client::string_at(made.body, "/metadata/labels/seen"), "yes");
    const auto apart = make_pod("kube-system");
    ASSERT_EQ(apart.status, 201) << apart.body;
    EXPECT_FALSE(kube_client::string_at(apart.body, "/metadata/labels/seen"));
    EXPECT_EQ(calls_.load(), 1U);
}

TEST_F(SimulatedWebhook, IsNotBelievedWithACertificateOfAnotherAuthority) {
    const auto other = http::make_authority("other", 24h);
    ASSERT_TRUE(other);
    configure(other->certificate, "Fail");
    const auto refused = make_pod();
    EXPECT_EQ(refused.status, 500);
    EXPECT_THAT(refused.body, HasSubstr("failed calling webhook"));
    configure(other->certificate, "Ignore");
    const auto made = make_pod();
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_FALSE(kube_client::string_at(made.body, "/metadata/labels/seen"));
    EXPECT_EQ(calls_.load(), 0U);
}

TEST_F(SimulatedWebhook, FailsOpenWhenItIsGone) {
    configure(authority_, "Ignore");
    hook_.reset();
    EXPECT_EQ(make_pod().status, 201);
}

}  // namespace
}  // namespace aliquot::contract
