// SPDX-License-Identifier: Apache-2.0
#include "registry/challenge.h"

#include <gtest/gtest.h>

namespace aliquot::registry {
namespace {

TEST(Challenge, OfDockerHubNamesWhoGivesTokens) {
    const auto found = read_challenge(
        R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/ubuntu:pull")");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_bearer);
    EXPECT_EQ(token_url(*found, "unused"),
              "https://auth.docker.io/"
              "token?service=registry.docker.io&scope=repository%3Alibrary%2Fubuntu%3Apull");
}

TEST(Challenge, WithoutAScopeIsAskedForThisRepository) {
    const auto found = read_challenge(R"(bearer REALM = "https://a/t?x=1" , service=s)");
    ASSERT_TRUE(found);
    EXPECT_EQ(token_url(*found, "repository:a/b:pull"),
              "https://a/t?x=1&service=s&scope=repository%3Aa%2Fb%3Apull");
}

TEST(Challenge, ThatWeCannotAnswerIsPassedOver) {
    EXPECT_FALSE(read_challenge(""));
    EXPECT_FALSE(read_challenge("Negotiate"));
    EXPECT_FALSE(read_challenge("Bearer"));
    EXPECT_FALSE(read_challenge("\"\"\"\\"));
    EXPECT_FALSE(read_challenge(R"(Digest realm="a", nonce="b")"));
    const auto basic = read_challenge(R"(Negotiate, Basic realm="registry")");
    ASSERT_TRUE(basic);
    EXPECT_FALSE(basic->is_bearer);
    const auto both =
        read_challenge(R"(Basic realm="a, \"b\"", Bearer realm="https://a/t",scope="s")");
    ASSERT_TRUE(both);
    EXPECT_TRUE(both->is_bearer);
    EXPECT_EQ(both->realm, "https://a/t");
}

}  // namespace
}  // namespace aliquot::registry
