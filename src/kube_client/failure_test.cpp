// SPDX-License-Identifier: Apache-2.0
#include "kube_client/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::kube_client {
namespace {

TEST(Failure, SaysWhatTheStatusSays) {
    const auto failure = failure_of(
        409,
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"Apply failed","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"other\"","field":".data.k"}],"retryAfterSeconds":3},"code":409})",
        "apply configmaps default/a");
    EXPECT_EQ(failure.reason, Reason::kConflict);
    EXPECT_EQ(failure.http_status, 409);
    EXPECT_EQ(failure.message, "apply configmaps default/a: Conflict (409): Apply failed");
    EXPECT_EQ(failure.retry_after, std::chrono::seconds(3));
    ASSERT_EQ(failure.causes.size(), 1U);
    EXPECT_EQ(failure.causes[0].type, "FieldManagerConflict");
    EXPECT_EQ(failure.causes[0].field, ".data.k");
}

struct Case {
    int status;
    std::string body;
    Reason reason;
    ErrorCode code;
};

TEST(Failure, IsOfOneCodeWhateverTheServerWrites) {
    const auto status_body = [](const char* reason, int code) {
        return R"({"kind":"Status","reason":")" + std::string(reason) + R"(","code":)" +
               std::to_string(code) + "}";
    };
    const std::vector<Case> cases{
        {404, status_body("NotFound", 404), Reason::kNotFound, ErrorCode::kNotFound},
        {409, status_body("AlreadyExists", 409), Reason::kAlreadyExists, ErrorCode::kConflict},
        {410, status_body("Gone", 410), Reason::kGone, ErrorCode::kConflict},
        {410, status_body("Expired", 410), Reason::kExpired, ErrorCode::kConflict},
        {403, status_body("Forbidden", 403), Reason::kForbidden, ErrorCode::kPermission},
        {422, status_body("Invalid", 422), Reason::kInvalid, ErrorCode::kInvalidInput},
        {429, status_body("TooManyRequests", 429), Reason::kTooManyRequests,
         ErrorCode::kUnavailable},
        {503, "<html>no upstream</html>", Reason::kServiceUnavailable, ErrorCode::kUnavailable},
        {502, "", Reason::kServiceUnavailable, ErrorCode::kUnavailable},
        {401, "{}", Reason::kUnauthorized, ErrorCode::kPermission},
        {405, "[1,2", Reason::kMethodNotAllowed, ErrorCode::kUnsupported},
        {418, "teapot", Reason::kUnknown, ErrorCode::kUnavailable},
        // Reasons that are ours cannot be claimed by a server.
        {500, status_body("Stopped", 500), Reason::kInternalError, ErrorCode::kUnavailable},
        {400, status_body("SomethingNew", 400), Reason::kBadRequest, ErrorCode::kInvalidInput},
    };
    for (const auto& one : cases) {
        const auto failure = failure_of(one.status, one.body, "x");
        EXPECT_EQ(failure.reason, one.reason) << one.body;
        EXPECT_EQ(failure.to_error().code, one.code) << one.body;
    }
}

TEST(Failure, QuotesAnAnswerThatIsNoStatusInOneShortLine) {
    const auto failure = failure_of(504, "a\nb\r\n" + std::string(1000, 'x'), "list pods");
    EXPECT_TRUE(failure.message.starts_with("list pods: HTTP 504: a b  xxx")) << failure.message;
    EXPECT_LT(failure.message.size(), 340U);
    EXPECT_THAT(failure.message, testing::Not(testing::HasSubstr("\n")));
}

TEST(Outcome, BecomesAResult) {
    Outcome<int> good = 7;
    Outcome<int> bad = Failure{.reason = Reason::kGone, .message = "m"};
    EXPECT_EQ(*std::move(good).result(), 7);
    const auto result = std::move(bad).result();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace aliquot::kube_client
