// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/api_server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/temporary_directory.h"
#include "sim/apiserver/list_options.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim {
namespace {

apiserver::Value json(const std::string& text) {
    auto parsed = apiserver::parse_json(text);
    return parsed ? parsed->value : apiserver::Value();
}

std::unique_ptr<ApiServer> start(ApiServerOptions options = {}) {
    auto server = ApiServer::start(std::move(options));
    EXPECT_TRUE(server) << (server ? "" : server.error().message);
    return server ? std::move(*server) : nullptr;
}

TEST(ApiServer, ListensOnLoopbackAndSaysWhere) {
    const auto server = start();
    ASSERT_NE(server, nullptr);
    EXPECT_TRUE(server->http_url().starts_with("http://127.0.0.1:"));
    EXPECT_TRUE(server->https_url().starts_with("https://127.0.0.1:"));
    EXPECT_NE(server->kubeconfig().find(server->https_url()), std::string::npos);
    EXPECT_NE(server->ca_certificate().find("BEGIN CERTIFICATE"), std::string::npos);
}

TEST(ApiServer, WritesItsCredentialsForNobodyElse) {
    const os::TemporaryDirectory directory;
    ApiServerOptions options;
    options.directory = std::string(directory.path()) + "/sim";
    const auto server = start(options);
    ASSERT_NE(server, nullptr);
    struct stat state {};
    ASSERT_EQ(::stat(server->kubeconfig_file().c_str(), &state), 0);
    EXPECT_EQ(state.st_mode & 0777U, 0600U);
}

TEST(ApiServer, RefusesAnAddressThatIsNone) {
    ApiServerOptions options;
    options.http_address = "nowhere";
    const auto server = ApiServer::start(options);
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidInput);
}

TEST(ApiServer, HasWhatAFreshOneHas) {
    const auto server = start();
    for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
        EXPECT_EQ(server->request("GET", std::string("/api/v1/namespaces/") + name).status, 200)
            << name;
    }
    EXPECT_EQ(server->request("GET", "/api/v1/namespaces/default/services/kubernetes").status, 200);
    EXPECT_EQ(server->request("GET", "/api/v1/namespaces/default/serviceaccounts/default").status,
              200);
}

TEST(ApiServer, KeepsWhatItIsGiven) {
    const auto server = start();
    const auto made = server->request("POST", "/api/v1/nodes",
                                      R"({"metadata":{"name":"n","labels":{"gpu":"a100"}}})");
    ASSERT_EQ(made.status, 201) << made.body;
    const auto list = json(server->request("GET", "/api/v1/nodes?labelSelector=gpu%3Da100").body);
    EXPECT_EQ(list.at("items").size(), 1U);
    EXPECT_EQ(list.at_path("metadata.resourceVersion").text(), std::to_string(server->revision()));
}

TEST(ApiServer, ShowsAFaultAsOftenAsItIsToldTo) {
    const auto server = start();
    ApiFault fault;
    fault.resource = "nodes";
    fault.status = 503;
    fault.times = 2;
    server->inject(fault);
    EXPECT_EQ(server->request("GET", "/api/v1/nodes").status, 503);
    EXPECT_EQ(server->request("GET", "/api/v1/pods").status, 200);
    EXPECT_EQ(server->request("GET", "/api/v1/nodes").status, 503);
    EXPECT_EQ(server->request("GET", "/api/v1/nodes").status, 200);
    EXPECT_EQ(server->request_counts().at("list nodes"), 3U);
}

TEST(ApiServer, DoesAWriteBeforeItsAnswerIsLost) {
    const auto server = start();
    ApiFault fault;
    fault.verb = "create";
    fault.status = 500;
    fault.after_write = true;
    server->inject(fault);
    const char* body = R"({"metadata":{"name":"n"}})";
    EXPECT_EQ(server->request("POST", "/api/v1/nodes", body).status, 500);
    EXPECT_EQ(server->request("POST", "/api/v1/nodes", body).status, 409);
}

TEST(ApiServer, AnswersAnOldTokenWith410AfterCompaction) {
    const auto server = start();
    const auto first = json(server->request("GET", "/api/v1/namespaces?limit=1").body);
    const std::string token = first.at_path("metadata.continue").text();
    ASSERT_FALSE(token.empty());
    server->request("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"}})");
    server->compact();
    const auto gone = server->request("GET", "/api/v1/namespaces?limit=1&continue=" + token);
    EXPECT_EQ(gone.status, 410);
    EXPECT_EQ(json(gone.body).at("reason").text(), "Expired");
}

TEST(ApiServer, ATokenStandsInAQueryAsItIs) {
    for (int i = 0; i < 256; ++i) {
        apiserver::ContinueToken token;
        token.revision = static_cast<std::uint64_t>(i);
        token.next_key = "/configmaps/~~>?" + std::string(static_cast<std::size_t>(i % 7), '>');
        const std::string text = apiserver::make_token(token);
        EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789-_"),
                  std::string::npos)
            << text;
        const auto back = apiserver::read_token(text);
        ASSERT_TRUE(back) << text;
        EXPECT_EQ(back->next_key, token.next_key);
        EXPECT_EQ(back->revision, token.revision);
    }
}

TEST(ApiServer, EmptiesANamespaceThatEnds) {
    const auto server = start();
    server->request("POST", "/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
    server->request("POST", "/api/v1/namespaces/x/configmaps", R"({"metadata":{"name":"c"}})");
    EXPECT_EQ(server->request("DELETE", "/api/v1/namespaces/x").status, 200);
    EXPECT_TRUE(server->settle());
    EXPECT_EQ(server->request("GET", "/api/v1/namespaces/x").status, 404);
    EXPECT_EQ(server->request("GET", "/api/v1/namespaces/x/configmaps/c").status, 404);
}

TEST(ApiServer, LeavesNamespacesAloneWithoutItsCollector) {
    ApiServerOptions options;
    options.collect_garbage = false;
    const auto server = start(options);
    server->request("POST", "/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
    server->request("DELETE", "/api/v1/namespaces/x");
    const auto space = json(server->request("GET", "/api/v1/namespaces/x").body);
    EXPECT_EQ(space.at_path("status.phase").text(), "Terminating");
}

TEST(ApiServer, GivesPodsTheResourcesOfTheirRuntimeClass) {
    const auto server = start();
    server->request(
        "POST", "/apis/node.k8s.io/v1/runtimeclasses",
        R"({"metadata":{"name":"gpu"},"handler":"gpu","overhead":{"podFixed":{"cpu":"10m"}},
                        "scheduling":{"nodeSelector":{"gpu":"true"}}})");
    const auto pod =
        json(server
                 ->request("POST", "/api/v1/namespaces/default/pods",
                           R"({"metadata":{"name":"p"},"spec":{"runtimeClassName":"gpu",
                                            "containers":[{"name":"c","image":"i"}]}})")
                 .body);
    EXPECT_EQ(pod.at_path("spec.overhead.cpu").text(), "10m");
    EXPECT_EQ(pod.at_path("spec.nodeSelector.gpu").text(), "true");
    EXPECT_EQ(pod.at_path("spec.serviceAccountName").text(), "default");
}

TEST(ApiServer, CountsDevicesAgainstAQuota) {
    const auto server = start();
    server->request("POST", "/api/v1/namespaces/default/resourcequotas",
                    R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"1"}}})");
    const auto make = [&](const char* name) {
        return server->request("POST", "/api/v1/namespaces/default/pods",
                               std::string(R"({"metadata":{"name":")") + name +
                                   R"("},"spec":{"containers":[{"name":"c","image":"i",
                                      "resources":{"limits":{"nvidia.com/gpu":1}}}]}})");
    };
    EXPECT_EQ(make("one").status, 201);
    const auto second = make("two");
    EXPECT_EQ(second.status, 403);
    EXPECT_EQ(json(second.body).at("message").text(),
              "pods \"two\" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=1, "
              "used: requests.nvidia.com/gpu=1, limited: requests.nvidia.com/gpu=1");
}

TEST(ApiServer, RemembersOnlyTheTokensItHasIssued) {
    ApiServerOptions options;
    options.rbac = true;
    const auto server = start(options);
    const std::string token = server->issue_token({"dora", {"dev"}});
    const std::string review = R"({"spec":{"token":")" + token + R"("}})";
    const auto ask = [&] {
        return json(server->request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
                        .body)
            .at("status");
    };
    EXPECT_EQ(ask().at_path("user.username").text(), "dora");
    server->revoke_token(token);
    EXPECT_FALSE(ask().at("authenticated").boolean());
}

}  // namespace
}  // namespace aliquot::sim
