// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace aliquot {
namespace {

TEST(Base64, PadsToGroupsOfFour) {
    EXPECT_EQ(encode_base64(""), "");
    EXPECT_EQ(encode_base64("f"), "Zg==");
    EXPECT_EQ(encode_base64("fo"), "Zm8=");
    EXPECT_EQ(encode_base64("foo"), "Zm9v");
    EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(encode_base64("\xff\xfe"), "//4=");
}

TEST(Base64, ReadsBackWhatItWrites) {
    for (const std::string_view bytes : {"", "f", "fo", "foo", "foobar", "\xff\xfe\x01"}) {
        EXPECT_EQ(decode_base64(encode_base64(bytes)), std::string(bytes));
    }
    EXPECT_EQ(decode_base64("aGVs\r\nbG8="), "hello");
}

// The five copies that were here before disagreed: two took a text without its padding, as neither kubelet
// nor the API server does (Go's base64.StdEncoding), two one sign too few.
TEST(Base64, RefusesWhatKubernetesRefuses) {
    for (const std::string_view text :
         {"aGVsbG8", "a", "a===", "=", "Zg=", "Zg==Zg==", "aG=sbG8=", "a-b_", "%", "Zg= ="}) {
        EXPECT_FALSE(decode_base64(text)) << text;
    }
}

}  // namespace
}  // namespace aliquot
