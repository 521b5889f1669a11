// SPDX-License-Identifier: Apache-2.0
#include "rpc/body.h"

#include <gtest/gtest.h>

namespace aliquot::rpc {
namespace {

using namespace std::string_literals;

TEST(RpcBody, AFrameIsAFlagALengthAndTheMessage) {
    EXPECT_EQ(framed("abc"), "\0\0\0\0\3abc"s);
    EXPECT_EQ(framed(""), "\0\0\0\0\0"s);
    EXPECT_EQ(framed(std::string(65536 + 258, 'x')).substr(0, 5), "\0\0\1\1\2"s);
}

TEST(RpcBody, IsReadHoweverItsBytesAreCut) {
    const std::string bytes = framed("a message of some length");
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        Body body(100);
        ASSERT_TRUE(body.add(std::string_view(bytes).substr(0, cut)).ok());
        EXPECT_EQ(body.check().ok(), cut == bytes.size());
        ASSERT_TRUE(body.add(std::string_view(bytes).substr(cut)).ok());
        ASSERT_TRUE(body.check().ok());
        EXPECT_EQ(body.message(), "a message of some length");
    }
}

TEST(RpcBody, AnEmptyMessageIsOneAndNoMessageIsNone) {
    Body body(100);
    EXPECT_EQ(body.check().code, Code::kInternal);
    ASSERT_TRUE(body.add(framed("")).ok());
    EXPECT_TRUE(body.check().ok());
    EXPECT_EQ(body.message(), "");
}

TEST(RpcBody, AMessageThatIsTooLongIsRefusedByItsLengthAlone) {
    Body body(1000);
    const auto status = body.add("\0\0\0\3\xe9"s);
    EXPECT_EQ(status.code, Code::kResourceExhausted);
    EXPECT_EQ(status.message, "message of 1001 bytes, at most 1000 are taken");
    EXPECT_EQ(body.size(), 0U);
    EXPECT_TRUE(body.add(std::string(500, 'x')).ok());  // told once; what follows is dropped
    EXPECT_EQ(body.size(), 0U);
    body.clear();
    EXPECT_TRUE(body.add("\0\0\0\3\xe8"s).ok());
    Body other(1000);
    EXPECT_EQ(other.add("\0\xff\xff\xff\xff"s).code, Code::kResourceExhausted);
}

TEST(RpcBody, CompressedMessagesAndSecondMessagesAreRefused) {
    Body body(100);
    EXPECT_EQ(body.add("\1\0\0\0\1x"s).code, Code::kUnimplemented);
    Body other(100);
    EXPECT_EQ(other.add(framed("a") + framed("b")).code, Code::kInvalidArgument);
}

TEST(RpcMessages, AStreamIsReadHoweverItsBytesAreCut) {
    const std::string bytes = framed("one") + framed("") + framed("three");
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        Messages messages(100);
        std::deque<std::string> whole;
        ASSERT_TRUE(messages.add(std::string_view(bytes).substr(0, cut), whole).ok());
        ASSERT_TRUE(messages.add(std::string_view(bytes).substr(cut), whole).ok());
        EXPECT_EQ(whole, (std::deque<std::string>{"one", "", "three"}));
        EXPECT_TRUE(messages.check().ok());
    }
}

TEST(RpcMessages, WhatIsTooLongCompressedOrCutIsRefused) {
    std::deque<std::string> whole;
    EXPECT_EQ(Messages(4).add(framed("12345").substr(0, 5), whole).code, Code::kResourceExhausted);
    EXPECT_EQ(Messages(4).add("\1\0\0\0\1x"s, whole).code, Code::kUnimplemented);
    Messages messages(4);
    EXPECT_TRUE(messages.add(framed("1") + "\0\0"s, whole).ok());
    EXPECT_EQ(messages.check().code, Code::kInternal);
    EXPECT_EQ(whole.size(), 1U);
}

}  // namespace
}  // namespace aliquot::rpc
