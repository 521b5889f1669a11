// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "picture/svg.h"
#include "replay/figures.h"

namespace aliquot::replay {
namespace {

using picture::Anchor;
using picture::Dot;
using picture::Ink;

constexpr double kLeft = 60;
constexpr double kTop = 40;
constexpr double kWide = 640;
constexpr double kHigh = 320;
constexpr double kLabels = 150;  // right of the curves
constexpr int kPoints = 200;
constexpr double kLetters = 12;
constexpr double kFirst = 1;  // s: what waits less is drawn there

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
    picture::Svg svg(kLeft + kWide + kLabels, "How long jobs waited",
                     "For each policy the part of the jobs that waited at most so long");
    svg.text({kLeft, 22}, "Part of the jobs that waited at most so long", {.bold = true});
    for (int percent = 0; percent <= 100; percent += 20) {
        const double y = y_of(percent / 100.0);
        svg.line({kLeft, y}, {kLeft + kWide, y}, {.stroke = Ink::kLine});
        svg.text({kLeft - 8, y + 4}, std::to_string(percent) + " %",
                 {.anchor = Anchor::kEnd, .size = kLetters});
    }
    for (const Tick& tick : kTicks) {
        if (tick.seconds > longest) continue;
        const double x = x_of(tick.seconds);
        svg.line({x, kTop}, {x, kTop + kHigh}, {.stroke = Ink::kLine});
        svg.text({x, kTop + kHigh + 18}, tick.text, {.anchor = Anchor::kMiddle, .size = kLetters});
    }
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const picture::Look look{.stroke = picture::hue(i), .width = 2, .dash = picture::dash(i)};
        std::vector<double> waits = curves[i].waits;
        std::sort(waits.begin(), waits.end());
        std::vector<Dot> dots;
        for (int point = 0; point <= kPoints; ++point) {
            const double seconds = kFirst * std::exp(range * point / kPoints);
            dots.push_back({x_of(seconds), y_of(part_within(waits, seconds))});
        }
        svg.polyline(dots, look);
        const double y = kTop + 12 + 20 * static_cast<double>(i);
        svg.line({kLeft + kWide + 10, y}, {kLeft + kWide + 40, y}, look);
        svg.text({kLeft + kWide + 46, y + 4}, curves[i].name, {.size = kLetters});
    }
    return svg.done(kTop + kHigh + 36);
}

}  // namespace aliquot::replay
