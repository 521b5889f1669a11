// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <gtest/gtest.h>

namespace aliquot {
namespace {

TEST(JsonText, EscapesWhatAJsonStringMayNotHold) {
    EXPECT_EQ(json_quoted("a \"b\" \\ /\n\t\r\x01"), R"("a \"b\" \\ /\n\t\u000d\u0001")");
    EXPECT_EQ(json_quoted(""), "\"\"");
    EXPECT_EQ(json_quoted(std::string_view("\0", 1)), R"("\u0000")");
    EXPECT_EQ(json_quoted("\x7f"), R"("\u007f")");
}

TEST(JsonText, KeepsCharactersBeyondAscii) {
    EXPECT_EQ(json_quoted("\u00e4 \u20ac \U0001F600"), "\"\u00e4 \u20ac \U0001F600\"");
}

// Five of eight writers that this one replaces passed such bytes on: no JSON reader takes those.
TEST(JsonText, AByteThatBelongsToNoCharacterIsReplaced) {
    EXPECT_EQ(json_quoted("a\xff"), "\"a\xef\xbf\xbd\"");
    EXPECT_EQ(json_quoted("\xc3"), "\"\xef\xbf\xbd\"");                  // cut off
    EXPECT_EQ(json_quoted("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");  // overlong
    EXPECT_EQ(json_quoted("\xed\xa0\x80x"),                              // a surrogate
              "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\"");
}

TEST(JsonPointer, EscapesWhatWouldEndAStep) {
    EXPECT_EQ(json_pointer_step("nvidia.com/gpu"), "nvidia.com~1gpu");
    EXPECT_EQ(json_pointer_step("~1/"), "~01~1");
    EXPECT_EQ(json_pointer_step(""), "");
}

}  // namespace
}  // namespace aliquot
