// SPDX-License-Identifier: Apache-2.0
// The ports of agent and controller under attack, inside the limits of memory that are shipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>

#include "http/test_client.h"
#include "install/render.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"
#include "sim/node/node.h"
#include "tests/descriptor_room.h"
#include "tests/e2e/memory_cage.h"

namespace aliquot::e2e {
namespace {

using namespace std::chrono_literals;
using http::TestClient;
using Clients = std::vector<std::unique_ptr<TestClient>>;

/// The limit in the manifests that are shipped.
std::size_t shipped_limit(const std::string& kind, const std::string& name) {
    for (const install::Manifest& one : install::render({})) {
        if (one.kind != kind || one.name != name) continue;
        const auto at = one.yaml.find("limits: {memory: ");
        std::size_t used = 0;
        const std::string text = one.yaml.substr(at + 17, 20);
        const unsigned long number = std::stoul(text, &used);
        EXPECT_EQ(text.substr(used, 2), "Mi");
        return number << 20U;
    }
    ADD_FAILURE() << kind << " " << name << " is not rendered";
    return 0;
}

class Ports : public testing::Test {
protected:
    /// Inside a cage of the shipped limit; waits until `mark` has been said.
    void start(const std::string& kind, const std::string& name, std::vector<std::string> argv,
               const std::string& mark) {
        cage_ = std::make_unique<MemoryCage>(shipped_limit(kind, name));
        limit_ = shipped_limit(kind, name);
        auto process = os::Process::start({.argv = cage_->inside(argv),
                                           .environment = os::current_environment(),
                                           .output_path = (directory_.path() / "log").string()});
        ASSERT_TRUE(process) << process.error().message;
        process_.emplace(*std::move(process));
        const auto limit = std::chrono::steady_clock::now() + 60s;
        while (number_behind(mark) == 0 && std::chrono::steady_clock::now() < limit) {
            std::this_thread::sleep_for(20ms);
        }
        ASSERT_NE(number_behind(mark), 0U) << log();
    }
    void TearDown() override {
        if (!process_) return;
        EXPECT_TRUE(!process_->poll()) << "killed: " << log().substr(0, 2000);
        const std::size_t peak = cage_->peak(process_->pid());
        std::cout << "held at most " << (peak >> 10U) << " KiB of " << (limit_ >> 10U)
                  << (cage_->is_real() ? " in its cgroup\n" : ", no cgroup could be made\n");
        EXPECT_LE(peak, limit_);
        process_->terminate(30s);
        process_.reset();
    }
    [[nodiscard]] std::string log() const {
        std::ifstream in(directory_.path() / "log");
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] unsigned number_behind(const std::string& mark) const {
        const std::string text = log();
        const auto at = text.find(mark);
        if (at == std::string::npos) return 0;
        return static_cast<unsigned>(std::strtoul(text.c_str() + at + mark.size(), nullptr, 10));
    }

    os::TemporaryDirectory directory_;
    std::unique_ptr<MemoryCage> cage_;
    std::size_t limit_ = 0;
    std::optional<os::Process> process_;
};

class AgentPorts : public Ports {
protected:
    void SetUp() override {
        sim::NodeOptions options;
        options.gpus = {{.model = "a100-40", .count = 8}};
        auto node = sim::Node::create(directory_.path() / "driver", options,
                                      ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        start("DaemonSet", "aliquot-agent",
              {ALIQUOT_BIN_DIR "/aliquot-agent", "--root", directory_.path().native(),
               "--driver-root", "/driver", "--metrics-listen", ":0", "--probe-listen",
               "127.0.0.1:0", "--http-listen", "off", "--node-name", "node-1"},
              "metrics.served address=:0 port=");
        port_ = number_behind("metrics.served address=:0 port=");
        probe_port_ = number_behind("probes.served address=127.0.0.1:0 port=");
        ASSERT_NE(probe_port_, 0U);
        expect_scrape("before");
    }
    /// A scrape and a probe, each by a client that nobody knows yet, are answered.
    void expect_scrape(const std::string& when) {
        for (const auto& [port, path] : {std::pair{port_, "/metrics"}, {probe_port_, "/live"}}) {
            std::optional<http::TestResponse> answer;
            // The first measurement takes a moment after the start.
            for (int i = 0; i < 500 && (!answer || answer->status == 503); ++i) {
                if (answer) std::this_thread::sleep_for(20ms);
                TestClient client(port, 0x7f000001);
                answer = client.get(path);
                if (!answer) break;
            }
            ASSERT_TRUE(answer) << path << " " << when;
            EXPECT_EQ(answer->status, 200) << path << " " << when;
        }
    }
    /// From one address for each client, all others than the scraper's.
    void attack(Clients& held, int count, const std::string& text) {
        for (int i = 0; i < count; ++i) {
            held.push_back(std::make_unique<TestClient>(
                port_, 0x7f010000 + static_cast<std::uint32_t>(held.size())));
            held.back()->send(text);
        }
    }
    unsigned port_ = 0;
    unsigned probe_port_ = 0;
};

TEST_F(AgentPorts, HalfSentBodiesDoNotKillTheAgent) {
    Clients held;
    const std::string body(1000 << 10U, 'x');
    for (int i = 0; i < 128; ++i) {
        attack(held, 1,
               "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n" + body);
    }
    expect_scrape("beside half-sent bodies");
}

TEST_F(AgentPorts, AThousandSlowClientsKeepNobodyOut) {
    if (const auto why = lacking_descriptors(1024); !why.empty()) GTEST_SKIP() << why;
    Clients held;
    for (int i = 0; i < 10; ++i) {
        attack(held, 100, "GET /metrics HTTP/1.1\r\nHost: a\r\nX: " + std::string(7000, 'x'));
        expect_scrape("beside slow clients");
    }
}

TEST_F(AgentPorts, ClientsThatReadNothingKeepNobodyOut) {
    if (const auto why = lacking_descriptors(600); !why.empty()) GTEST_SKIP() << why;
    Clients held;
    for (int i = 0; i < 5; ++i) {
        std::string many;
        for (int k = 0; k < 100; ++k) many += "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
        attack(held, 100, many);
        expect_scrape("beside clients that read nothing");
    }
}

TEST_F(AgentPorts, TenThousandMalformedRequestsKeepNobodyOut) {
    const std::vector<std::string> kinds{
        "\x16\x03\x01\x02",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        std::string(9000, 'A') + "\r\n",
        "GET /%00%ff HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"};
    for (int i = 0; i < 10; ++i) {
        for (int k = 0; k < 1000; ++k) {
            TestClient bad(port_, 0x7f010000 + static_cast<std::uint32_t>(k));
            bad.send(kinds[static_cast<std::size_t>(k) % kinds.size()]);
        }
        expect_scrape("beside malformed requests");
    }
}

class ControllerPorts : public Ports {
protected:
    void SetUp() override {
        auto server = sim::ApiServer::start({});
        ASSERT_TRUE(server) << server.error().message;
        api_ = *std::move(server);
        const std::string kubeconfig = directory_.path() / "kubeconfig";
        std::ofstream(kubeconfig) << api_->kubeconfig();
        start("Deployment", "aliquot-controller",
              {ALIQUOT_BIN_DIR "/aliquot-controller", "--kubeconfig", kubeconfig,
               "--webhook-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"},
              "webhook_port=");
        port_ = number_behind("webhook_port=");
    }
    static std::string head_of(std::size_t bytes) {
        return "POST /mutate/pods HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
               "Content-Length: " +
               std::to_string(bytes) + "\r\n\r\n";
    }
    /// A review of about so many bytes: a pod with one long annotation, or with many small values.
    static std::string review_of(std::size_t bytes, bool many_values) {
        std::string filling;
        while (filling.size() < bytes) {
            filling += many_values ? R"("a)" + std::to_string(filling.size()) + R"(":"b",)" : "x";
        }
        if (many_values) {
            filling.pop_back();
        } else {
            filling = R"("long":")" + filling + '"';
        }
        return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",
            "operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},
            "object":{"metadata":{"annotations":{"aliquot.dev/gpu-count":"1",)" +
               filling + R"(}},"spec":{"containers":[{"name":"main"}]}}}})";
    }
    /// 0: no answer.
    int ask(std::size_t bytes, bool many_values) const {
        TestClient client(port_, TestClient::TlsSettings{});
        const std::string body = review_of(bytes, many_values);
        client.send(head_of(body.size()) + body);
        const auto answer = client.receive();
        return answer ? answer->status : 0;
    }
    std::unique_ptr<sim::ApiServer> api_;
    unsigned port_ = 0;
};

TEST_F(ControllerPorts, HalfSentReviewsDoNotKillTheController) {
    EXPECT_EQ(ask(5000, true), 200);
    Clients held;
    const std::string half = head_of(3U << 20U) + std::string(2900U << 10U, ' ');
    for (int i = 0; i < 150; ++i) {
        held.push_back(std::make_unique<TestClient>(port_, TestClient::TlsSettings{}));
        held.back()->send(half);
        EXPECT_EQ(i % 25 == 24 ? ask(5000, true) : 200, 200) << i;
    }
}

TEST_F(ControllerPorts, LargeReviewsAtOnceDoNotKillTheController) {
    for (const bool many_values : {false, true}) {
        std::vector<std::jthread> askers;
        askers.reserve(8);
        for (int i = 0; i < 8; ++i) {
            askers.emplace_back([&] { ask((3U << 20U) - 1000, many_values); });
        }
        EXPECT_EQ(ask(5000, true), 200);
    }
    EXPECT_EQ(ask((2U << 20U), true), 200) << "an honest large one";
}

}  // namespace
}  // namespace aliquot::e2e
