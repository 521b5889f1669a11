// SPDX-License-Identifier: Apache-2.0
#include "picture/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace aliquot::picture {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string drawn(std::string_view words, const Words& how = {}) {
    Svg svg(100, "t", "d");
    svg.text({1, 2}, words, how);
    return svg.done(50);
}

TEST(Svg, IsADocumentWithASizeAndATitleForWhoDoesNotSeeIt) {
    Svg svg(640, "A GPU", "cut in two");
    svg.box({10, 20, 30.25, 40}, {.fill = Ink::kPanel, .stroke = Ink::kLine, .round = 4});
    const std::string text = svg.done(480);
    EXPECT_THAT(text, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" "
                                 "height=\"480\" viewBox=\"0 0 640 480\" role=\"img\""));
    EXPECT_THAT(text, HasSubstr("<title>A GPU</title>\n<desc>cut in two</desc>"));
    EXPECT_THAT(text, EndsWith("</svg>\n"));
}

TEST(Svg, HasEveryColourTwiceForLightAndForDark) {
    Svg svg(10, "t", "d");
    svg.line({0, 0}, {1, 1}, {.stroke = Ink::kBad, .width = 2, .dash = "9 4"});
    const std::string text = svg.done(10);
    EXPECT_THAT(text, HasSubstr(".s8{stroke:#a32a00}"));
    EXPECT_THAT(
        text,
        HasSubstr("@media (prefers-color-scheme:dark){.f1{fill:#14171a}.s8{stroke:#ff9b73}}"));
    EXPECT_THAT(text, HasSubstr("stroke-width=\"2\" stroke-dasharray=\"9 4\" class=\"s8\""));
}

TEST(Svg, DrawsTextsOfAnybodyAsText) {
    const std::string text = drawn("</text><script>alert(1)</script>&\"'");
    EXPECT_THAT(text, Not(HasSubstr("<script")));
    EXPECT_THAT(text, HasSubstr("&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;'"));
    Svg titled(10, "<img onerror=x>", "]]></desc><a href=\"javascript:x\">");
    const std::string head = titled.done(10);
    EXPECT_THAT(head, Not(HasSubstr("<img")));
    EXPECT_THAT(head, Not(HasSubstr("<a ")));
}

TEST(Svg, HoldsNothingThatXmlCannotHoldOrThatTurnsTextAround) {
    using namespace std::string_literals;
    const std::string text = drawn(
        "a\0b\x1b[31m\x7f\xff\xc0\xaf\xed\xa0\x80|"s
        "\u202etxt.exe\u2066\u200f\uffff|ß…"s);
    for (const char byte : {'\0', '\x1b', '\x7f', '\xff', '\xc0'}) {
        EXPECT_EQ(text.find(byte), std::string::npos) << int{byte};
    }
    EXPECT_THAT(text, Not(HasSubstr("\u202e")));
    EXPECT_THAT(text, Not(HasSubstr("\u2066")));
    EXPECT_THAT(text, Not(HasSubstr("\u200f")));
    EXPECT_THAT(text, Not(HasSubstr("\uffff")));
    EXPECT_THAT(text, HasSubstr("|ß…</text>"));
}

TEST(Svg, CutsAWordBetweenCharactersWhereThereIsNoRoom) {
    EXPECT_THAT(drawn("grüße-an-alle", {.size = 10, .most = 30}), HasSubstr(">grüß…</text>"));
    EXPECT_THAT(drawn("short", {.size = 10, .most = 30}), HasSubstr(">short</text>"));
    EXPECT_THAT(drawn("wide", {.size = 10, .most = 2}), Not(HasSubstr("<text")));
}

TEST(Wrapped, BreaksBetweenWords) {
    EXPECT_THAT(wrapped("one two three", 50, 10), ElementsAre("one two", "three"));
    EXPECT_THAT(wrapped("unbreakable a", 20, 10), ElementsAre("unbreakable", "a"));
    EXPECT_THAT(wrapped("", 20, 10), ElementsAre());
}

TEST(Hue, GoesRoundAndRound) {
    EXPECT_EQ(hue(0), Ink::kHue0);
    EXPECT_EQ(hue(6), Ink::kHue6);
    EXPECT_EQ(hue(7), Ink::kHue0);
    EXPECT_EQ(dash(0), "");
    EXPECT_EQ(dash(8), "");
}

TEST(Svg, DrawsNoLineOfNoDots) {
    Svg svg(10, "t", "d");
    svg.polyline({}, {.stroke = Ink::kText});
    const std::array dots{Dot{1, 2}, Dot{3, 4.56}};
    svg.polyline(dots, {.stroke = Ink::kText});
    EXPECT_THAT(svg.done(10), HasSubstr("<polyline points=\"1,2 3,4.6\" fill=\"none\""));
}

}  // namespace
}  // namespace aliquot::picture
