// SPDX-License-Identifier: Apache-2.0
#include "controller/secret.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aliquot::controller {
namespace {

const Credentials kHeld{.authority = {"A", "a"}, .previous = {"P", "p"}, .serving = {"S", "s"}};

TEST(Secret, GivesBackWhatWasWritten) {
    const std::string json = write_secret("", {"ns", "hook"}, kHeld, 7);
    const KeptCredentials kept = read_secret(json);
    EXPECT_EQ(kept.epoch, 7U);
    EXPECT_EQ(kept.credentials.authority.certificate, "A");
    EXPECT_EQ(kept.credentials.previous.key, "p");
    EXPECT_EQ(kept.credentials.serving.certificate, "S");
    EXPECT_EQ(kept.credentials.bundle(), "AP");
    const auto root = nlohmann::json::parse(json);
    EXPECT_EQ(root["data"]["ca.crt"], "QVA=");
    EXPECT_EQ(root["type"], "Opaque");
}

TEST(Secret, KeepsWhatElseItHolds) {
    const std::string json = write_secret(
        R"({"metadata":{"name":"hook","resourceVersion":"9","labels":{"team":"x"},"managedFields":[]},
            "type":"kubernetes.io/tls","data":{"other":"eA==","previous.crt":"UA=="}})",
        {"ns", "hook"}, {.authority = {"A", "a"}, .previous = {}, .serving = {"S", "s"}}, 1);
    const auto root = nlohmann::json::parse(json);
    EXPECT_EQ(root["metadata"]["resourceVersion"], "9");
    EXPECT_EQ(root["metadata"]["labels"]["team"], "x");
    EXPECT_FALSE(root["metadata"].contains("managedFields"));
    EXPECT_EQ(root["type"], "kubernetes.io/tls");
    EXPECT_EQ(root["data"]["other"], "eA==");
    EXPECT_FALSE(root["data"].contains("previous.crt"));
}

TEST(Secret, OfAnythingElseNothingIsRead) {
    for (const char* const json :
         {"", "no json", "[]", R"({"data":7})", R"({"data":{"tls.crt":"***","tls.key":5}})",
          R"({"metadata":{"annotations":{"aliquot.dev/epoch":"x"}}})"}) {
        const KeptCredentials kept = read_secret(json);
        EXPECT_EQ(kept.epoch, 0U) << json;
        EXPECT_TRUE(kept.credentials.serving.certificate.empty()) << json;
    }
}

}  // namespace
}  // namespace aliquot::controller
