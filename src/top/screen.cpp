// SPDX-License-Identifier: Apache-2.0
#include "top/screen.h"

#include <algorithm>

#include "top/graph.h"
#include "top/print.h"
#include "top/sums.h"

namespace aliquot::top {
namespace {

constexpr Size kLeast{.width = 30, .height = 6};
constexpr std::size_t kGutter = 1;

constexpr std::array<std::string_view, 19> kHelp{
    "aliquot top: who uses which GPU",
    "",
    "Up Down PgUp PgDn Home End   move; so do the mouse and its wheel",
    "Enter    open: node, its GPUs, a GPU's pods, a pod's processes",
    "Esc      back, or a level up",
    "n g p P  nodes, GPUs, pods, processes of everything",
    "t w x    tree; waste: shares held and not used; errors: health, Xids, heat",
    "G        graphs of the row's GPU time and memory",
    "L K      a pod's log; end a process, delete a pod (asks first)",
    "s S r    sort by the next column, the one before; reverse",
    "N U M W  sort by name, utilization, memory, power; again: reverse",
    "I A T C  sort by idle time, age, temperature, cost or CPU",
    "/        filter: web, ns=team-a, node=, gpu=, model=, command=, !word",
    "i a      idle only; also what belongs to no pod, so that all adds up",
    "+ -      update more often, less often",
    "space    hold the picture",
    "q        quit",
    "",
    "%GPU of the GPU's time, %SHARE of what the pod may use; THR% held back by its limit",
};

/// As monitors of GPUs colour it: light, moderate, heavy.
Tone load_tone(std::optional<std::uint64_t> ppm) {
    constexpr std::uint64_t kModerate = 100'000;
    constexpr std::uint64_t kHeavy = 800'000;
    if (!ppm || *ppm == 0) return Tone::kPlain;
    return *ppm >= kHeavy ? Tone::kBad : *ppm >= kModerate ? Tone::kWarn : Tone::kGood;
}

/// "54C 1410MHz" of what the GPU tells.
std::string heat_text(const telemetry::Device& device) {
    std::string text;
    if (const auto heat = device.metrics.get(gpu::Metric::kTemperatureCelsius))
        text += "  " + std::to_string(whole_number(*heat + 0.5)) + "C";
    if (const auto clock = device.metrics.get(gpu::Metric::kSmClockMhz))
        text += "  " + std::to_string(whole_number(*clock + 0.5)) + "MHz";
    return text;
}

std::string_view level_of(const View& view) { return to_text(view.kind); }

/// What is looked at, and how.
Line state_line(const UiState& ui, const Table& table, const Style& style) {
    const View& view = ui.view;
    Line line{{std::string(level_of(view)), Tone::kTitle}};
    if (!view.scope.title.empty()) line.push_back({" of " + view.scope.title});
    line.push_back({" (" + std::to_string(table.rows.size()) + ")"});
    const Sort sort = view.sort.value_or(usual_sort(view.kind));
    const bool sortable =
        std::ranges::find(table.columns, sort, &Column::sort) != table.columns.end();
    if (sort != Sort::kNone && (sortable || view.kind == Kind::kTree)) {
        const bool down = descends(sort) != view.reverse;
        const char* const arrow =
            style.charset == Charset::kUtf8 ? (down ? "↓" : "↑") : (down ? "-" : "+");
        line.push_back({"  sort " + std::string(to_text(sort)) + " " + arrow});
    }
    if (ui.typing) {
        line.push_back({"  filter /" + ui.filter_text + "_", Tone::kWarn});
    } else if (!ui.filter_text.empty()) {
        line.push_back({"  filter " + shown(ui.filter_text), Tone::kWarn});
    }
    if (view.idle_only) line.push_back({"  idle only", Tone::kWarn});
    if (!table.total.empty()) line.push_back({"  " + table.total});
    if (ui.paused) line.push_back({"  PAUSED", Tone::kWarn});
    return line;
}

/// A GPU in one line, with its history where there is room.
Line strip_line(const telemetry::Snapshot& node, const telemetry::Device& device, bool several,
                const History& history, std::size_t width, const Style& style) {
    const auto busy = busy_of(device);
    const auto total = memory_total_of(device);
    const auto used = device.total.memory_bytes;
    std::string name = std::to_string(device.gpu.index);
    if (several) name = cut_middle(shown(node.node), 14, style.charset) + " " + name;
    std::optional<std::uint64_t> full;
    if (used && total && *total > 0)
        full = whole_number(static_cast<double>(*used) / static_cast<double>(*total) *
                            telemetry::kMillion);
    const auto pad = [](std::string text, std::size_t to) {
        if (text.size() < to) text.insert(0, to - text.size(), ' ');
        return text;
    };
    constexpr std::size_t kBar = 10;
    const Tone tone =
        !device.problem.empty() || !device.gpu.health.ok() ? Tone::kBad : Tone::kPlain;
    name.insert(0, several ? (name.size() < 17 ? 17 - name.size() : 0) : (name.size() < 2 ? 1 : 0),
                ' ');
    Line line{{name + " ", tone},
              {"["},
              {bar(busy, kBar, style.charset), load_tone(busy)},
              {"]"},
              {pad(percent_text(busy), 4) + "% ", Tone::kTitle},
              {"["},
              {bar(full, kBar, style.charset), load_tone(full)},
              {"] "},
              {pad(memory_of_text(used, total), 11)},
              {pad(watts_text(device.total.power_milliwatts), 5) + "W"}};
    if (!device.problem.empty()) {
        line.push_back({"  silent: " + shown(device.problem), Tone::kBad});
        return line;
    }
    if (!device.gpu.health.ok()) {
        line.push_back({"  " + shown(device.gpu.health.reason), Tone::kBad});
        return line;
    }
    constexpr std::size_t kRoomForHistory = 12;
    const std::string heat = heat_text(device);
    if (width_of(line) + heat.size() + kRoomForHistory <= width) line.push_back({heat});
    const std::size_t taken = width_of(line) + 2;
    if (taken + 8 <= width)
        line.push_back({"  " + sparkline(history.of(gpu_key(device)),
                                         std::min<std::size_t>(width - taken, 60), style.charset)});
    return line;
}

/// The GPUs that the view is about, in at most `most` lines.
std::vector<Line> strip(const ClusterSnapshot& cluster, const History& history, const View& view,
                        std::size_t most, std::size_t width, const Style& style) {
    std::vector<Line> lines;
    std::size_t left_out = 0;
    const bool several = cluster.agents.size() > 1 && view.scope.node.empty();
    for (const Agent& agent : cluster.agents) {
        if (!agent.snapshot) continue;
        const bool here = view.scope.node.empty() || view.scope.node == node_key(*agent.snapshot);
        if (!here) continue;
        for (const telemetry::Device& device : agent.snapshot->devices) {
            if (!view.scope.gpu.empty() && view.scope.gpu != gpu_key(device)) continue;
            if (lines.size() < most) {
                lines.push_back(
                    strip_line(*agent.snapshot, device, several, history, width, style));
            } else {
                ++left_out;
            }
        }
    }
    if (left_out > 0 && !lines.empty()) {
        lines.back() = {{"   and " + std::to_string(left_out + 1) + " more GPUs (g)", Tone::kDim}};
    }
    return lines;
}

Line keys_line(const UiState& ui, std::size_t width) {
    if (ui.typing) return {{"Enter keep  Esc drop  web, ns=x, gpu=0, !word", Tone::kDim}};
    if (ui.asked) return {{to_text(*ui.asked) + "? y/N", Tone::kWarn}};
    if (!ui.message.empty()) return {{ui.message, Tone::kWarn}};
    if (ui.reading) return {{"arrows, PgUp, PgDn move  Esc back", Tone::kDim}};
    if (ui.help) return {{"any key: back", Tone::kDim}};
    const char* const keys =
        width >= 78
            ? "Enter open  Esc back  s sort  / filter  G graph  w waste  x errors  t tree  ? q"
            : "Enter Esc s:sort / G w x t ?:help q:quit";
    return {{keys, Tone::kDim}};
}

void keep_in_view(UiState& ui, std::size_t cursor, std::size_t rows, std::size_t room) {
    if (room == 0) return;
    if (cursor < ui.top) ui.top = cursor;
    if (cursor >= ui.top + room) ui.top = cursor + 1 - room;
    if (rows <= room) {
        ui.top = 0;
    } else {
        ui.top = std::min(ui.top, rows - room);
    }
}

void draw_help(Screen& screen, const Size& size) {
    for (const std::string_view line : kHelp) {
        if (screen.lines.size() + 1 >= size.height) break;
        screen.lines.push_back({{std::string(line)}});
    }
}

/// The text in place of the table, from its first line on the screen.
void draw_reading(Screen& screen, Reading& text, const Size& size) {
    screen.lines.push_back({{text.title, Tone::kTitle}});
    const std::size_t room =
        size.height > screen.lines.size() + 1 ? size.height - screen.lines.size() - 1 : 0;
    screen.rows = room;
    const std::size_t last = text.lines.size() > room ? text.lines.size() - room : 0;
    text.top = std::min(text.top, last);
    const std::size_t end = std::min(text.lines.size(), text.top + room);
    for (std::size_t i = text.top; i < end; ++i) screen.lines.push_back({{text.lines[i]}});
}

/// GPU time and memory of the cursor's row over the looks that were taken.
void draw_graphs(Screen& screen, const History& history, const Table& table, const UiState& ui,
                 const Size& size, const Style& style) {
    if (table.rows.empty()) {
        screen.lines.push_back({{" " + table.empty, Tone::kDim}});
        return;
    }
    const Row& row = table.rows[cursor_of(table, ui)];
    const History::Values& busy = history.of(row.key);
    if (busy.empty()) {
        screen.lines.push_back(
            {{" this row has no history: choose a node, GPU or pod", Tone::kDim}});
        return;
    }
    const std::size_t room = size.height - std::min(size.height, screen.lines.size() + 1);
    const std::size_t titles = 2;
    if (room < titles + 2) return;
    const std::size_t height = (room - titles) / 2;
    const auto now = [](const History::Values& values) {
        return percent_text(values.back()) + "%";
    };
    const History::Values& memory = history.memory_of(row.key);
    const std::string name = ui.view.kind == Kind::kGpus    ? "GPU " + shown(row.subject.gpu)
                             : ui.view.kind == Kind::kNodes ? row.cells.front().text
                                                            : shown(row.subject.pod);
    for (const auto& [what, values] :
         {std::pair{"GPU time", &busy}, std::pair{"memory", &memory}}) {
        screen.lines.push_back({{name + "  " + what + "  " + now(*values), Tone::kTitle}});
        for (Line& line : graph(*values, size.width, height, style.charset))
            screen.lines.push_back(std::move(line));
    }
}

void draw_rows(Screen& screen, const History& history, const Table& table, UiState& ui,
               const ClusterSnapshot& cluster, const Size& size, const Style& style) {
    const Columns columns = fit(
        table,
        {.width = size.width - kGutter, .several_nodes = cluster.agents.size() > 1, .live = true});
    Line head = heading(table, columns, style);
    head.insert(head.begin(), {std::string(kGutter, ' ')});
    screen.heading = screen.lines.size();
    std::size_t at = kGutter;
    for (std::size_t i = 0; i < columns.places.size(); ++i) {
        const Sort sort = table.columns[columns.places[i]].sort;
        const std::size_t end = at + columns.widths[i];
        if (sort != Sort::kNone) screen.titles.push_back({.begin = at, .end = end, .sort = sort});
        at = end + columns.gap;
    }
    screen.lines.push_back(std::move(head));
    screen.first = screen.lines.size();
    screen.rows = size.height > screen.lines.size() + 1 ? size.height - screen.lines.size() - 1 : 0;
    if (table.rows.empty()) {
        ui.top = 0;
        screen.lines.push_back({{" " + table.empty, Tone::kDim}});
        return;
    }
    const std::size_t cursor = cursor_of(table, ui);
    ui.cursor = table.rows[cursor].key;
    keep_in_view(ui, cursor, table.rows.size(), screen.rows);
    const std::size_t end = std::min(table.rows.size(), ui.top + screen.rows);
    for (std::size_t i = ui.top; i < end; ++i) {
        Line line = row_line(table, table.rows[i], columns, style, history);
        if (i == cursor) {
            // The mark is there for terminals without colours.
            std::string text = ">" + to_text(line, Colour::kNever);
            text.append(size.width > width_of(text) ? size.width - width_of(text) : 0, ' ');
            line = {{style.colour == Colour::kAnsi ? text
                                                   : text.substr(0, text.find_last_not_of(' ') + 1),
                     Tone::kCursor}};
        } else {
            line.insert(line.begin(), {std::string(kGutter, ' ')});
        }
        screen.lines.push_back(std::move(line));
    }
}

}  // namespace

std::size_t cursor_of(const Table& table, const UiState& ui) {
    const auto found = std::ranges::find(table.rows, ui.cursor, &Row::key);
    if (found != table.rows.end()) return static_cast<std::size_t>(found - table.rows.begin());
    return table.rows.empty() ? 0 : std::min(ui.top, table.rows.size() - 1);
}

Screen draw(const ClusterSnapshot& cluster, const History& history, const Table& table, UiState& ui,
            const Size& size, const Style& style) {
    Screen screen;
    if (size.width < kLeast.width || size.height < kLeast.height) {
        screen.lines.push_back({{"terminal too small"}});
    } else {
        const auto now =
            std::chrono::duration_cast<std::chrono::seconds>(cluster.now.time_since_epoch())
                .count();
        Line sums = sums_line(cluster, size.width);
        const std::string clock = clock_text(now);
        const std::size_t taken = width_of(sums) + clock.size();
        if (taken + 2 <= size.width)
            sums.push_back({std::string(size.width - taken, ' ') + clock, Tone::kDim});
        screen.lines.push_back(std::move(sums));
        if (ui.help) {
            screen.lines.push_back({});
            draw_help(screen, size);
        } else if (ui.reading) {
            draw_reading(screen, *ui.reading, size);
        } else {
            if (ui.view.kind == Kind::kPods || ui.view.kind == Kind::kProcesses) {
                for (Line& line :
                     strip(cluster, history, ui.view, size.height / 3, size.width, style))
                    screen.lines.push_back(std::move(line));
            }
            if (ui.view.kind != Kind::kErrors) {
                std::vector<Line> notes = doubts(cluster);
                constexpr std::size_t kMostNotes = 2;
                if (notes.size() > kMostNotes) {
                    const std::size_t more = notes.size() - kMostNotes + 1;
                    notes.resize(kMostNotes);
                    notes.back() = {
                        {"! and " + std::to_string(more) + " more (x: errors)", Tone::kBad}};
                }
                for (Line& note : notes) screen.lines.push_back(std::move(note));
            }
            screen.lines.push_back(state_line(ui, table, style));
            if (ui.graph) {
                draw_graphs(screen, history, table, ui, size, style);
            } else {
                draw_rows(screen, history, table, ui, cluster, size, style);
            }
        }
    }
    screen.lines.resize(std::max(size.height, std::size_t{1}));
    if (size.height > 1 && size.width >= kLeast.width && size.height >= kLeast.height)
        screen.lines.back() = keys_line(ui, size.width);
    for (Line& line : screen.lines) line = cut(std::move(line), size.width);
    return screen;
}

}  // namespace aliquot::top
