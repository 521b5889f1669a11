// SPDX-License-Identifier: Apache-2.0
#include "registry/login.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/temporary_directory.h"

namespace aliquot::registry {
namespace {

Result<std::string> no_helper(const std::string& helper, const std::string&) {
    return Error{ErrorCode::kNotFound, "docker-credential-" + helper + ": no such program"};
}

/// "name:password" of an image; "none"; else what is wrong.
std::string shown(const Result<std::optional<Login>>& login) {
    if (!login) return login.error().message;
    return *login ? (*login)->user + ":" + (*login)->password : "none";
}

std::string login(const char* config, const char* image, const AskHelper& ask = no_helper) {
    return shown(login_of(config, *parse_reference(image), ask));
}

// YTpi is "a:b", Yzpk is "c:d".
constexpr const char* kLogins =
    R"({"auths":{"ghcr.io":{"auth":"YTpi"},"ghcr.io/org":{"auth":"Yzpk"},"https://index.docker.io/v1/":{"auth":"YTpi"},"quay.io":{}}})";

TEST(Login, IsThatOfTheLongestName) {
    EXPECT_EQ(login(kLogins, "ghcr.io/other/x"), "a:b");
    EXPECT_EQ(login(kLogins, "ghcr.io/org/x"), "c:d");
    EXPECT_EQ(login(kLogins, "ghcr.io/organisation/x"), "a:b");
    EXPECT_EQ(login(kLogins, "ubuntu"), "a:b");
    EXPECT_EQ(login(kLogins, "quay.io/x"), "none");
    EXPECT_EQ(login(kLogins, "ghcr.io.example/x"), "none");
    EXPECT_EQ(login("{}", "ubuntu"), "none");
}

TEST(Login, IsAskedOfTheProgramThatKeepsIt) {
    std::string asked;
    const auto helper = [&](const std::string& name,
                            const std::string& server) -> Result<std::string> {
        asked = name + " " + server;
        return std::string(R"({"ServerURL":"x","Username":"AWS","Secret":"s"})");
    };
    EXPECT_EQ(login(R"({"credHelpers":{"1.dkr.ecr.eu-west-1.amazonaws.com":"ecr-login"}})",
                    "1.dkr.ecr.eu-west-1.amazonaws.com/ci", helper),
              "AWS:s");
    EXPECT_EQ(asked, "ecr-login 1.dkr.ecr.eu-west-1.amazonaws.com");
    EXPECT_EQ(login(R"({"auths":{"docker.io":{}},"credsStore":"desktop"})", "ubuntu", helper),
              "AWS:s");
    EXPECT_EQ(asked, "desktop https://index.docker.io/v1/");
    const auto absent = [](const std::string&, const std::string&) -> Result<std::string> {
        return std::string("credentials not found in native keychain\n");
    };
    EXPECT_EQ(login(R"({"credsStore":"pass"})", "ubuntu", absent), "none");
    EXPECT_NE(login(R"({"credsStore":"../../bin/sh"})", "ubuntu", helper)
                  .find("not the name of a helper"),
              std::string::npos);
    EXPECT_NE(login(R"({"credsStore":"pass"})", "ubuntu").find("no such program"),
              std::string::npos);
}

TEST(Login, ThatCannotBeReadIsTold) {
    EXPECT_NE(login("[]", "ubuntu").find("docker login"), std::string::npos);
    EXPECT_NE(login("x", "ubuntu").find("docker login"), std::string::npos);
    EXPECT_NE(login(R"({"auths":{"ghcr.io":{"auth":"%"}}})", "ghcr.io/a").find("base64"),
              std::string::npos);
    EXPECT_NE(
        login(R"({"auths":{"ghcr.io":{"identitytoken":"t"}}})", "ghcr.io/a").find("identity token"),
        std::string::npos);
}

TEST(Login, IsInTheFileThatToolsOfContainersRead) {
    const os::TemporaryDirectory directory;
    const std::string home = directory.path().native();
    std::filesystem::create_directories(home + "/.docker");
    std::ofstream(home + "/.docker/config.json") << kLogins;
    std::ofstream(home + "/auth.json") << R"({"auths":{"ghcr.io":{"auth":"Yzpk"}}})";
    const auto image = *parse_reference("ghcr.io/x");
    EXPECT_EQ(shown(find_login("", {{"HOME", home}}, image)), "a:b");
    EXPECT_EQ(
        shown(find_login("", {{"HOME", home}, {"REGISTRY_AUTH_FILE", home + "/auth.json"}}, image)),
        "c:d");
    EXPECT_EQ(shown(find_login(home + "/auth.json", {{"HOME", home}}, image)), "c:d");
    EXPECT_EQ(shown(find_login("", {{"HOME", "/nowhere"}}, image)), "none");
    EXPECT_NE(shown(find_login(home + "/none.json", {}, image)).find("cannot read it"),
              std::string::npos);
}

TEST(Login, OfARealHelperComesOverItsPipes) {
    const os::TemporaryDirectory directory;
    const std::string home = directory.path().native();
    {
        std::ofstream(home + "/docker-credential-test")
            << "#!/bin/sh\nread server\necho \"{\\\"Username\\\":\\\"u\\\",\\\"Secret\\\":\\\"$1 "
               "$server\\\"}\"\n";
    }
    std::filesystem::permissions(home + "/docker-credential-test",
                                 std::filesystem::perms::owner_all);
    std::ofstream(home + "/config.json") << R"({"credsStore":"test"})";
    const std::string path = ::getenv("PATH");
    ::setenv("PATH", (home + ":" + path).c_str(), 1);
    EXPECT_EQ(shown(find_login(home + "/config.json", {}, *parse_reference("ghcr.io/x"))),
              "u:get ghcr.io");
    ::setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace aliquot::registry
