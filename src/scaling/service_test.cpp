// SPDX-License-Identifier: Apache-2.0
#include "scaling/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/server.h"
#include "http/test_client.h"
#include "os/temporary_directory.h"
#include "scaling/test_world.h"

namespace aliquot::scaling {
namespace {

using http::TestCertificate;
using http::TestClient;
using testing::HasSubstr;

constexpr const char* kPath = "/apis/custom.metrics.k8s.io/v1beta2";
constexpr const char* kUser = "X-Remote-User: system:kube-aggregator\r\n";

/// The service behind TLS, as the API server meets it.
class Served : public testing::Test {
protected:
    Served() {
        const TestCertificate own = servers_.issue("server", "DNS:metrics.svc");
        http::write_file(folder_.path() / "tls.crt", own.certificate);
        http::write_file(folder_.path() / "tls.key", own.key);
        http::write_file(folder_.path() / "proxy.crt", proxies_.certificate);
        auto server = http::Server::listen(
            {.address = "127.0.0.1:0",
             .access = {.tls = http::Tls{.certificate_file = folder_.path() / "tls.crt",
                                         .key_file = folder_.path() / "tls.key",
                                         .client_ca_file = folder_.path() / "proxy.crt",
                                         .client_auth = http::Tls::ClientAuth::kVerifyIfGiven}}},
            service_.routes());
        EXPECT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
    }
    std::optional<http::TestResponse> ask(const TestCertificate* client, const std::string& path,
                                          const std::string& headers = kUser) {
        TestClient connection(server_->port(), {.authority = &servers_, .own = client});
        return connection.get(path, headers);
    }

    const os::TemporaryDirectory folder_;
    const TestCertificate servers_ = TestCertificate::authority("servers");
    const TestCertificate proxies_ = TestCertificate::authority("front proxies");
    const TestCertificate proxy_ = proxies_.issue("front-proxy-client", "");
    RecentMetrics recent_;
    ListedPods pods_;
    bool ready_ = true;
    std::shared_ptr<const FrontProxy> front_proxy_ =
        std::make_shared<FrontProxy>(FrontProxy{.allowed_names = {"front-proxy-client"}});
    const Service service_{{.recent = recent_,
                            .directory = pods_,
                            .front_proxy = [this] { return front_proxy_; },
                            .is_ready = [this] { return ready_; },
                            .now = [] { return after(0); }}};
    std::unique_ptr<http::Server> server_;
};

TEST_F(Served, TheFrontProxyIsAnswered) {
    const auto answer = ask(&proxy_, kPath);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->headers.at("content-type"), "application/json");
    EXPECT_THAT(answer->body, HasSubstr("APIResourceList"));
}

TEST_F(Served, OthersAreNot) {
    const auto nobody = ask(nullptr, kPath);
    EXPECT_EQ(nobody->status, 401);
    EXPECT_THAT(nobody->body, HasSubstr("client certificate"));
    const TestCertificate kubelet = proxies_.issue("kubelet", "");
    EXPECT_EQ(ask(&kubelet, kPath)->status, 401);
    const TestCertificate forged = TestCertificate::authority("x").issue("front-proxy-client", "");
    EXPECT_FALSE(ask(&forged, kPath));  // not even greeted
    EXPECT_EQ(ask(&proxy_, kPath, "")->status, 401);
    front_proxy_ = std::make_shared<FrontProxy>();
    EXPECT_EQ(ask(&kubelet, kPath)->status, 200);  // no names: any of that authority
    front_proxy_ = nullptr;
    EXPECT_EQ(ask(&proxy_, kPath)->status, 401);
}

TEST_F(Served, ProbesAreForAnybody) {
    EXPECT_EQ(ask(nullptr, "/livez")->status, 200);
    EXPECT_EQ(ask(nullptr, "/readyz")->status, 200);
    ready_ = false;
    EXPECT_EQ(ask(nullptr, "/readyz")->status, 503);
    EXPECT_EQ(ask(nullptr, "/livez")->status, 200);
}

TEST_F(Served, AggregatedDiscoveryFallsBack) {
    const auto answer = ask(&proxy_, "/apis");
    EXPECT_EQ(answer->status, 404);
    EXPECT_EQ(ask(&proxy_, "/openapi/v3")->status, 404);
}

TEST_F(Served, AnEscapedStarIsAStar) {
    const auto answer =
        ask(&proxy_,
            std::string(kPath) + "/namespaces/ns/pods/%2A/gpu_utilization?labelSelector=app%3Dx");
    EXPECT_EQ(answer->status, 200);
    EXPECT_THAT(answer->body, HasSubstr("\"items\": []"));
}

}  // namespace
}  // namespace aliquot::scaling
