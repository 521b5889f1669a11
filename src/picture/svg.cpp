// SPDX-License-Identifier: Apache-2.0
#include "picture/svg.h"

#include <array>

#include "base/columns.h"
#include "base/number.h"
#include "base/text.h"
#include "findings/xml.h"

namespace aliquot::picture {
namespace {

constexpr double kWidthOfLetter = 0.58;  // of the size: what usual fonts without serifs come to
constexpr double kLineHeight = 1.4;      // of the size
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kHues = 7;

struct Colour {
    std::string_view light;
    std::string_view dark;
};
/// By Ink; the same as those of the web page.
constexpr std::array<Colour, 16> kColours{{{"none", "none"},
                                           {"#ffffff", "#14171a"},
                                           {"#f3f5f7", "#1d2226"},
                                           {"#c9d0d6", "#3a434b"},
                                           {"#15191d", "#e8ecef"},
                                           {"#4b555e", "#aab4bd"},
                                           {"#00603f", "#4fd3a5"},
                                           {"#7a4d00", "#f2c14e"},
                                           {"#a32a00", "#ff9b73"},
                                           {"#0072b2", "#3fa4de"},
                                           {"#d55e00", "#f08040"},
                                           {"#009e73", "#2fbf95"},
                                           {"#cc79a7", "#d98fb8"},
                                           {"#56b4e9", "#7cc6f2"},
                                           {"#e69f00", "#f0b429"},
                                           {"#777777", "#9aa4ad"}}};
constexpr std::array<std::string_view, 8> kDashes{"",    "9 4",      "2 3",         "9 3 2 3",
                                                  "5 2", "14 4 5 4", "9 3 2 3 2 3", "1 5"};

std::string px(double value) { return decimal_text(value, 1); }

/// Whether a character turns the direction of text around, so that a name could pose as another.
bool turns_text(std::string_view character) {
    if (character.size() != 3 || character[0] != '\xE2') return false;
    const auto last = static_cast<unsigned char>(character[2]);
    const bool embeds = character[1] == '\x80' &&
                        ((last >= 0xAAU && last <= 0xAEU) || (last >= 0x8EU && last <= 0x8FU));
    return embeds || (character[1] == '\x81' && last >= 0xA6U && last <= 0xA9U);
}

/// U+FFFE and U+FFFF, which XML does not have.
bool is_no_character(std::string_view character) {
    return character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
}

/// What a document of XML can hold, whatever was given.
std::string drawable(std::string_view text) {
    std::string made;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view one = text.substr(0, std::max<std::size_t>(1, length));
        const auto byte = static_cast<unsigned char>(one[0]);
        if (length == 0 || turns_text(one) || is_no_character(one)) {
            made += kReplacement;
        } else if (byte < 0x20U || byte == 0x7FU) {
            made += ' ';
        } else {
            made += one;
        }
        text.remove_prefix(one.size());
    }
    return made;
}

std::string escaped(std::string_view text) { return findings::xml_escaped(drawable(text)); }

std::string cut(std::string_view words, const Words& how) {
    std::string text = drawable(words);
    if (how.most <= 0 || width_of_words(text, how.size) <= how.most) return text;
    const auto room = static_cast<std::size_t>(how.most / (how.size * kWidthOfLetter));
    std::size_t bytes = 0;
    for (std::size_t letters = 0; letters + 1 < room && bytes < text.size(); ++letters) {
        bytes += std::max<std::size_t>(1, utf8_length(std::string_view(text).substr(bytes)));
    }
    text.resize(std::min(bytes, text.size()));
    return room == 0 ? std::string() : text + "…";
}

std::string rules(const std::set<Ink>& fills, const std::set<Ink>& strokes, bool dark) {
    std::string css;
    const auto add = [&](char prefix, std::string_view property, Ink ink) {
        const Colour& colour = kColours.at(static_cast<std::size_t>(ink));
        css += concat({".", std::string(1, prefix), std::to_string(static_cast<unsigned>(ink)), "{",
                       property, ":", dark ? colour.dark : colour.light, "}"});
    };
    for (const Ink ink : fills) add('f', "fill", ink);
    for (const Ink ink : strokes) add('s', "stroke", ink);
    return css;
}

}  // namespace

Ink hue(std::size_t number) {
    return static_cast<Ink>(static_cast<std::size_t>(Ink::kHue0) + number % kHues);
}

std::string_view dash(std::size_t number) { return kDashes.at(number % kDashes.size()); }

double width_of_words(std::string_view words, double size) {
    return static_cast<double>(aliquot::width_of(words)) * size * kWidthOfLetter;
}

std::vector<std::string> wrapped(std::string_view words, double width, double size) {
    std::vector<std::string> lines;
    for (const std::string_view word : words_of(words)) {
        const std::string longer = lines.empty() ? "" : concat({lines.back(), " ", word});
        if (lines.empty() || width_of_words(longer, size) > width) {
            lines.emplace_back(word);
        } else {
            lines.back() = longer;
        }
    }
    return lines;
}

Svg::Svg(double width, std::string_view title, std::string_view description) : width_(width) {
    head_ =
        concat({"<title>", escaped(title), "</title>\n<desc>", escaped(description), "</desc>\n"});
}

std::string Svg::stroke(Ink ink) {
    strokes_.insert(ink);
    return "s" + std::to_string(static_cast<unsigned>(ink));
}

void Svg::paint(const Look& look) {
    std::string classes;
    if (look.fill != Ink::kNone) {
        fills_.insert(look.fill);
        classes = "f" + std::to_string(static_cast<unsigned>(look.fill));
    } else {
        body_ += " fill=\"none\"";
    }
    if (look.stroke != Ink::kNone) {
        if (!classes.empty()) classes += ' ';
        classes += stroke(look.stroke);
        if (look.width != 1) body_ += " stroke-width=\"" + px(look.width) + '"';
        if (!look.dash.empty()) body_ += concat({" stroke-dasharray=\"", look.dash, "\""});
    }
    if (look.opacity < 1) body_ += " fill-opacity=\"" + decimal_text(look.opacity) + '"';
    if (!classes.empty()) body_ += " class=\"" + classes + '"';
    body_ += "/>\n";
}

void Svg::box(const Box& box, const Look& look) {
    body_ +=
        concat({"<rect x=\"", px(box.x), "\" y=\"", px(box.y), "\" width=\"",
                px(std::max(0.0, box.width)), "\" height=\"", px(std::max(0.0, box.height)), "\""});
    if (look.round > 0) body_ += " rx=\"" + px(look.round) + '"';
    paint(look);
}

void Svg::line(Dot from, Dot to, const Look& look) {
    body_ += concat({"<line x1=\"", px(from.x), "\" y1=\"", px(from.y), "\" x2=\"", px(to.x),
                     "\" y2=\"", px(to.y), "\""});
    paint(look);
}

void Svg::polyline(std::span<const Dot> dots, const Look& look) {
    if (dots.empty()) return;
    body_ += "<polyline points=\"";
    for (std::size_t i = 0; i < dots.size(); ++i) {
        if (i > 0) body_ += ' ';
        body_ += concat({px(dots[i].x), ",", px(dots[i].y)});
    }
    body_ += '"';
    paint(look);
}

void Svg::circle(Dot middle, double radius, const Look& look) {
    body_ += concat(
        {"<circle cx=\"", px(middle.x), "\" cy=\"", px(middle.y), "\" r=\"", px(radius), "\""});
    paint(look);
}

void Svg::text(Dot at, std::string_view words, const Words& how) {
    constexpr std::array<std::string_view, 3> kAnchors{"start", "middle", "end"};
    const std::string shown = cut(words, how);
    if (shown.empty()) return;
    fills_.insert(how.ink);
    body_ += concat({"<text x=\"", px(at.x), "\" y=\"", px(at.y), "\" class=\"f",
                     std::to_string(static_cast<unsigned>(how.ink)), "\""});
    if (how.anchor != Anchor::kStart) {
        body_ +=
            concat({" text-anchor=\"", kAnchors.at(static_cast<std::size_t>(how.anchor)), "\""});
    }
    if (how.size != Words{}.size) body_ += " font-size=\"" + px(how.size) + '"';
    if (how.bold) body_ += " font-weight=\"bold\"";
    body_ += ">" + findings::xml_escaped(shown) + "</text>\n";
}

double Svg::paragraph(Dot at, std::string_view words, double width, const Words& how) {
    for (const std::string& line : wrapped(words, width, how.size)) {
        Words cut_to = how;
        cut_to.most = width;
        text(at, line, cut_to);
        at.y += how.size * kLineHeight;
    }
    return at.y;
}

std::string Svg::done(double height) {
    fills_.insert(Ink::kPaper);
    const std::string size = concat({"width=\"", px(width_), "\" height=\"", px(height),
                                     "\" viewBox=\"0 0 ", px(width_), " ", px(height), "\""});
    return concat({"<svg xmlns=\"http://www.w3.org/2000/svg\" ", size,
                   " role=\"img\" font-family=\"system-ui,'DejaVu Sans',sans-serif\" font-size=\"",
                   px(Words{}.size), "\">\n", head_, "<style>", rules(fills_, strokes_, false),
                   "@media (prefers-color-scheme:dark){", rules(fills_, strokes_, true),
                   "}</style>\n", "<rect width=\"100%\" height=\"100%\" rx=\"8\" class=\"f1\"/>\n",
                   body_, "</svg>\n"});
}

}  // namespace aliquot::picture
