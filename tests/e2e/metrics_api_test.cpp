// SPDX-License-Identifier: Apache-2.0
//
// `aliquot metrics-api` as a process: asks an agent over HTTP, answers over TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "http/server.h"
#include "http/test_client.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "telemetry/json.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kLimit = 60s;

class MetricsApiProgram : public testing::Test {
protected:
    os::Process start(std::vector<std::string> words) {
        words.insert(words.begin(), {std::string(ALIQUOT_BIN_DIR "/aliquot"), "metrics-api"});
        auto environment = os::current_environment();
        environment.erase("KUBECONFIG");
        environment.erase("KUBERNETES_SERVICE_HOST");
        environment["HOME"] = directory_.path();
        auto process = os::Process::start({.argv = std::move(words),
                                           .environment = std::move(environment),
                                           .output_path = output().native()});
        EXPECT_TRUE(process) << process.error().message;
        return *std::move(process);
    }
    int code_of(std::vector<std::string> words) {
        std::filesystem::remove(output());
        auto process = start(std::move(words));
        const auto exit = process.wait(kLimit);
        return exit ? exit->code : -1;
    }
    [[nodiscard]] std::filesystem::path output() const { return directory_.path() / "output"; }
    [[nodiscard]] std::string said() const {
        std::ifstream file(output());
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// What stands behind `mark` once the program has said it.
    [[nodiscard]] std::string wait_for(const std::string& mark) const {
        const auto limit = std::chrono::steady_clock::now() + kLimit;
        while (std::chrono::steady_clock::now() < limit) {
            const std::string text = said();
            const std::size_t at = text.find(mark);
            if (at != std::string::npos && text.find('\n', at) != std::string::npos) {
                return text.substr(at + mark.size());
            }
            std::this_thread::yield();
        }
        return {};
    }

    const os::TemporaryDirectory directory_;
};

telemetry::Snapshot busy_node() {
    telemetry::Tenant tenant;
    tenant.owner = {.pod_uid = "u", .pod_namespace = "ns", .pod = "vision-1", .container = "main"};
    tenant.entitlement_ppm = 250'000;
    tenant.source = telemetry::Source::kDriver;
    tenant.amounts.busy_ns = 1;
    tenant.amounts.utilization_ppm = 200'000;
    telemetry::Snapshot snapshot;
    snapshot.node = "node-1";
    snapshot.at = std::chrono::system_clock::now();
    telemetry::Device device;
    device.gpu.uuid.text = "GPU-1";
    device.read_at = snapshot.at;
    device.parts.emplace_back();
    device.parts[0].tenants.push_back(tenant);
    snapshot.devices.push_back(device);
    return snapshot;
}

TEST_F(MetricsApiProgram, AnswersWhatAnAgentTells) {
    auto agent = http::Server::listen({.address = "127.0.0.1:0"}, [](const http::Request&) {
        return http::Response{.body = telemetry::to_json(busy_node())};
    });
    ASSERT_TRUE(agent) << agent.error().message;
    auto process = start({"--agents", "127.0.0.1:" + std::to_string((*agent)->port()), "--listen",
                          "127.0.0.1:0", "--authentication", "none", "--without-api-server"});
    const std::string rest = wait_for("metrics_api.ready port=");
    ASSERT_FALSE(rest.empty()) << said();
    const auto port = static_cast<unsigned>(std::stoul(rest));
    std::string body;
    const auto limit = std::chrono::steady_clock::now() + kLimit;
    while (!body.contains("vision-1") && std::chrono::steady_clock::now() < limit) {
        http::TestClient client(port, http::TestClient::TlsSettings{});
        const auto answer = client.get(
            "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns/pods/*/gpu_share_utilization");
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 200);
        body = answer->body;
    }
    EXPECT_THAT(body, HasSubstr("\"value\": \"80\""));
    http::TestClient client(port, http::TestClient::TlsSettings{});
    EXPECT_EQ(client.get("/readyz")->status, 200);
    process.signal(SIGTERM);
    const auto exit = process.wait(kLimit);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0);
}

TEST_F(MetricsApiProgram, WhatDoesNotFitIsSaidInOneLine) {
    EXPECT_EQ(code_of({"--without-api-server"}), 2);
    EXPECT_THAT(said(), HasSubstr("no agents; expected --agents"));
    EXPECT_EQ(code_of({"--agents", "a:1", "--authentication", "none", "--without-api-server"}), 2);
    EXPECT_THAT(said(), HasSubstr("listen on 127.0.0.1:PORT"));
    EXPECT_EQ(code_of({"--agents", "a:1", "--without-api-server", "--listen", "127.0.0.1:0"}), 2);
    EXPECT_THAT(said(), HasSubstr("authority must be given as a file"));
    EXPECT_EQ(code_of({"--agents", "a:1", "--listen", "127.0.0.1:0"}), 3);
}

TEST_F(MetricsApiProgram, PrintsManifests) {
    EXPECT_EQ(code_of({"--print-manifests", "--without-api-server", "--image", "r.example/a:1"}),
              0);
    EXPECT_THAT(said(), HasSubstr("image: \"r.example/a:1\""));
    EXPECT_THAT(said(), HasSubstr("name: v1beta2.custom.metrics.k8s.io"));
    EXPECT_EQ(code_of({"--print-manifests", "--without-api-server", "--image", "a b"}), 2);
}

}  // namespace
}  // namespace aliquot
