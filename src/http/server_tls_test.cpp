// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/log.h"
#include "http/auth.h"
#include "http/server.h"
#include "http/test_client.h"
#include "os/temporary_directory.h"

namespace aliquot::http {
namespace {

/// A folder with a server's certificate.
class ServerTls : public testing::Test {
protected:
    ServerTls() {
        write_file(folder_.path() / "server.crt", server_.certificate);
        write_file(folder_.path() / "server.key", server_.key);
        write_file(folder_.path() / "ca.crt", authority_.certificate);
    }
    [[nodiscard]] Tls tls(Tls::ClientAuth client_auth = Tls::ClientAuth::kNone) const {
        return {.certificate_file = folder_.path() / "server.crt",
                .key_file = folder_.path() / "server.key",
                .client_ca_file = folder_.path() / "ca.crt",
                .client_auth = client_auth};
    }
    static std::unique_ptr<Server> started(Tls tls) {
        auto server = Server::listen({.address = "127.0.0.1:0", .access = {.tls = std::move(tls)}},
                                     [](const Request& request) {
                                         return Response{.body = request.path == "/long"
                                                                     ? std::string(1U << 20U, 'x')
                                                                     : "peer=" + request.peer_name};
                                     });
        EXPECT_TRUE(server) << server.error().message;
        return *std::move(server);
    }
    [[nodiscard]] TestClient::TlsSettings settings(const TestCertificate* own = nullptr) const {
        return {.authority = &authority_, .own = own};
    }
    /// What a client with this certificate is told; empty: it is not let in.
    [[nodiscard]] std::string told(const Server& server, const TestCertificate* own) const {
        TestClient client(server.port(), settings(own));
        const auto answer = client.get("/");
        return answer ? answer->body : "";
    }

    const os::TemporaryDirectory folder_;
    const TestCertificate authority_ = TestCertificate::authority("test authority");
    const TestCertificate server_ = authority_.issue("server", "DNS:localhost,IP:127.0.0.1");
    const TestCertificate stranger_ = TestCertificate::authority("other").issue("mallory", "");
    const TestCertificate friend_ = authority_.issue("front-proxy", "DNS:proxy.example");
};

TEST_F(ServerTls, ServesManyRequestsOnOneConnection) {
    const auto server = started(tls());
    TestClient client(server->port(), settings());
    ASSERT_TRUE(client.greeted());
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(client.get("/")->body, "peer=");
        EXPECT_EQ(client.get("/long")->body.size(), 1U << 20U);
    }
}

TEST_F(ServerTls, TellsPlainHttpWhatItIs) {
    const auto server = started(tls());
    TestClient client(server->port());
    const auto answer = client.get("/");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400);
    EXPECT_EQ(answer->body, "this is an HTTPS server: ask with https://\n");
}

TEST_F(ServerTls, ClientCertificatesCountAsTheModeSays) {
    using Mode = Tls::ClientAuth;
    const auto none = started(tls(Mode::kNone));
    EXPECT_EQ(told(*none, &friend_), "peer=");
    const auto request = started(tls(Mode::kRequest));
    EXPECT_EQ(told(*request, nullptr), "peer=");
    EXPECT_EQ(told(*request, &stranger_), "peer=");
    EXPECT_EQ(told(*request, &friend_), "peer=");  // not verified: no name
    const auto any = started(tls(Mode::kRequire));
    EXPECT_EQ(told(*any, nullptr), "");
    EXPECT_EQ(told(*any, &stranger_), "peer=");
    const auto if_given = started(tls(Mode::kVerifyIfGiven));
    EXPECT_EQ(told(*if_given, nullptr), "peer=");
    EXPECT_EQ(told(*if_given, &stranger_), "");
    EXPECT_EQ(told(*if_given, &friend_), "peer=front-proxy");
    const auto verify = started(tls(Mode::kVerify));
    EXPECT_EQ(told(*verify, nullptr), "");
    EXPECT_EQ(told(*verify, &stranger_), "");
    EXPECT_EQ(told(*verify, &friend_), "peer=front-proxy");
}

TEST_F(ServerTls, OnlyAllowedNamesComeIn) {
    Tls only = tls(Tls::ClientAuth::kVerify);
    only.allowed_client_names = {"proxy.example"};
    const auto server = started(only);
    EXPECT_EQ(told(*server, &friend_), "peer=front-proxy");
    const TestCertificate other = authority_.issue("front-proxy", "DNS:other.example");
    EXPECT_EQ(told(*server, &other), "");
    only.allowed_client_names = {"10.1.2.3"};
    const auto by_address = started(only);
    const TestCertificate addressed = authority_.issue("a", "IP:10.1.2.3");
    EXPECT_EQ(told(*by_address, &addressed), "peer=a");
    EXPECT_EQ(told(*by_address, &friend_), "");
}

TEST_F(ServerTls, TheOldestVersionIsKept) {
    Tls newest = tls();
    newest.min_version = "TLS13";
    const auto server = started(newest);
    TestClient old(server->port(), {.authority = &authority_, .only_tls12 = true});
    EXPECT_FALSE(old.greeted());
    TestClient fresh(server->port(), settings());
    EXPECT_TRUE(fresh.greeted());
    const auto both = started(tls());
    TestClient twelve(both->port(), {.authority = &authority_, .only_tls12 = true});
    EXPECT_EQ(twelve.get("/")->status, 200);
}

TEST_F(ServerTls, BadFilesAreNamed) {
    const auto complaint = [](const Tls& bad) {
        const auto context = TlsContext::load(bad);
        return context ? "" : context.error().message;
    };
    Tls bad = tls();
    bad.certificate_file = folder_.path() / "none.crt";
    EXPECT_TRUE(complaint(bad).contains("none.crt"));
    bad = tls();
    write_file(folder_.path() / "other.key", friend_.key);
    bad.key_file = folder_.path() / "other.key";
    EXPECT_TRUE(complaint(bad).contains("other.key: key values mismatch; expected the key of "))
        << complaint(bad);
    write_file(folder_.path() / "broken.crt", "-----BEGIN CERTIFICATE-----\nxx\n");
    bad = tls();
    bad.certificate_file = folder_.path() / "broken.crt";
    EXPECT_TRUE(complaint(bad).contains("expected a certificate in PEM")) << complaint(bad);
    bad = tls(Tls::ClientAuth::kVerify);
    bad.client_ca_file = folder_.path() / "server.key";
    EXPECT_TRUE(complaint(bad).contains("expected certificates of authorities")) << complaint(bad);
}

TEST_F(ServerTls, ANewCertificateCountsForNewConnectionsAndABadOneDoesNot) {
    auto watch = AuthWatch::start({.tls = tls()});
    ASSERT_TRUE(watch);
    std::vector<std::string> lines;
    log::set_sink([&](std::string_view line) { lines.emplace_back(line); });
    const auto first = watch->current();
    const TestCertificate next = authority_.issue("server", "DNS:localhost");
    write_file(folder_.path() / "server.crt", next.certificate);
    watch->look();  // the key is the old one still
    watch->look();
    EXPECT_EQ(watch->current(), first);
    EXPECT_EQ(lines.size(), 1U);
    write_file(folder_.path() / "server.key", next.key);
    watch->look();
    EXPECT_NE(watch->current(), first);
    EXPECT_EQ(lines.size(), 2U);
    log::set_sink({});
}

TEST_F(ServerTls, ARunningServerTakesANewCertificate) {
    const auto server = started(tls());
    TestClient stays(server->port(), settings());
    EXPECT_EQ(stays.get("/")->headers.at("connection"), "keep-alive");
    const TestCertificate authority = TestCertificate::authority("next authority");
    const TestCertificate next = authority.issue("server", "DNS:localhost");
    write_file(folder_.path() / "server.key", next.key);
    write_file(folder_.path() / "server.crt", next.certificate);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool greeted = false;
    while (!greeted && std::chrono::steady_clock::now() < limit) {
        TestClient client(server->port(), {.authority = &authority});
        greeted = client.greeted();
    }
    EXPECT_TRUE(greeted);
    // What came in by the old certificate is answered once more, then starts anew.
    EXPECT_EQ(stays.get("/")->headers.at("connection"), "close");
}

}  // namespace
}  // namespace aliquot::http
