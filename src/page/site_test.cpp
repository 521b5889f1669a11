// SPDX-License-Identifier: Apache-2.0
#include "page/site.h"

#include <gmock/gmock.h>

#include "http/server.h"
#include "http/test_client.h"
#include "page/assets.h"
#include "top/test_world.h"

namespace aliquot::page {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class PageSite : public testing::Test {
protected:
    static Sight seen() {
        return {.title = "", .cluster = top::one_node(), .pods = {}, .remarks = {}, .more = {}};
    }
    std::shared_ptr<Live> live_ =
        std::make_shared<Live>(seen, LiveOptions{.title = "t", .views = "[]", .interval = 10ms});

    static std::string header(const http::Response& response, std::string_view name) {
        for (const auto& [key, value] : response.headers) {
            if (key == name) return value;
        }
        return "";
    }
    [[nodiscard]] http::Response ask(const std::string& target,
                                     std::map<std::string, std::string> headers = {},
                                     Reach reach = Reach::kThisMachine) const {
        http::Request request{.method = "GET"};
        http::read_target(target, request);
        request.headers = std::move(headers);
        return Site(live_, "/page/", reach)(request);
    }
    static std::string body(const http::Response& response) {
        return response.shared_body ? *response.shared_body : response.body;
    }
};

TEST_F(PageSite, ServesItsFilesAndNothingElse) {
    EXPECT_THAT(body(ask("/page/")), StartsWith("<!DOCTYPE html>"));
    for (const Asset& asset : assets()) {
        const auto answer = ask("/page/" + std::string(asset.path));
        EXPECT_EQ(answer.status, 200) << asset.path;
        EXPECT_EQ(body(answer), asset.text);
        EXPECT_EQ(
            ask("/page/" + std::string(asset.path), {{"if-none-match", header(answer, "ETag")}})
                .status,
            304);
    }
    for (const char* path : {"/page/../etc/passwd", "/page/x.js", "/", "/metrics"}) {
        EXPECT_EQ(ask(path).status, 404) << path;
    }
    EXPECT_EQ(ask("/page").status, 308);
    EXPECT_EQ(header(ask("/page"), "Location"), "page/");
}

TEST_F(PageSite, LetsABrowserLoadNothingFromElsewhere) {
    const std::string policy = header(ask("/page/"), "Content-Security-Policy");
    EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'self';"));
    EXPECT_THAT(policy, testing::Not(HasSubstr("unsafe")));
    EXPECT_EQ(header(ask("/page/no-such"), "Content-Security-Policy"), policy);
    for (const char* part : {"/page/snapshot.json", "/page/app.js", "/page/style.css"}) {
        EXPECT_EQ(header(ask(part), "X-Content-Type-Options"), "nosniff") << part;
        EXPECT_EQ(header(ask(part), "Content-Security-Policy"), "") << "a quarter of a kilobyte";
    }
    for (const Asset& asset : assets()) {
        if (asset.path.starts_with("vendor/")) continue;
        EXPECT_THAT(asset.text, testing::Not(HasSubstr("http://"))) << asset.path;
        EXPECT_THAT(asset.text, testing::Not(HasSubstr("https://"))) << asset.path;
        EXPECT_THAT(asset.text, testing::Not(HasSubstr("innerHTML"))) << asset.path;
        EXPECT_THAT(asset.text, testing::Not(HasSubstr("dangerouslySet"))) << asset.path;
    }
}

TEST_F(PageSite, AnswersOnlyToThisMachinesOwnNames) {
    for (const char* host : {"localhost:9400", "127.0.0.1", "[::1]:80", "page.localhost", ""}) {
        EXPECT_EQ(ask("/page/", {{"host", host}}).status, 200) << host;
    }
    for (const char* host : {"rebound.example:9400", "localhost.example", "xlocalhost"}) {
        EXPECT_EQ(ask("/page/", {{"host", host}}).status, 421) << host;
        EXPECT_EQ(ask("/page/", {{"host", host}}, Reach::kWhoMay).status, 200) << host;
    }
}

TEST_F(PageSite, OneUserHasSomeStreamsAndLeavesTheOthers) {
    std::string who = "alice";
    const Site site(live_, "/page/", Reach::kWhoMay,
                    [&](const http::Request&) { return Pass{.who = who}; });
    const auto watch = [&] {
        http::Request request{.method = "GET"};
        http::read_target("/page/events?since=0", request);
        return site(request);
    };
    std::vector<http::Response> open;
    for (unsigned i = 0; i < Site::kMostStreamsOfOne; ++i) {
        open.push_back(watch());
        EXPECT_EQ(open.back().status, 200);
    }
    EXPECT_EQ(watch().status, 429);
    EXPECT_EQ(header(watch(), "Retry-After"), "30");
    who = "bob";
    EXPECT_EQ(watch().status, 200);
    who = "alice";
    open.pop_back();
    EXPECT_EQ(watch().status, 200) << "a stream that has ended makes room";
    who.clear();
    for (unsigned i = 0; i < Site::kMostStreamsOfOne; ++i) open.push_back(watch());
    EXPECT_EQ(watch().status, 200) << "where nobody asks who it is";
}

TEST_F(PageSite, TellsTheStateAndWhatChanged) {
    const auto snapshot = ask("/page/snapshot.json");
    EXPECT_EQ(snapshot.status, 200);
    EXPECT_THAT(body(snapshot), HasSubstr("gpu-node-1/0"));
    EXPECT_EQ(ask("/page/changes.json?since=1").status, 410) << "of no epoch";
    EXPECT_EQ(ask("/page/changes.json").status, 400);
    EXPECT_EQ(ask("/page/changes.json?since=1&epoch=" + live_->feed().epoch()).status, 200);
    EXPECT_EQ(ask("/page/shares.json").status, 400);
    EXPECT_THAT(body(ask("/page/shares.json?node=gpu-node-1")), HasSubstr("gpu-node-1/0"));
    EXPECT_EQ(ask("/page/history.json").status, 200);
    EXPECT_THAT(body(ask("/page/history.json?gpu=nobody")), HasSubstr(R"("busy":[])"));
}

TEST_F(PageSite, AsksTheGateForAllButItsFiles) {
    const Site site(live_, "/page/", Reach::kWhoMay, [](const http::Request&) {
        return Pass{.refusal = http::Response{.status = 401, .body = "who?\n"}, .only = ""};
    });
    const auto asked = [&](const std::string& target) {
        http::Request request{.method = "GET"};
        http::read_target(target, request);
        return site(request).status;
    };
    EXPECT_EQ(asked("/page/"), 200);
    EXPECT_EQ(asked("/page/app.js"), 200);
    for (const char* const path : {"snapshot.json", "changes.json?since=1", "events?since=0",
                                   "shares.json?node=a", "history.json"}) {
        EXPECT_EQ(asked(std::string("/page/") + path), 401) << path;
    }
}

TEST_F(PageSite, ShowsOnlyWhatTheGateLetsSee) {
    const Site site(live_, "/page/", Reach::kWhoMay,
                    [](const http::Request&) { return Pass{.refusal = {}, .only = "not-there"}; });
    const auto asked = [&](const std::string& target) {
        http::Request request{.method = "GET"};
        http::read_target(target, request);
        return body(site(request));
    };
    for (const char* const path : {"snapshot.json", "shares.json?node=gpu-node-1", "history.json",
                                   "history.json?gpu=gpu-node-1/0"}) {
        EXPECT_THAT(asked(std::string("/page/") + path), testing::Not(HasSubstr("gpu-node-1")))
            << path;
    }
    EXPECT_THAT(asked("/page/snapshot.json"), HasSubstr(R"("only":"not-there")"));
    const std::string whole = live_->feed().epoch();
    EXPECT_THAT(asked("/page/changes.json?since=1&epoch=" + whole), HasSubstr("another server"))
        << "a version of the whole leads nowhere";
}

TEST_F(PageSite, StreamsEventsOverHttp) {
    const auto server =
        http::Server::listen({.address = "127.0.0.1:0"}, Site(live_, "/page/", Reach::kWhoMay));
    ASSERT_TRUE(server);
    live_->visit(10s);
    http::TestClient client((*server)->port());
    const auto answer = client.get("/page/events?since=0");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->headers.at("content-type"), "text/event-stream");
    std::string text;
    while (!text.contains("event: snapshot")) {
        const auto part = client.chunk();
        ASSERT_TRUE(part) << text;
        text += *part;
    }
}

TEST(PageReach, IsWholeOnlyBehindTlsAndAPassword) {
    EXPECT_EQ(*reach_of("127.0.0.1:80", {}), Reach::kThisMachine);
    EXPECT_EQ(*reach_of("unix:/run/x.sock", {}), Reach::kThisMachine);
    EXPECT_EQ(reach_of(":9400", {}).error().code, ErrorCode::kPermission);
    EXPECT_EQ(reach_of("nonsense", {}).error().code, ErrorCode::kInvalidInput);
    http::Access access{.users = {{"alice", "$2b$"}}};
    EXPECT_EQ(reach_of(":9400", access).error().code, ErrorCode::kPermission) << "without TLS";
    access.tls = http::Tls{.certificate_file = "c", .key_file = "k"};
    EXPECT_EQ(*reach_of(":9400", access), Reach::kWhoMay);
    access.users.clear();
    EXPECT_FALSE(reach_of(":9400", access));
    access.tls->client_ca_file = "ca";
    EXPECT_FALSE(reach_of(":9400", access)) << "certificates that are not asked for";
    access.tls->client_auth = http::Tls::ClientAuth::kVerify;
    EXPECT_EQ(*reach_of(":9400", access), Reach::kWhoMay);
}

}  // namespace
}  // namespace aliquot::page
