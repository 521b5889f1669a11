// SPDX-License-Identifier: Apache-2.0
#include "http/password.h"

#include <gtest/gtest.h>

namespace aliquot::http {
namespace {

// Made with another program: "secret" and "hunter2".
constexpr const char* kSecret = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";
constexpr const char* kHunter = "$2b$04$ABCDEFGHIJKLMNOPQRSTUuJpKAV2XDDA/iejWFu3tzYAxBETWIgAe";

TEST(Password, ABasicHeaderIsDecoded) {
    const auto given = read_basic("Basic YWxpY2U6c2U6Y3JldA==");
    ASSERT_TRUE(given);
    EXPECT_EQ(given->user, "alice");
    EXPECT_EQ(given->password, "se:cret");
    EXPECT_TRUE(read_basic("basic  YTpi"));
    EXPECT_FALSE(read_basic("Bearer YTpi"));
    EXPECT_FALSE(read_basic("Basic"));
    EXPECT_FALSE(read_basic("Basic !!!!"));
    EXPECT_FALSE(read_basic("Basic YWI="));
    EXPECT_FALSE(read_basic("Basic YQA6Yg=="));  // a NUL in the name
}

TEST(Password, OnlyBcryptOfABearableCostIsTaken) {
    EXPECT_EQ(why_no_bcrypt(kSecret), "");
    EXPECT_NE(why_no_bcrypt(""), "");
    EXPECT_NE(why_no_bcrypt("$6$salt$hash"), "");
    EXPECT_NE(why_no_bcrypt("$2x" + std::string(kSecret).substr(3)), "");
    EXPECT_NE(why_no_bcrypt("$2y$03" + std::string(kSecret).substr(6)), "");
    EXPECT_NE(why_no_bcrypt("$2y$16" + std::string(kSecret).substr(6)), "");
}

TEST(Password, ARightOneIsKnownFromThenOn) {
    Passwords passwords({{"alice", kSecret}, {"bob", kHunter}});
    EXPECT_FALSE(passwords.is_known({"alice", "secret"}));
    EXPECT_TRUE(passwords.matches({"alice", "secret"}));
    EXPECT_TRUE(passwords.is_known({"alice", "secret"}));
    EXPECT_FALSE(passwords.is_known({"alice", "secre"}));
    EXPECT_FALSE(passwords.is_known({"bob", "secret"}));
    EXPECT_TRUE(passwords.matches({"bob", "hunter2"}));
}

TEST(Password, AWrongOneAndAnUnknownUserDoNotMatch) {
    Passwords passwords(std::map<std::string, std::string>{{"alice", kSecret}});
    EXPECT_FALSE(passwords.matches({"alice", "Secret"}));
    EXPECT_FALSE(passwords.matches({"alice", ""}));
    EXPECT_FALSE(passwords.matches({"mallory", "secret"}));
    EXPECT_FALSE(passwords.matches({"", ""}));
    EXPECT_FALSE(passwords.is_known({"alice", "Secret"}));
    EXPECT_FALSE(passwords.matches({"alice", std::string(2000, 'x')}));
}

}  // namespace
}  // namespace aliquot::http
