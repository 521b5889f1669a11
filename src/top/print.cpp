// SPDX-License-Identifier: Apache-2.0
#include "top/print.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "top/kinds.h"
#include "top/sums.h"

namespace aliquot::top {
namespace {

std::string counted(std::size_t count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string power_text(std::uint64_t milliwatts) {
    if (milliwatts < 10'000'000) return watts_text(milliwatts) + "W";
    return number_text(static_cast<double>(milliwatts) * 1e-6) + "kW";
}

std::string csv_text(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string csv_number(double value) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%.15g", value);
    return text.data();
}

bool several_nodes(const ClusterSnapshot& cluster) { return cluster.agents.size() > 1; }

}  // namespace

Line sums_line(const ClusterSnapshot& cluster, std::size_t width) {
    const Sums sums = sums_of(cluster);
    const auto silent = std::ranges::count_if(
        cluster.agents, [](const Agent& agent) { return !agent.problem.empty(); });
    std::vector<Line> words{
        {{several_nodes(cluster) ? counted(cluster.agents.size(), "node", "nodes")
          : !cluster.agents.empty() && cluster.agents.front().snapshot
              ? shown(cluster.agents.front().snapshot->node)
              : "1 node",
          Tone::kTitle}}};
    if (silent > 0 && several_nodes(cluster))
        words.back().push_back({" (" + std::to_string(silent) + " silent)", Tone::kBad});
    words.push_back({{counted(sums.gpus, "GPU", "GPUs")}});
    if (sums.unhealthy_gpus > 0)
        words.back().push_back(
            {" (" + std::to_string(sums.unhealthy_gpus) + " unhealthy)", Tone::kBad});
    if (const auto busy = sums.utilization_ppm())
        words.back().push_back({" " + percent_text(busy) + "%"});
    if (sums.memory_total_bytes)
        words.push_back(
            {{"mem " + memory_of_text(sums.memory_used_bytes, sums.memory_total_bytes)}});
    if (sums.power_milliwatts) words.push_back({{power_text(*sums.power_milliwatts)}});
    if (sums.slots > 0)
        words.push_back(
            {{"slots " + std::to_string(sums.allocated) + "/" + std::to_string(sums.slots)}});
    words.push_back({{counted(sums.pods, "pod", "pods")}});
    if (sums.idle_pods > 0)
        words.back().push_back({" (" + std::to_string(sums.idle_pods) + " idle)", Tone::kWarn});
    if (sums.price_per_hour)
        words.push_back({{"cost " + number_text(*sums.price_per_hour) + "/h"}});
    Line line;
    for (Line& word : words) {
        const std::size_t taken = width_of(line) + (line.empty() ? 0 : 2);
        if (width > 0 && !line.empty() && taken + width_of(word) > width) break;
        if (!line.empty()) line.push_back({"  "});
        std::ranges::move(word, std::back_inserter(line));
    }
    return line;
}

std::vector<Line> doubts(const ClusterSnapshot& cluster) {
    std::vector<Line> lines;
    for (const Agent& agent : cluster.agents) {
        const std::string name = shown(agent.snapshot ? agent.snapshot->node : agent.address);
        if (!agent.problem.empty())
            lines.push_back({{"! " + name + ": " + shown(agent.problem), Tone::kBad}});
        if (!agent.snapshot) continue;
        if (!agent.snapshot->driver_problem.empty())
            lines.push_back(
                {{"! " + name + ": " + shown(agent.snapshot->driver_problem), Tone::kBad}});
        for (const telemetry::Device& device : agent.snapshot->devices) {
            if (!device.problem.empty())
                lines.push_back({{"! " + name + " GPU " + std::to_string(device.gpu.index) + ": " +
                                      shown(device.problem),
                                  Tone::kBad}});
        }
        for (const pods::Degraded degraded : agent.snapshot->sampling.degraded)
            lines.push_back({{"! " + name + ": " + degraded_text(degraded), Tone::kWarn}});
    }
    return lines;
}

std::string print_once(const ClusterSnapshot& cluster, const View& view, bool wide,
                       std::size_t width, const Style& style) {
    const History history;
    const Table table = table_of(cluster, history, view);
    const Columns columns =
        fit(table, {.width = width, .wide = wide, .several_nodes = several_nodes(cluster)});
    const auto put = [&](const Line& line) {
        return to_text(width == 0 ? line : cut(line, width), style.colour) + "\n";
    };
    std::string text = put(sums_line(cluster, width)) + "\n";
    if (table.rows.empty()) {
        text += table.empty + "\n";
    } else {
        text += put(heading(table, columns, style));
        for (const Row& row : table.rows)
            text += put(row_line(table, row, columns, style, history));
        if (!table.total.empty()) text += "\n" + table.total + "\n";
    }
    const auto notes = view.kind == Kind::kErrors ? std::vector<Line>{} : doubts(cluster);
    if (!notes.empty()) text += "\n";
    for (const Line& note : notes) text += put(note);
    return text;
}

std::string print_csv(const ClusterSnapshot& cluster, const View& view) {
    const Table table = table_of(cluster, History{}, view);
    std::string text;
    const auto line = [&](auto&& cell_of) {
        bool first = true;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            const Shown shown_as = table.columns[i].shown;
            if (shown_as == Shown::kTable || shown_as == Shown::kDynamic) continue;
            if (!first) text += ',';
            first = false;
            text += cell_of(i);
        }
        text += '\n';
    };
    line([&](std::size_t i) { return csv_text(std::string(table.columns[i].field)); });
    for (const Row& row : table.rows) {
        line([&](std::size_t i) {
            const Cell& cell = row.cells[i];
            if (!cell.numeric) return csv_text(cell.text);
            return cell.number ? csv_number(*cell.number) : std::string();
        });
    }
    return text;
}

}  // namespace aliquot::top
