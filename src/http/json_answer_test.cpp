// SPDX-License-Identifier: Apache-2.0
#include "http/json_answer.h"

#include <gtest/gtest.h>

#include "document/build.h"

namespace aliquot::http {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

TEST(JsonAnswer, IsOneLine) {
    const Response answer = json_answer(201, document::make_mapping({{"a", "x\ny"}}));
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.content_type, "application/json");
    EXPECT_EQ(answer.body, "{\"a\":\"x\\ny\"}\n");
}

TEST(JsonAnswer, RefusesWithStatusAndWordOfTheCode) {
    struct Row {
        ErrorCode code;
        int status;
        const char* word;
    };
    for (const Row& row : {Row{ErrorCode::kInvalidInput, 422, "invalid"},
                           {ErrorCode::kNotFound, 404, "not-found"},
                           {ErrorCode::kConflict, 409, "conflict"},
                           {ErrorCode::kPermission, 403, "forbidden"},
                           {ErrorCode::kUnavailable, 503, "unavailable"},
                           {ErrorCode::kUnsupported, 500, "unsupported"},
                           {ErrorCode::kInternal, 500, "internal"}}) {
        const Response answer = refusal({row.code, "why \"so\""});
        EXPECT_EQ(answer.status, row.status);
        EXPECT_EQ(answer.body, std::string("{\"error\":{\"code\":\"") + row.word +
                                   "\",\"message\":\"why \\\"so\\\"\"}}\n");
        EXPECT_EQ(answer.headers, row.status == 503 ? Headers({{"Retry-After", "5"}}) : Headers{});
    }
}

TEST(JsonAnswer, SaysWhichMethodsAPathTakes) {
    const Response answer = wrong_method("GET, POST");
    EXPECT_EQ(answer.status, 405);
    EXPECT_EQ(answer.headers, Headers({{"Allow", "GET, POST"}}));
    EXPECT_EQ(answer.body,
              "{\"error\":{\"code\":\"unsupported\",\"message\":\"only GET, POST\"}}\n");
}

}  // namespace
}  // namespace aliquot::http
