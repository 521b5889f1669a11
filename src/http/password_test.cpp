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

Passwords::Verdict remembered(const Passwords& passwords, const Credentials& given) {
    return passwords.remembered(given, passwords.digest(given));
}

using Verdict = Passwords::Verdict;

TEST(Password, ARightOneIsKnownFromThenOn) {
    Passwords passwords({{"alice", kSecret}, {"bob", kHunter}});
    EXPECT_EQ(remembered(passwords, {"alice", "secret"}), Verdict::kUnknown);
    EXPECT_TRUE(passwords.matches({"alice", "secret"}));
    EXPECT_EQ(remembered(passwords, {"alice", "secret"}), Verdict::kRight);
    EXPECT_EQ(remembered(passwords, {"alice", "secre"}), Verdict::kUnknown);
    EXPECT_EQ(remembered(passwords, {"bob", "secret"}), Verdict::kUnknown);
    EXPECT_TRUE(passwords.matches({"bob", "hunter2"}));
}

TEST(Password, AWrongOneAndAnUnknownUserDoNotMatch) {
    Passwords passwords(std::map<std::string, std::string>{{"alice", kSecret}});
    EXPECT_FALSE(passwords.matches({"alice", "Secret"}));
    EXPECT_FALSE(passwords.matches({"alice", ""}));
    EXPECT_FALSE(passwords.matches({"mallory", "secret"}));
    EXPECT_FALSE(passwords.matches({"", ""}));
    EXPECT_EQ(remembered(passwords, {"alice", "Secret"}), Verdict::kWrong);
    EXPECT_FALSE(passwords.matches({"alice", std::string(2000, 'x')}));
}

TEST(Password, OfWrongOnesOnlyTheLastAreRemembered) {
    // Cost 4: a thousand of them are two seconds.
    Passwords passwords(std::map<std::string, std::string>{{"bob", kHunter}});
    constexpr int kMore = 1100;
    for (int i = 0; i < kMore; ++i) EXPECT_FALSE(passwords.matches({"bob", std::to_string(i)}));
    EXPECT_EQ(remembered(passwords, {"bob", "0"}), Verdict::kUnknown);
    EXPECT_EQ(remembered(passwords, {"bob", std::to_string(kMore - 1)}), Verdict::kWrong);
}

}  // namespace
}  // namespace aliquot::http
