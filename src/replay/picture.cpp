// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.h"
#include "replay/figures.h"

namespace aliquot::replay {
namespace {

constexpr double kLeft = 60;
constexpr double kTop = 40;
constexpr double kWide = 640;
constexpr double kHigh = 320;
constexpr double kLabels = 150;  // right of the curves
constexpr int kPoints = 200;
constexpr double kFirst = 1;  // s: what waits less is drawn there

struct Look {
    std::string_view colour;  // told apart also by colour-blind people
    std::string_view dash;
};
constexpr std::array kLooks = std::to_array<Look>({{"#0072B2", ""},
                                                   {"#D55E00", "8 3"},
                                                   {"#009E73", "2 3"},
                                                   {"#CC79A7", "10 3 2 3"},
                                                   {"#E69F00", "5 5"},
                                                   {"#56B4E9", "1 4"},
                                                   {"#000000", "12 4"}});

struct Tick {
    double seconds;
    std::string_view text;
};
constexpr std::array kTicks = std::to_array<Tick>({{1, "1 s"},
                                                   {60, "1 min"},
                                                   {3'600, "1 h"},
                                                   {86'400, "1 day"},
                                                   {864'000, "10 days"},
                                                   {8'640'000, "100 days"}});

std::string escaped(const std::string& text) {
    std::string made;
    for (const char c : text) {
        if (c == '<')
            made += "&lt;";
        else if (c == '&')
            made += "&amp;";
        else
            made += c;
    }
    return made;
}

std::string at(double value) { return fixed_text(value, 1); }

std::string text_at(double x, double y, std::string_view anchor, const std::string& text) {
    return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + std::string(anchor) +
           "\">" + escaped(text) + "</text>\n";
}

std::string line_of(double x1, double y1, double x2, double y2) {
    return "<line x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" +
           at(y2) + "\" stroke=\"#ddd\"/>\n";
}

/// Part of the sorted waits that is at most so long.
double part_within(const std::vector<double>& waits, double seconds) {
    const auto end = std::upper_bound(waits.begin(), waits.end(), seconds);
    return static_cast<double>(end - waits.begin()) /
           static_cast<double>(std::max<std::size_t>(1, waits.size()));
}

}  // namespace

std::string wait_picture(const std::vector<Curve>& curves) {
    double longest = 60;
    for (const Curve& curve : curves)
        for (const double wait : curve.waits) longest = std::max(longest, wait);
    const double range = std::log(longest / kFirst);
    const auto x_of = [&](double s) {
        return kLeft + kWide * std::log(std::max(s, kFirst) / kFirst) / range;
    };
    const auto y_of = [](double part) { return kTop + kHigh * (1 - part); };
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                      at(kLeft + kWide + kLabels) + " " + at(kTop + kHigh + 60) +
                      "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    svg += text_at(kLeft, 20, "start", "Part of the jobs that waited at most so long");
    for (int percent = 0; percent <= 100; percent += 20) {
        const double y = y_of(percent / 100.0);
        svg += line_of(kLeft, y, kLeft + kWide, y) +
               text_at(kLeft - 8, y + 4, "end", std::to_string(percent) + " %");
    }
    for (const Tick& tick : kTicks) {
        if (tick.seconds > longest) continue;
        const double x = x_of(tick.seconds);
        svg += line_of(x, kTop, x, kTop + kHigh) +
               text_at(x, kTop + kHigh + 18, "middle", std::string(tick.text));
    }
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const Look& look = kLooks[i % kLooks.size()];
        std::vector<double> waits = curves[i].waits;
        std::sort(waits.begin(), waits.end());
        const std::string stroke = "stroke=\"" + std::string(look.colour) +
                                   "\" stroke-dasharray=\"" + std::string(look.dash) +
                                   "\" stroke-width=\"2\" fill=\"none\"";
        svg += "<polyline " + stroke + " points=\"";
        for (int point = 0; point <= kPoints; ++point) {
            const double seconds = kFirst * std::exp(range * point / kPoints);
            svg += at(x_of(seconds)) + "," + at(y_of(part_within(waits, seconds))) + " ";
        }
        svg += "\"/>\n";
        const double y = kTop + 12 + 20 * static_cast<double>(i);
        svg += "<path " + stroke + " d=\"M" + at(kLeft + kWide + 10) + " " + at(y) + " h30\"/>\n" +
               text_at(kLeft + kWide + 46, y + 4, "start", curves[i].name);
    }
    return svg + "</svg>\n";
}

}  // namespace aliquot::replay
