// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/request.h"

#include <gmock/gmock.h>

#include "base/base64.h"

namespace aliquot::vision_worker {
namespace {

using testing::HasSubstr;

constexpr std::string_view kForm = "multipart/form-data; boundary=x";

TEST(Request, AFormHasPicturesAndFields) {
    const auto read = read_request(
        kForm,
        "--x\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.jpg\"\r\n\r\nAAA\r\n"
        "--x\r\nContent-Disposition: form-data; name=\"other\"; filename=\"b\"\r\n\r\nBB\r\n"
        "--x\r\nContent-Disposition: form-data; name=\"confidence\"\r\n\r\n0.5\r\n--x--",
        {});
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->pictures.size(), 2U);
    EXPECT_EQ(read->pictures[0].name, "a.jpg");
    EXPECT_EQ(read->pictures[1].bytes, "BB");
    EXPECT_FLOAT_EQ(read->limits.confidence, 0.5F);
}

TEST(Request, JsonHasPicturesInBase64) {
    const auto read =
        read_request("application/json; charset=utf-8",
                     R"({"images": [")" + encode_base64("one") + R"(", "data:image/png;base64,)" +
                         encode_base64("two") + R"("], "top": 3, "overlap": 0.7})",
                     {});
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->pictures.size(), 2U);
    EXPECT_EQ(read->pictures[0].bytes, "one");
    EXPECT_EQ(read->pictures[1].bytes, "two");
    EXPECT_EQ(read->top, 3U);
}

TEST(Request, AnyOtherBodyIsThePicture) {
    const auto read = read_request("image/jpeg", "bytes", {.top = 7});
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->pictures.at(0).bytes, "bytes");
    EXPECT_EQ(read->top, 7U);
}

TEST(Request, WhatIsWrongIsSaidWithItsName) {
    const auto message = [](std::string_view type, const std::string& body) {
        const auto read = read_request(type, body, {});
        return read.ok() ? "no error" : read.error().message;
    };
    const std::string json = "application/json";
    EXPECT_THAT(message(json, "{"), HasSubstr("JSON"));
    EXPECT_THAT(message(json, "[]"), HasSubstr("expected {\"image\": BASE64}"));
    EXPECT_THAT(message(json, "{\"image\": 5}"), HasSubstr("expected a text in base64"));
    EXPECT_THAT(message(json, "{\"image\": \"data:\"}"), HasSubstr("no error"));
    EXPECT_THAT(message(json, "{\"image\": \"@\"}"), HasSubstr("not base64"));
    EXPECT_THAT(message(json, "{\"picture\": \"AAAA\"}"), HasSubstr("'picture' is not known"));
    EXPECT_THAT(message(json, "{\"image\": \"AAAA\", \"confidence\": 2}"),
                HasSubstr("expected 0 to 1"));
    EXPECT_THAT(message(json, "{\"image\": \"AAAA\", \"top\": 0}"),
                HasSubstr("expected 1 to 1000"));
    EXPECT_THAT(message(json, "{}"), HasSubstr("no picture"));
    EXPECT_THAT(message(kForm, "--x--"), HasSubstr("no picture"));
    EXPECT_THAT(message(kForm, "--x"), HasSubstr("form: "));
    std::string many = "{\"images\": [\"AAAA\"";
    for (int i = 0; i < 16; ++i) many += ", \"AAAA\"";
    EXPECT_THAT(message(json, many + "]}"), HasSubstr("more than 16"));
}

}  // namespace
}  // namespace aliquot::vision_worker
