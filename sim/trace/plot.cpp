// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/plot.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"
#include "picture/svg.h"

namespace aliquot::sim::trace {
namespace {

using picture::Anchor;
using picture::Dot;
using picture::Ink;

constexpr double kWidth = 900;
constexpr double kLeft = 64;    // of the axes, in every panel
constexpr double kRight = 700;  // labels stand beyond
constexpr double kPanel = 290;  // height of a panel with its title and ticks
constexpr double kTop = 34;     // of the axes in a panel
constexpr double kAxes = 200;   // height of the axes
constexpr double kLabelStep = 15;
constexpr double kLetters = 12;

struct Line {
    std::string name;
    std::vector<Dot> dots;
};

struct Axis {
    double least = 0;
    double most = 100;
    double step = 20;
};

struct Panel {
    std::string title;
    std::string below = "arrived GPU demand, % of the capacity";  // what x is
    Axis x;
    Axis y;
    std::vector<Line> lines;
};

double place(const Axis& axis, double value, double from, double to) {
    return from + (value - axis.least) / (axis.most - axis.least) * (to - from);
}

double step_for(double range) {
    for (const double step : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0}) {
        if (range / step <= 14) return step;
    }
    return range / 10;
}

class Drawing {
public:
    Drawing(picture::Svg& svg, double top) : svg_(svg), top_(top + kTop) {}

    void draw(const Panel& panel) {
        svg_.text({kLeft, top_ - 14}, panel.title, {.size = kLetters, .bold = true});
        draw_axes(panel);
        std::vector<Dot> ends;
        for (std::size_t i = 0; i < panel.lines.size(); ++i) draw_line(panel, i, ends);
        draw_labels(panel, ends);
    }

private:
    [[nodiscard]] double x_of(const Panel& panel, double value) const {
        return place(panel.x, value, kLeft, kRight);
    }
    [[nodiscard]] double y_of(const Panel& panel, double value) const {
        return place(panel.y, value, top_ + kAxes, top_);
    }

    void draw_axes(const Panel& panel) {
        const double bottom = top_ + kAxes;
        for (double y = panel.y.least; y <= panel.y.most + 1e-9; y += panel.y.step) {
            const double at = y_of(panel, y);
            svg_.line({kLeft - 5, at}, {kRight, at},
                      {.stroke = y == panel.y.least ? Ink::kText : Ink::kLine});
            svg_.text({kLeft - 9, at + 4}, decimal_text(y, 0),
                      {.anchor = Anchor::kEnd, .size = kLetters});
        }
        for (double x = panel.x.least; x <= panel.x.most + 1e-9; x += panel.x.step) {
            const double at = x_of(panel, x);
            svg_.line({at, bottom}, {at, bottom + 5}, {.stroke = Ink::kText});
            svg_.text({at, bottom + 19}, decimal_text(x, 0),
                      {.anchor = Anchor::kMiddle, .size = kLetters});
        }
        svg_.line({kLeft, top_}, {kLeft, bottom}, {.stroke = Ink::kText});
        svg_.text({(kLeft + kRight) / 2, bottom + 37}, panel.below,
                  {.anchor = Anchor::kMiddle, .size = kLetters});
    }

    void draw_line(const Panel& panel, std::size_t index, std::vector<Dot>& ends) {
        const Line& line = panel.lines[index];
        std::vector<Dot> dots;
        for (const Dot& dot : line.dots) {
            if (dot.x < panel.x.least || dot.x > panel.x.most) continue;
            dots.push_back(
                {x_of(panel, dot.x), y_of(panel, std::clamp(dot.y, panel.y.least, panel.y.most))});
        }
        ends.push_back(dots.empty() ? Dot{kRight, top_ + kAxes} : dots.back());
        svg_.polyline(dots, look_of(index));
    }

    static picture::Look look_of(std::size_t index) {
        return {.stroke = picture::hue(index), .width = 2, .dash = picture::dash(index)};
    }

    /// Labels beside the ends of their lines, moved apart where they would overlap.
    void draw_labels(const Panel& panel, const std::vector<Dot>& ends) {
        std::vector<std::size_t> order(ends.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return ends[a].y < ends[b].y; });
        std::vector<double> at(ends.size());
        double free_from = top_;
        for (const std::size_t i : order) {
            at[i] = std::max(ends[i].y, free_from);
            free_from = at[i] + kLabelStep;
        }
        double free_to = top_ + kAxes + kLabelStep;
        for (auto i = order.rbegin(); i != order.rend(); ++i) {
            at[*i] = std::min(at[*i], free_to);
            free_to = at[*i] - kLabelStep;
        }
        for (const std::size_t i : order) {
            const Line& line = panel.lines[i];
            if (line.dots.empty()) continue;
            svg_.line(ends[i], {kRight + 8, at[i]}, {.stroke = Ink::kLine});
            svg_.line({kRight + 10, at[i]}, {kRight + 44, at[i]}, look_of(i));
            svg_.text({kRight + 50, at[i] + 4},
                      line.name + "  " + fixed_text(line.dots.back().y, 2), {.size = kLetters});
        }
    }

    picture::Svg& svg_;
    double top_;
};

Panel panel_of(std::span<const Outcome> outcomes, bool fragmentation) {
    Panel panel;
    panel.title =
        fragmentation ? "Fragmented GPU, % of the idle" : "Allocated GPU, % of the capacity";
    double most = 10;
    for (const Outcome& outcome : outcomes) {
        Line line{.name = std::string(placement::to_text(outcome.policy)), .dots = {}};
        for (const LoadCurve::Point& point : outcome.curve) {
            const auto x = static_cast<double>(point.load);
            most = std::max(most, x);
            if (!fragmentation) line.dots.push_back({x, point.allocation});
            if (fragmentation && point.fragmentation)
                line.dots.push_back({x, *point.fragmentation});
        }
        panel.lines.push_back(std::move(line));
    }
    panel.x = {.least = 0, .most = most, .step = step_for(most)};
    return panel;
}

/// The upper part of the allocation, where policies differ.
Panel close_up(Panel panel) {
    panel.title = "Allocated GPU, % of the capacity: close-up";
    panel.x.least = 80;
    panel.x.step = step_for(panel.x.most - panel.x.least);
    double least = 100;
    for (const Line& line : panel.lines) {
        for (const Dot& dot : line.dots) {
            if (dot.x >= panel.x.least) least = std::min(least, dot.y);
        }
    }
    panel.y.least = std::min(95.0, 5.0 * static_cast<int>(least / 5));
    panel.y.step = step_for(panel.y.most - panel.y.least);
    return panel;
}

Panel panel_of(std::span<const ChurnOutcome> outcomes, bool nodes) {
    Panel panel;
    panel.title =
        nodes ? "Nodes with GPUs that are wholly free, %" : "Allocated GPU, % of the capacity";
    panel.below = "time, in mean lifetimes of a task";
    double most = 1;
    for (const ChurnOutcome& outcome : outcomes) {
        Line line{.name = std::string(placement::to_text(outcome.policy)), .dots = {}};
        for (const ChurnPoint& point : outcome.curve) {
            most = std::max(most, point.time);
            line.dots.push_back({point.time, 100 * (nodes ? point.free_nodes : point.allocated)});
        }
        panel.lines.push_back(std::move(line));
    }
    panel.x = {.least = 0, .most = most, .step = step_for(most)};
    return panel;
}

void draw_panels(std::ostream& out, std::string_view title, std::span<const Panel> panels) {
    picture::Svg svg(kWidth, title, panels.front().title);
    for (std::size_t i = 0; i < panels.size(); ++i) {
        Drawing(svg, kPanel * static_cast<double>(i)).draw(panels[i]);
    }
    out << svg.done(kPanel * static_cast<double>(panels.size()));
}

}  // namespace

void draw_plot(std::ostream& out, std::span<const Outcome> outcomes) {
    std::vector<Panel> panels{panel_of(outcomes, false)};
    if (panels[0].x.most > 90) panels.push_back(close_up(panels[0]));
    panels.push_back(panel_of(outcomes, true));
    draw_panels(out, "GPU allocation and fragmentation over arrived load", panels);
}

void draw_plot(std::ostream& out, std::span<const ChurnOutcome> outcomes) {
    draw_panels(out, "GPU allocation and free nodes over time",
                std::array{panel_of(outcomes, false), panel_of(outcomes, true)});
}

}  // namespace aliquot::sim::trace
