// SPDX-License-Identifier: Apache-2.0
#include "cost/report.h"

#include <algorithm>
#include <map>

namespace aliquot::cost {
namespace {

constexpr std::array<std::string_view, 9> kByWords{"namespace", "queue", "user",  "job",     "pod",
                                                   "node",      "gpu",   "model", "workflow"};

/// What a row is listed under.
std::string key_of(const Row& row, const History& history, By by) {
    const Owner& owner = history.owners[row.owner];
    const auto text = [&](NameId id) { return history.names.text(id); };
    switch (by) {
        case By::kNamespace:
            return text(owner.space);
        case By::kQueue:
            return text(owner.queue);
        case By::kUser:
            return text(owner.user);
        case By::kJob:
            return text(owner.job);
        case By::kPod:
            return owner.space == 0 ? text(owner.pod) : text(owner.space) + "/" + text(owner.pod);
        case By::kNode:
            return text(row.node);
        case By::kGpu:
            return row.part == 0 ? text(row.device) : text(row.part);
        case By::kModel:
            return text(row.model);
        case By::kWorkflow:
            return text(owner.workflow);
    }
    return "";
}

bool by_owner(By by) { return by != By::kNode && by != By::kGpu && by != By::kModel; }

/// The first and the last hour of a node may have begun and ended with it; those between should be whole.
void add_gaps(Report& report, const Allocation& allocation) {
    std::map<NameId, std::map<TimeMs, TimeMs>> nodes;
    for (const Bill& bill : allocation.bills) {
        nodes[bill.node][bill.hour] += bill.watched_ms;
        report.bill += bill.amount;
    }
    for (const auto& [node, hours] : nodes) {
        const TimeMs first = hours.begin()->first;
        const TimeMs last = hours.rbegin()->first;
        TimeMs between = 0;
        for (const auto& [hour, watched] : hours) {
            report.watched_ms += watched;
            if (hour != first && hour != last) between += watched;
        }
        report.gap_ms += std::max<TimeMs>(0, last - first - kHourMs - between);
    }
}

}  // namespace

std::string_view word(By by) { return kByWords[static_cast<std::size_t>(by)]; }

std::optional<By> by_of(std::string_view word) {
    const auto* const found = std::ranges::find(kByWords, word);
    if (found == kByWords.end()) return std::nullopt;
    return static_cast<By>(found - kByWords.begin());
}

std::vector<std::string_view> by_words() { return {kByWords.begin(), kByWords.end()}; }

void Sums::add(const Row& row) {
    const auto state = static_cast<std::size_t>(row.state);
    by_state[state] += row.total();
    gpu += row.gpu;
    cpu += row.cpu;
    memory += row.memory;
    gpu_ms[state] += row.gpu_ms;
    core_ms += row.core_ms;
    mib_s += row.mib_s;
    if (row.state == State::kIdle) gpu_idle += row.gpu;
    energy_millijoules += row.energy_millijoules;
}

Report report_of(const Allocation& allocation, const History& history, By by, TimeMs step_ms) {
    Report report{.by = by};
    std::map<std::pair<bool, std::string>, Sums> lines;
    std::map<TimeMs, Step> steps;
    for (const Row& row : allocation.rows) {
        const bool nobody = row.owner == 0;
        std::string key =
            nobody && by_owner(by) ? std::string(word(row.state)) : key_of(row, history, by);
        lines[{nobody, std::move(key)}].add(row);
        report.sums.add(row);
        const TimeMs begin = row.hour - ((row.hour % step_ms) + step_ms) % step_ms;
        Step& step = steps[begin];
        step.begin = begin;
        (nobody ? step.nobody : step.owners) += row.total();
        if (row.state == State::kIdle) step.idle += row.total();
        report.begin = report.end == 0 ? row.hour : std::min(report.begin, row.hour);
        report.end = std::max(report.end, row.hour + kHourMs);
    }
    for (auto& [key, sums] : lines) report.lines.push_back({key.second, key.first, sums});
    std::ranges::stable_sort(report.lines, [](const Line& a, const Line& b) {
        if (a.nobody != b.nobody) return b.nobody;
        return a.sums.total() > b.sums.total();
    });
    for (const auto& [begin, step] : steps) report.steps.push_back(step);
    add_gaps(report, allocation);
    return report;
}

double grams_co2e(std::uint64_t millijoules, double pue, double grid_grams) {
    return kwh_of(millijoules) * pue * grid_grams;
}

}  // namespace aliquot::cost
