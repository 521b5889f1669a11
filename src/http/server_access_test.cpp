// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/log.h"
#include "http/auth.h"
#include "http/server.h"
#include "http/test_certificate.h"
#include "http/test_client.h"
#include "os/temporary_directory.h"

namespace aliquot::http {
namespace {

constexpr const char* kSecret = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";
constexpr const char* kHunter = "$2b$04$ABCDEFGHIJKLMNOPQRSTUuJpKAV2XDDA/iejWFu3tzYAxBETWIgAe";
constexpr const char* kAlice = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n";        // alice:secret
constexpr const char* kWrong = "Authorization: Basic YWxpY2U6d3Jvbmc=\r\n";        // alice:wrong
constexpr const char* kMallory = "Authorization: Basic bWFsbG9yeTpzZWNyZXQ=\r\n";  // mallory:secret
constexpr const char* kBob = "Authorization: Basic Ym9iOmh1bnRlcjI=\r\n";          // bob:hunter2

std::unique_ptr<Server> started(Access access) {
    auto server = Server::listen({.address = "127.0.0.1:0", .access = std::move(access)},
                                 [](const Request&) { return Response{.body = "ok"}; });
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
}

TEST(ServerAccess, OnlyWhoHasAPasswordIsAnswered) {
    const auto server = started({.users = {{"alice", kSecret}}});
    TestClient client(server->port());
    const auto nobody = client.get("/");
    EXPECT_EQ(nobody->status, 401);
    EXPECT_TRUE(nobody->headers.at("www-authenticate").starts_with("Basic realm="));
    EXPECT_EQ(client.get("/", kWrong)->status, 401);
    EXPECT_EQ(client.get("/", kMallory)->status, 401);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(client.get("/", kAlice)->status, 200);
    EXPECT_EQ(client.get("/", kWrong)->status, 401);
}

TEST(ServerAccess, GuessersDoNotKeepOutWhoIsKnown) {
    const auto server = started({.users = {{"alice", kSecret}}});
    TestClient known(server->port());
    EXPECT_EQ(known.get("/", kAlice)->status, 200);
    std::vector<std::unique_ptr<TestClient>> guessers;
    for (int i = 0; i < 30; ++i) {
        guessers.push_back(std::make_unique<TestClient>(server->port()));
        guessers.back()->send(std::string("GET / HTTP/1.1\r\nHost: a\r\n") + kWrong + "\r\n");
    }
    EXPECT_EQ(known.get("/", kAlice)->status, 200);
    for (auto& guesser : guessers) EXPECT_EQ(guesser->receive()->status, 401);
}

TEST(ServerAccess, HeadersOfTheFileAreSent) {
    const auto server = started({.response_headers = {{"X-Frame-Options", "deny"}}});
    TestClient client(server->port());
    EXPECT_EQ(client.get("/")->headers.at("x-frame-options"), "deny");
}

TEST(ServerAccess, AChangedFileCountsAndABadOneDoesNot) {
    const os::TemporaryDirectory folder;
    const std::string path = folder.path() / "web.yml";
    write_file(path, "basic_auth_users: {alice: " + std::string(kSecret) + "}\n");
    std::vector<std::string> lines;
    log::set_sink([&](std::string_view line) { lines.emplace_back(line); });
    auto watch = AuthWatch::start(*read_access(path));
    ASSERT_TRUE(watch);
    const auto first = watch->current();
    write_file(path, "basic_auth_users: {alice: plain}\n");
    watch->look();
    watch->look();
    EXPECT_EQ(watch->current(), first);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines[0].contains("web.yml:1:27")) << lines[0];
    write_file(path, "basic_auth_users: {bob: " + std::string(kHunter) + "}\n");
    watch->look();
    EXPECT_NE(watch->current(), first);
    EXPECT_TRUE(watch->current()->passwords.matches({"bob", "hunter2"}));
    EXPECT_FALSE(watch->current()->passwords.matches({"alice", "secret"}));
    EXPECT_EQ(lines.size(), 2U);
    log::set_sink({});
}

TEST(ServerAccess, AKeyThatReplacesAnotherWhileItIsReadIsSeen) {
    const os::TemporaryDirectory folder;
    const auto certificate = folder.path() / "tls.crt";
    const auto key = folder.path() / "tls.key";
    const auto old = TestCertificate::authority("old");
    const auto fresh = TestCertificate::authority("new");
    write_file(certificate, old.certificate);
    write_file(key, old.key);
    auto watch = AuthWatch::start(
        {.tls = Tls{.certificate_file = certificate.native(), .key_file = key.native()}});
    ASSERT_TRUE(watch) << watch.error().message;
    const auto first = watch->current();
    // Whoever reads the pipe gets the old key, and finds the new one when he looks at the name again.
    write_file(certificate, fresh.certificate);
    std::filesystem::remove(key);
    ASSERT_EQ(::mkfifo(key.c_str(), 0600), 0);
    std::thread writer([&] {
        std::ofstream pipe(key);
        write_file(key, fresh.key);
        pipe << old.key;
    });
    watch->look();
    writer.join();
    EXPECT_EQ(watch->current(), first) << "a pair that does not fit";
    watch->look();
    EXPECT_NE(watch->current(), first) << "the new pair";
}

TEST(ServerAccess, ARunningServerFollowsItsFile) {
    const os::TemporaryDirectory folder;
    const std::string path = folder.path() / "web.yml";
    write_file(path, "basic_auth_users: {alice: " + std::string(kSecret) + "}\n");
    const auto server = started(*read_access(path));
    TestClient client(server->port());
    EXPECT_EQ(client.get("/", kAlice)->status, 200);
    write_file(path, "basic_auth_users: {bob: " + std::string(kHunter) + "}\n");
    // It looks once a second: ask until it has.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    int status = 0;
    while (status != 200 && std::chrono::steady_clock::now() < limit) {
        status = client.get("/", kBob)->status;
    }
    EXPECT_EQ(status, 200);
    EXPECT_EQ(client.get("/", kAlice)->status, 401);
}

}  // namespace
}  // namespace aliquot::http
