// SPDX-License-Identifier: Apache-2.0
#include "agent/pages.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "http/test_client.h"
#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class NoMeters final : public gpu::Meters {
public:
    std::vector<Result<gpu::Reading>> read(std::span<const gpu::MeterQuestion> questions,
                                           std::chrono::milliseconds) override {
        return std::vector<Result<gpu::Reading>>(questions.size(), gpu::Reading());
    }
    void release() override {}
};

class AgentPages : public testing::Test {
protected:
    void SetUp() override {
        log::set_sink([](std::string_view) {});
    }
    void TearDown() override { log::set_sink({}); }

    /// Status and body.
    static std::string ask(unsigned port, const std::string& path) {
        http::TestClient client(port);
        const auto answer = client.get(path);
        return answer ? std::to_string(answer->status) + " " + answer->body : "nothing";
    }
    std::string ask_node(const std::string& path) { return ask(pages_.node_port(), path); }
    std::string ask_local(const std::string& path) { return ask(pages_.local_port(), path); }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    os::SystemClock clock_;
    StatusBoard board_{clock_};
    Latest<Observation> observations_;
    RecentGrants grants_;
    Serving serving_{root_, grants_, {}};
    NoMeters meters_;
    TelemetryService telemetry_{
        root_,
        clock_,
        {.meters = meters_,
         .holders = [](std::chrono::milliseconds) { return std::vector<kubelet::Holder>(); },
         .observations = observations_},
        {}};
    Pages pages_{{.root = root_,
                  .board = board_,
                  .observations = observations_,
                  .serving = serving_,
                  .telemetry = telemetry_}};
};

TEST_F(AgentPages, OfTheNodeItselfAreForLoopbackOnly) {
    pages_.serve_local("0.0.0.0:0");
    EXPECT_EQ(pages_.local_port(), 0U);
    pages_.serve_local("127.0.0.1:0");
    ASSERT_NE(pages_.local_port(), 0U);
    EXPECT_EQ(ask_local("/healthz"), "200 ok\n");
    EXPECT_EQ(ask_local("/readyz"), "503 the GPUs have not been looked at yet\n");
    EXPECT_THAT(ask_local("/status"), StartsWith("200 {\n"));
    EXPECT_EQ(ask_local("/metrics"), "503 the GPUs have not been measured yet\n");
    EXPECT_EQ(ask_local("/api/v1/state"), "503 the GPUs have not been measured yet\n");
    EXPECT_EQ(ask_local("/"),
              "404 there are /healthz, /readyz, /status, /metrics, "
              "/api/v1/state and /page/*\n");
    http::TestClient client(pages_.local_port());
    EXPECT_EQ(client.get("/status")->headers.at("cache-control"), "no-store");
}

TEST_F(AgentPages, AreOnASocketBeneathTheRoot) {
    pages_.serve_local("unix:/run/aliquot/agent.sock");
    EXPECT_TRUE(root_.exists("/run/aliquot/agent.sock"));
    EXPECT_EQ(pages_.local_port(), 0U);
}

TEST_F(AgentPages, AreNotServedWhereNobodyWantsThem) {
    pages_.serve_local("off");
    pages_.serve_node({.listen = "off"});
    EXPECT_EQ(pages_.local_port(), 0U);
    EXPECT_EQ(pages_.node_port(), 0U);
}

TEST_F(AgentPages, ForTheClusterAreListed) {
    pages_.serve_node({.listen = "127.0.0.1:0"});
    ASSERT_NE(pages_.node_port(), 0U);
    EXPECT_THAT(ask_node("/"), StartsWith("200 aliquot-agent\n\n/ "));
    EXPECT_THAT(ask_node("/"),
                HasSubstr("\n/metrics        for Prometheus (text or OpenMetrics)\n"));
    EXPECT_EQ(ask_node("/none"),
              "404 there are /, /metrics, /api/v1/state, /health, /live, /ready and "
              "/page/*\n");
    EXPECT_EQ(ask_node("/metrics"), "503 the GPUs have not been measured yet\n");
    EXPECT_EQ(ask_node("/health"), ask_node("/healthz"));
    EXPECT_EQ(ask_node("/status"), ask_node("/none")) << "that is for who is on the node";
}

TEST_F(AgentPages, TellKubeletThatANodeWithoutGpusIsReady) {
    pages_.serve_node({.listen = "127.0.0.1:0"});
    EXPECT_EQ(ask_node("/live"), "200 ok\n");
    EXPECT_EQ(ask_node("/ready"), "503 the GPUs have not been looked at yet\n");
    observations_.publish({.driver_problem = "no driver"});
    EXPECT_EQ(ask_node("/ready"), "200 this node has no NVIDIA GPU\n");
}

TEST_F(AgentPages, OfProbesHaveAServerOfTheirOwn) {
    pages_.serve_probes("127.0.0.1:0");
    ASSERT_NE(pages_.probe_port(), 0U);
    const auto probe = [&](const std::string& path) { return ask(pages_.probe_port(), path); };
    EXPECT_EQ(probe("/live"), "200 ok\n");
    EXPECT_EQ(probe("/startup"), "200 ok\n");
    EXPECT_EQ(probe("/ready"), "503 the GPUs have not been looked at yet\n");
    observations_.publish({.driver_problem = "no driver"});
    EXPECT_EQ(probe("/ready"), "200 this node has no NVIDIA GPU\n");
    EXPECT_EQ(probe("/metrics"), "404 there are /live, /startup and /ready\n");
}

TEST_F(AgentPages, OfProbesNeedNoPasswordWhereMetricsDo) {
    ASSERT_TRUE(
        root_.write_atomically("/etc/web.yaml",
                               "basic_auth_users: {alice: "
                               "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a}\n"));
    pages_.serve_node({.listen = "127.0.0.1:0", .web_config = "/etc/web.yaml"});
    pages_.serve_probes("127.0.0.1:0");
    EXPECT_THAT(ask_node("/live"), StartsWith("401 "));
    EXPECT_EQ(ask(pages_.probe_port(), "/live"), "200 ok\n");
}

TEST_F(AgentPages, AreMissingWithoutTheFileThatProtectsThem) {
    pages_.serve_node({.listen = "127.0.0.1:0", .web_config = "/etc/none.yaml"});
    EXPECT_EQ(pages_.node_port(), 0U);
}

}  // namespace
}  // namespace aliquot::agent
