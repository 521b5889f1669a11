// SPDX-License-Identifier: Apache-2.0
#include "rpc/status.h"

#include <gtest/gtest.h>

namespace aliquot::rpc {
namespace {

TEST(RpcStatus, AMessageSurvivesItsHeader) {
    const std::string text = "a 100 % gpu:\n\t\"GPU-3f2a\" \xc3\xa9";
    EXPECT_EQ(encode_message(text), "a 100 %25 gpu:%0A%09\"GPU-3f2a\" %C3%A9");
    EXPECT_EQ(decode_message(encode_message(text)), text);
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    EXPECT_EQ(decode_message(encode_message(all)), all);
    EXPECT_EQ(encode_message(std::string(5000, 'x')).size(), 1024U);
}

TEST(RpcStatus, WhatIsNoEscapeStaysAsItIs) {
    for (const char* const text : {"%", "%4", "%zz", "50%", "%%", "a%2"})
        EXPECT_EQ(decode_message(text), text);
    EXPECT_EQ(decode_message("%41%2542"), "A%42");
}

TEST(RpcStatus, AStatusThatIsNoNumberIsUnknown) {
    EXPECT_EQ(parse_code("0"), Code::kOk);
    EXPECT_EQ(parse_code("14"), Code::kUnavailable);
    for (const char* const text : {"", "17", "-1", "5 ", "x", "99999999999"})
        EXPECT_EQ(parse_code(text), Code::kUnknown) << text;
}

TEST(RpcStatus, ATimeoutIsANumberAndItsUnit) {
    using namespace std::chrono_literals;
    EXPECT_EQ(parse_timeout("250m"), 250ms);
    EXPECT_EQ(parse_timeout("10S"), 10s);
    EXPECT_EQ(parse_timeout("2M"), 2min);
    EXPECT_EQ(parse_timeout("99999999H"), 99999999h);
    EXPECT_EQ(parse_timeout("1u"), 1ms);
    EXPECT_EQ(parse_timeout("0n"), 0ms);
    for (const char* const text : {"", "S", "10", "-1S", "1x", "123456789S", "1 S", "S1"})
        EXPECT_FALSE(parse_timeout(text)) << text;
}

TEST(RpcStatus, ErrorsKeepTheirKindOverTheWire) {
    using enum ErrorCode;
    for (const auto code :
         {kInvalidInput, kNotFound, kConflict, kUnsupported, kPermission, kUnavailable})
        EXPECT_EQ(to_error(to_status({code, "why"}), "call").code, code);
    EXPECT_EQ(to_error({Code::kInternal, "broken"}, "call").code, kUnavailable);
    EXPECT_EQ(to_error({Code::kNotFound, "no GPU"}, "Allocate").message, "Allocate: no GPU");
    EXPECT_EQ(to_error({Code::kDeadlineExceeded, ""}, "List").message, "List: gRPC status 4");
}

}  // namespace
}  // namespace aliquot::rpc
