// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.h"

#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/base64.h"
#include "controller/secret.h"
#include "http/test_client.h"
#include "kube_client/kubeconfig.h"
#include "kube_client/stub_api.h"
#include "os/temporary_directory.h"

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kSecrets[] = "/api/v1/secrets";
constexpr char kConfigurations[] =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const kube_client::ObjectKey kSecret{"aliquot-system", "aliquot-webhook"};

constexpr char kReview[] =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",
        "operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},
        "object":{"metadata":{"annotations":{"aliquot.dev/gpu-count":"1"}},
                  "spec":{"containers":[{"name":"main"}]}}}})";

template <class Holds>
bool comes_true(const Holds& holds) {
    const auto limit = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < limit) {
        if (holds()) return true;
        std::this_thread::yield();
    }
    return false;
}

class ControllerTest : public testing::Test {
protected:
    void SetUp() override {
        api_.put(kConfigurations, {"", "aliquot"},
                 R"({"webhooks":[{"name":"pods.aliquot.dev","clientConfig":{}}]})");
        api_.put("/api/v1/nodes", {"", "gpu-1"},
                 R"({"metadata":{"labels":{"nvidia.com/gpu.product":"NVIDIA-A2"}},
                     "status":{"allocatable":{"nvidia.com/gpu":"1"}}})");
    }
    std::unique_ptr<Controller> start() { return start(Options{}); }
    std::unique_ptr<Controller> start(Options options) {
        options.webhook_listen = "127.0.0.1:0";
        options.health_listen = "127.0.0.1:0";
        options.certificate_names = {"DNS:localhost"};
        options.lifetimes = {.authority = 900h, .certificate = 90h, .trust_delay = 5min};
        options.lease_duration = 3s;
        auto started = Controller::start(
            options, {.api = api_, .now = [this] { return http::Instant(now_.load()); }});
        EXPECT_TRUE(started) << started.error().message;
        return started ? *std::move(started) : nullptr;
    }
    std::string trusted() {
        const Json root = Json::parse(*api_.json(kConfigurations, {"", "aliquot"}));
        return kube_client::decode_base64(root["webhooks"][0]["clientConfig"].value("caBundle", ""))
            .value_or("");
    }
    /// A review, by somebody who trusts what the webhook configuration says. Empty: no answer.
    std::string ask(const Controller& controller, const http::TestCertificate* own = nullptr) {
        http::TestCertificate authority;
        authority.certificate = trusted();
        http::TestClient client(controller.webhook_port(), {.authority = &authority, .own = own});
        if (!client.greeted()) return {};
        const std::string body = kReview;
        client.send(
            "POST /mutate/pods?timeout=2s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
            "application/json\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body);
        const auto answer = client.receive();
        return answer ? answer->body : "";
    }
    static std::string health(const Controller& controller, const std::string& path) {
        http::TestClient client(controller.health_port());
        const auto answer = client.get(path);
        return answer ? std::to_string(answer->status) + " " + answer->body : "";
    }

    kube_client::StubApi api_;
    std::atomic<http::Instant> now_{
        std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now())};
};

TEST_F(ControllerTest, AnswersReviewsWithACertificateThatTheConfigurationTrusts) {
    const auto controller = start();
    ASSERT_NE(controller, nullptr);
    ASSERT_TRUE(comes_true([&] { return controller->is_ready() && !trusted().empty(); }));
    std::string answer;
    ASSERT_TRUE(comes_true([&] { return !(answer = ask(*controller)).empty(); }));
    EXPECT_THAT(answer, HasSubstr("\"allowed\":true"));
    EXPECT_THAT(answer, HasSubstr("JSONPatch"));
    EXPECT_EQ(health(*controller, "/readyz"), "200 ok\n");
    EXPECT_THAT(health(*controller, "/metrics"), HasSubstr("{result=\"patched\"} 1\n"));
    EXPECT_THAT(health(*controller, "/metrics"), HasSubstr("aliquot_admission_gpu_nodes 1\n"));
    EXPECT_THAT(health(*controller, "/other"), HasSubstr("404"));
    controller->drain();
    EXPECT_EQ(health(*controller, "/readyz"), "503 it ends\n");
    EXPECT_EQ(health(*controller, "/healthz"), "200 ok\n");
    EXPECT_THAT(ask(*controller), HasSubstr("\"allowed\":true")) << "still answered";
}

TEST_F(ControllerTest, AnswersOnlyItsApiServerWhereItIsToldWhoSignsThat) {
    const os::TemporaryDirectory folder;
    const auto signer = http::TestCertificate::authority("aggregator");
    const auto apiserver = signer.issue("apiserver", "DNS:apiserver");
    const auto other = signer.issue("other", "DNS:other");
    const auto stranger = http::TestCertificate::authority("else").issue("apiserver", "DNS:a");
    const std::string file = folder.path() / "ca.crt";
    http::write_file(file, signer.certificate);
    const auto controller =
        start({.webhook_client_ca = file, .webhook_client_names = {"apiserver"}});
    ASSERT_NE(controller, nullptr);
    ASSERT_TRUE(comes_true([&] { return controller->is_ready() && !trusted().empty(); }));
    std::string answer;
    ASSERT_TRUE(comes_true([&] { return !(answer = ask(*controller, &apiserver)).empty(); }));
    EXPECT_THAT(answer, HasSubstr("\"allowed\":true"));
    EXPECT_EQ(ask(*controller, &other), "the certificate's name may not ask here\n");
    EXPECT_EQ(ask(*controller, &stranger), "");
    EXPECT_EQ(ask(*controller), "");
}

TEST_F(ControllerTest, RotatesInTwoSteps) {
    const auto controller = start();
    ASSERT_NE(controller, nullptr);
    ASSERT_TRUE(comes_true([&] { return !trusted().empty() && !ask(*controller).empty(); }));
    const auto before = read_secret(*api_.json(kSecrets, kSecret)).credentials;
    now_ = now_.load() + 601h;  // the authority's turn
    controller->look();
    ASSERT_TRUE(comes_true([&] {
        return !read_secret(*api_.json(kSecrets, kSecret)).credentials.previous.certificate.empty();
    }));
    now_ = now_.load() + 5min;  // it may sign
    controller->look();
    ASSERT_TRUE(comes_true([&] {
        const auto held = read_secret(*api_.json(kSecrets, kSecret)).credentials;
        return http::has_signed(held.authority.certificate, held.serving.certificate);
    }));
    const auto after = read_secret(*api_.json(kSecrets, kSecret)).credentials;
    EXPECT_NE(after.authority.certificate, before.authority.certificate);
    EXPECT_THAT(trusted(), HasSubstr(before.authority.certificate));
    EXPECT_THAT(trusted(), HasSubstr(after.authority.certificate));
}

TEST_F(ControllerTest, ASecondReplicaAnswersTooAndTakesOver) {
    auto first = start();
    ASSERT_NE(first, nullptr);
    ASSERT_TRUE(comes_true([&] { return first->leads() && !trusted().empty(); }));
    const auto second = start();
    ASSERT_NE(second, nullptr);
    ASSERT_TRUE(comes_true([&] { return second->is_ready() && !ask(*second).empty(); }));
    EXPECT_FALSE(second->leads());
    first.reset();
    ASSERT_TRUE(comes_true([&] { return second->leads(); }));
    api_.erase(kSecrets, kSecret);
    EXPECT_TRUE(comes_true([&] { return api_.json(kSecrets, kSecret).has_value(); }));
    EXPECT_TRUE(comes_true([&] { return !ask(*second).empty(); }));
}

TEST_F(ControllerTest, AnAddressThatIsTakenIsTold) {
    const auto controller = start();
    ASSERT_NE(controller, nullptr);
    Options options;
    options.webhook_listen = "127.0.0.1:" + std::to_string(controller->webhook_port());
    const auto second = Controller::start(options, {.api = api_});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace aliquot::controller
