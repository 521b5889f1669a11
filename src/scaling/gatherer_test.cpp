// SPDX-License-Identifier: Apache-2.0
#include "scaling/gatherer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "base/log.h"
#include "http/server.h"
#include "http/test_certificate.h"
#include "os/temporary_directory.h"
#include "scaling/test_world.h"
#include "telemetry/json.h"

namespace aliquot::scaling {
namespace {

using testing::HasSubstr;

constexpr const char* kSecret = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";

/// Agents that answer with the state of a small node.
std::unique_ptr<http::Server> agent(const std::string& node, http::Access access = {}) {
    const auto body =
        telemetry::to_json(snapshot(0, {tenant("pod-of-" + node, 1'000'000, 0)}, node));
    auto server = http::Server::listen(
        {.address = "127.0.0.1:0", .access = std::move(access)}, [=](const http::Request& request) {
            if (request.path != "/api/v1/state") {
                return http::Response{.status = 404};
            }
            return http::Response{.content_type = "application/json", .body = body};
        });
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
}

std::string place(const http::Server& server) {
    return "127.0.0.1:" + std::to_string(server.port());
}

class Gathering : public testing::Test {
protected:
    Gathering() {
        log::set_sink([this](std::string_view line) { lines.emplace_back(line); });
    }
    ~Gathering() override { log::set_sink({}); }
    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

    std::unique_ptr<Gatherer> made(GatherOptions options) {
        auto gatherer = Gatherer::make(
            std::move(options),
            [this](const telemetry::Snapshot& seen, Instant) { nodes.push_back(seen.node); });
        EXPECT_TRUE(gatherer) << gatherer.error().message;
        return *std::move(gatherer);
    }
    std::vector<std::string> nodes;
    std::vector<std::string> lines;
};

TEST_F(Gathering, AsksAllAgents) {
    const auto a = agent("a");
    const auto b = agent("b");
    const auto gatherer = made({.agents = {place(*a), "http://" + place(*b) + "/"}});
    gatherer->round();
    EXPECT_THAT(nodes, testing::UnorderedElementsAre("a", "b"));
    EXPECT_EQ(gatherer->state().answered, 2U);
    gatherer->round();
    EXPECT_EQ(nodes.size(), 4U);
    EXPECT_EQ(gatherer->state().rounds, 2U);
}

TEST_F(Gathering, AnAbsentAgentIsNamedOnceAndHindersNobody) {
    const auto a = agent("a");
    std::string gone;
    {
        const auto b = agent("b");
        gone = place(*b);
    }
    const auto gatherer = made({.agents = {gone, place(*a)}, .at_once = 1});
    gatherer->round();
    gatherer->round();
    EXPECT_THAT(nodes, testing::ElementsAre("a", "a"));
    EXPECT_EQ(gatherer->state().answered, 1U);
    EXPECT_THAT(gatherer->state().problem, HasSubstr(gone));
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], HasSubstr("scaling.agent_silent"));
}

TEST_F(Gathering, ASlowAgentIsGivenUp) {
    std::latch leave(1);
    auto slow = http::Server::listen({.address = "127.0.0.1:0"}, [&](const http::Request&) {
        leave.wait();
        return http::Response{};
    });
    const auto a = agent("a");
    const auto gatherer =
        made({.agents = {place(**slow), place(*a)}, .timeout = std::chrono::milliseconds(100)});
    gatherer->round();
    EXPECT_THAT(nodes, testing::ElementsAre("a"));
    leave.count_down();
}

TEST_F(Gathering, WhatIsNoStateIsNamed) {
    auto other = http::Server::listen({.address = "127.0.0.1:0"}, [](const http::Request&) {
        return http::Response{.body = "hello"};
    });
    auto large = http::Server::listen({.address = "127.0.0.1:0"}, [](const http::Request&) {
        return http::Response{.body = std::string(5000, ' ')};
    });
    auto none = http::Server::listen({.address = "127.0.0.1:0"}, [](const http::Request&) {
        return http::Response{.status = 404};
    });
    made({.agents = {place(**other)}})->round();
    made({.agents = {place(**large)}, .most_bytes = 4000})->round();
    made({.agents = {place(**none)}})->round();
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_THAT(lines[1], HasSubstr("more than 4000 bytes"));
    EXPECT_THAT(lines[2], HasSubstr("answered 404"));
    EXPECT_TRUE(nodes.empty());
}

TEST_F(Gathering, AServiceIsAllItsAddresses) {
    const auto a = agent("a");
    const auto gatherer = made({.service = "localhost:" + std::to_string(a->port())});
    gatherer->round();
    EXPECT_THAT(nodes, testing::Contains("a"));  // ::1 may be one of its addresses
}

TEST_F(Gathering, TlsAndPasswordsAreSpoken) {
    const os::TemporaryDirectory folder;
    const auto authority = http::TestCertificate::authority("agents");
    const auto own = authority.issue("agent", "DNS:localhost");
    http::write_file(folder.path() / "tls.crt", own.certificate);
    http::write_file(folder.path() / "tls.key", own.key);
    http::write_file(folder.path() / "ca.crt", authority.certificate);
    const auto a = agent("a", {.tls = http::Tls{.certificate_file = folder.path() / "tls.crt",
                                                .key_file = folder.path() / "tls.key"},
                               .users = {{"alice", kSecret}}});
    const std::string url = "https://localhost:" + std::to_string(a->port());
    GatherOptions options{
        .service = url, .ca_file = folder.path() / "ca.crt", .user = "alice", .password = "secret"};
    made(options)->round();
    EXPECT_THAT(nodes, testing::Contains("a"));
    nodes.clear();
    options.password = "wrong";
    made(options)->round();
    EXPECT_TRUE(nodes.empty());
    EXPECT_THAT(lines.back(), HasSubstr("answered 401"));
    options.password = "secret";
    options.ca_file.clear();
    made(options)->round();
    EXPECT_TRUE(nodes.empty());
    options.any_certificate = true;
    made(options)->round();
    EXPECT_THAT(nodes, testing::Contains("a"));
}

TEST_F(Gathering, OnItsOwnThreadItAsksAgainAndAgain) {
    std::atomic<unsigned> asked{0};
    std::latch rounds(3);
    auto server = http::Server::listen({.address = "127.0.0.1:0"}, [&](const http::Request&) {
        if (++asked <= 3) rounds.count_down();
        return http::Response{.body = telemetry::to_json(snapshot(0, {}))};
    });
    auto gatherer =
        Gatherer::make({.agents = {place(**server)}, .every = std::chrono::milliseconds(1)},
                       [](const telemetry::Snapshot&, Instant) {});
    (*gatherer)->start();
    rounds.wait();
    gatherer->reset();
}

TEST(GatherOptions, WhatIsNoAgentIsRefused) {
    const auto sink = [](const telemetry::Snapshot&, Instant) {};
    EXPECT_FALSE(Gatherer::make({}, sink));
    for (const char* bad :
         {"node", "ftp://a:1", "a:port", "http://a/b:1", "fe80::1:9400", ":9400", "u@a:1"}) {
        EXPECT_FALSE(Gatherer::make({.agents = {bad}}, sink)) << bad;
    }
    EXPECT_TRUE(Gatherer::make({.agents = {"[::1]:9400"}}, sink));
}

}  // namespace
}  // namespace aliquot::scaling
