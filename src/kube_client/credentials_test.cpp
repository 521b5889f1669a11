// SPDX-License-Identifier: Apache-2.0
#include "kube_client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/temporary_directory.h"

namespace aliquot::kube_client {
namespace {

using testing::HasSubstr;

class CredentialsTest : public testing::Test {
protected:
    void write(const std::string& path, const std::string& text, std::uint32_t mode = 0644) {
        ASSERT_TRUE(root_.write_atomically(path, text, mode));
    }
    [[nodiscard]] std::string at(const std::string& path) const {
        return directory_.path().string() + path;
    }
    const os::TemporaryDirectory directory_;
    const os::Root root_{directory_.path()};
    os::ManualClock clock_;
};

TEST_F(CredentialsTest, ReadATokenAgainAfterAMinute) {
    write("/token", "first\n");
    FileCredentials credentials({.token_file = "/token"}, clock_, root_);
    const auto first = credentials.current({});
    ASSERT_TRUE(first);
    EXPECT_EQ((*first)->bearer_token, "first");
    write("/token", "second");
    EXPECT_EQ(*credentials.current({}), *first);
    clock_.advance(std::chrono::seconds(61));
    EXPECT_EQ((*credentials.current({}))->bearer_token, "second");
    // A file that vanishes leaves what it said.
    ASSERT_TRUE(root_.remove("/token"));
    clock_.advance(std::chrono::seconds(61));
    EXPECT_EQ((*credentials.current({}))->bearer_token, "second");
}

TEST_F(CredentialsTest, ReadATokenAtOnceWhenItWasRefused) {
    write("/token", "first");
    FileCredentials credentials({.token_file = "/token"}, clock_, root_);
    const auto shown = *credentials.current({});
    EXPECT_FALSE(credentials.refused(shown));  // nothing newer there: no use to try again
    write("/token", "second");
    EXPECT_TRUE(credentials.refused(shown));
    EXPECT_EQ((*credentials.current({}))->bearer_token, "second");
}

TEST_F(CredentialsTest, TellWhichFileIsMissingOrWrong) {
    FileCredentials missing({.token_file = "/none"}, clock_, root_);
    EXPECT_EQ(missing.current({}).error().code, ErrorCode::kNotFound);
    write("/empty", " \n");
    FileCredentials empty({.token_file = "/empty"}, clock_, root_);
    EXPECT_THAT(empty.current({}).error().message, HasSubstr("/empty is empty"));
    write("/two", "a\nb\n");
    FileCredentials two({.token_file = "/two"}, clock_, root_);
    EXPECT_THAT(two.current({}).error().message, HasSubstr("more than one line"));
}

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

TEST(ExecAnswer, IsReadOrRefusedWithoutQuotingIt) {
    const auto answer = read_exec_answer(
        R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t","expirationTimestamp":"1970-01-02T01:00:00+01:00"}})",
        kV1);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->token, "t");
    EXPECT_EQ(answer->expires, 86'400);
    const std::string head = R"({"kind":"ExecCredential","apiVersion":")" + std::string(kV1) + "\"";
    for (const std::string& bad : std::vector<std::string>{
             "", "secret", "[]", R"({"kind":"X"})", head + "}", head + R"(,"status":{}})",
             head + R"(,"status":{"clientCertificateData":"secret"}})",
             head + R"(,"status":{"token":"secret","expirationTimestamp":"soon"}})",
             head + R"(,"status":{"token":"sec\nret"}})",
             R"({"kind":"ExecCredential","apiVersion":"v9","status":{"token":"secret"}})"}) {
        const auto refused = read_exec_answer(bad, kV1);
        ASSERT_FALSE(refused) << bad;
        EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("sec"))) << bad;
    }
}

TEST_F(CredentialsTest, AskAPluginOnceUntilItsAnswerExpiresOrIsRefused) {
    // Counts its runs in a file, and shows that it gets its arguments and environment as they are.
    write("/login",
          "#!/bin/sh\necho run >> \"$0.runs\"\necho \"advice for people\" >&2\n"
          "test \"$1\" = 'a b; exit 3' || exit 4\ntest \"$EXTRA\" = '$HOME' || exit 5\n"
          "case \"$KUBERNETES_EXEC_INFO\" in *'\"server\":\"https://h:1\"'*) ;; *) exit 6;; esac\n"
          "n=$(wc -l < \"$0.runs\")\n"
          "echo "
          "\"{\\\"kind\\\":\\\"ExecCredential\\\",\\\"apiVersion\\\":\\\"client.authentication.k8s."
          "io/v1\\\",\\\"status\\\":{\\\"token\\\":\\\"t$n\\\",\\\"expirationTimestamp\\\":"
          "\\\"1970-01-01T01:00:00Z\\\"}}\"\n",
          0755);
    std::int64_t now = 0;
    ConfigExec exec{.api_version = std::string(kV1),
                    .command = at("/login"),
                    .arguments = {"a b; exit 3"},
                    .environment = {{"EXTRA", "$HOME"}},
                    .provide_cluster_info = true};
    ExecCredentials credentials(
        exec, {.server = "https://h:1"},
        std::make_unique<FileCredentials>(IdentityFiles{.given = {.ca_pem = "ca"}}, clock_),
        [&] { return now; });
    const auto first = credentials.current({});
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ((*first)->bearer_token, "t1");
    EXPECT_EQ((*first)->ca_pem, "ca");
    now = 3000;
    EXPECT_EQ(*credentials.current({}), *first);
    EXPECT_TRUE(credentials.refused(*first));
    EXPECT_EQ((*credentials.current({}))->bearer_token, "t2");
    now = 3595;  // a moment before it expires
    EXPECT_EQ((*credentials.current({}))->bearer_token, "t3");
}

TEST_F(CredentialsTest, TellHowAPluginFailed) {
    write("/bad", "#!/bin/sh\necho nonsense\n", 0755);
    write("/fails", "#!/bin/sh\nexit 9\n", 0755);
    const auto error_of = [&](const std::string& command) {
        ExecCredentials credentials(
            {.api_version = std::string(kV1), .command = command, .install_hint = "Install it."},
            {}, std::make_unique<FileCredentials>(IdentityFiles{}, clock_), [] { return 0; });
        return credentials.current({}).error();
    };
    EXPECT_THAT(error_of(at("/bad")).message, HasSubstr("is no JSON object"));
    EXPECT_THAT(error_of(at("/fails")).message, HasSubstr("exit code 9"));
    const auto missing = error_of("aliquot-no-such-plugin");
    EXPECT_EQ(missing.code, ErrorCode::kNotFound);
    EXPECT_THAT(missing.message, HasSubstr("Install it."));
}

}  // namespace
}  // namespace aliquot::kube_client
