// SPDX-License-Identifier: Apache-2.0
#include "vision/multipart.h"

#include <gmock/gmock.h>

namespace aliquot::vision {
namespace {

using testing::HasSubstr;

constexpr std::string_view kType = "multipart/form-data; boundary=xyz";

TEST(Multipart, PartsHaveTheirNamesAndBytes) {
    const std::string body =
        "--xyz\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a \\\"b\\\".jpg\"\r\n"
        "Content-Type: image/jpeg\r\n\r\n\xff\xd8\r\n--xy\r\n\r\n--xyz\r\n"
        "content-disposition: form-data; name=confidence\r\n\r\n0.5\r\n--xyz--\r\nafter";
    const auto parts = read_form(kType, body);
    ASSERT_TRUE(parts.ok()) << parts.error().message;
    ASSERT_EQ(parts->size(), 2U);
    EXPECT_EQ((*parts)[0].name, "image");
    EXPECT_EQ((*parts)[0].file_name, "a \"b\".jpg");
    EXPECT_EQ((*parts)[0].content_type, "image/jpeg");
    EXPECT_EQ((*parts)[0].content, "\xff\xd8\r\n--xy\r\n");
    EXPECT_EQ((*parts)[1].name, "confidence");
    EXPECT_EQ((*parts)[1].content, "0.5");
}

TEST(Multipart, APreambleAnEmptyPartAndAQuotedBoundaryAreFine) {
    const std::string body = "before\r\n--a b\r\nX: y\r\n\r\n\r\n--a b\r\n\r\nno head\r\n--a b--";
    const auto parts = read_form("Multipart/Form-Data;Boundary=\"a b\"", body);
    ASSERT_TRUE(parts.ok()) << parts.error().message;
    ASSERT_EQ(parts->size(), 2U);
    EXPECT_EQ((*parts)[0].content, "");
    EXPECT_EQ((*parts)[1].content, "no head");
    const auto none = read_form(kType, "--xyz--");
    ASSERT_TRUE(none.ok());
    EXPECT_TRUE(none->empty());
}

TEST(Multipart, WhatIsCutOffAnywhereIsAnError) {
    const std::string body =
        "--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nbytes\r\n--xyz--";
    ASSERT_TRUE(read_form(kType, body).ok());
    for (std::size_t length = 0; length < body.size(); ++length) {
        const auto parts = read_form(kType, body.substr(0, length));
        ASSERT_FALSE(parts.ok()) << length;
        EXPECT_THAT(parts.error().message, HasSubstr("form: "));
    }
}

TEST(Multipart, TheLimitsHold) {
    std::string body;
    for (int i = 0; i < 5; ++i) body += "--xyz\r\nA: b\r\n\r\nx\r\n";
    body += "--xyz--";
    EXPECT_TRUE(read_form(kType, body, {.most_parts = 5}).ok());
    EXPECT_THAT(read_form(kType, body, {.most_parts = 4}).error().message,
                HasSubstr("more than 4 parts"));
    const std::string long_head = "--xyz\r\n" + std::string(5000, 'h') + "\r\n\r\nx\r\n--xyz--";
    EXPECT_THAT(read_form(kType, long_head).error().message, HasSubstr("no end of its head"));
    EXPECT_THAT(read_form("text/plain", body).error().message, HasSubstr("'text/plain'"));
    EXPECT_THAT(read_form("multipart/form-data", body).error().message, HasSubstr("no boundary"));
}

TEST(Multipart, AParameterIsFoundBetweenOthers) {
    EXPECT_EQ(header_parameter("form-data; a; name=\"x;y\"; filename=z", "filename"), "z");
    EXPECT_EQ(header_parameter("form-data; a; name=\"x;y\"", "name"), "x;y");
    EXPECT_EQ(header_parameter("form-data", "name"), "");
    EXPECT_EQ(header_parameter("form-data; name", "name"), "");
    EXPECT_EQ(header_parameter("form-data; name=\"cut", "name"), "cut");
}

}  // namespace
}  // namespace aliquot::vision
