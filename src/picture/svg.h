// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Drawings as SVG. Pure.
namespace aliquot::picture {

/// In pixels; x to the right, y down.
struct Dot {
    double x = 0;
    double y = 0;
};
struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
};

/// Colours by their purpose; each is another one where the viewer prefers dark. The hues are Okabe and Ito's, told
/// apart by who sees no red or green; a picture tells nothing by colour alone all the same.
enum class Ink : std::uint8_t {
    kNone,
    kPaper,
    kPanel,
    kLine,
    kText,
    kSoft,  // text of less weight
    kGood,
    kWarning,
    kBad,
    kHue0,
    kHue1,
    kHue2,
    kHue3,
    kHue4,
    kHue5,
    kHue6,
};
/// The hues in turn.
Ink hue(std::size_t number);
/// Patterns of strokes in turn: "", "9 4", "2 3" ...
std::string_view dash(std::size_t number);

struct Look {
    Ink fill = Ink::kNone;
    Ink stroke = Ink::kNone;
    double width = 1;            // of the stroke
    std::string_view dash = {};  // "9 4": so much drawn, so much not; a literal
    double opacity = 1;          // of the fill
    double round = 0;            // radius of a box's corners
};

enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };
struct Words {
    Anchor anchor = Anchor::kStart;
    Ink ink = Ink::kText;
    double size = 13;
    bool bold = false;
    double most = 0;  // pixels; what is longer ends in "…". 0: it is not cut
};

/// A picture, drawn from the back to the front. Texts may be of anybody: what a file of SVG cannot hold, and what
/// turns the direction of text around, becomes a blank or U+FFFD.
class Svg {
public:
    /// title, description   read out by screen readers
    Svg(double width, std::string_view title, std::string_view description);

    void box(const Box& box, const Look& look);
    void line(Dot from, Dot to, const Look& look);
    void polyline(std::span<const Dot> dots, const Look& look);
    void circle(Dot middle, double radius, const Look& look);
    /// at   where its line stands
    void text(Dot at, std::string_view words, const Words& how = {});
    /// Several lines below each other; where the next one would stand.
    double paragraph(Dot at, std::string_view words, double width, const Words& how = {});

    /// The whole document. Once.
    std::string done(double height);

private:
    void paint(const Look& look);
    std::string stroke(Ink ink);

    double width_;
    std::string head_;
    std::string body_;
    std::set<Ink> fills_;
    std::set<Ink> strokes_;
};

/// About how wide a text is drawn: no font is looked at.
double width_of_words(std::string_view words, double size);
/// Lines of at most so many pixels; a word that is longer has a line of its own.
std::vector<std::string> wrapped(std::string_view words, double width, double size);

}  // namespace aliquot::picture
