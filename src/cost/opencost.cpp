// SPDX-License-Identifier: Apache-2.0
// The answer of OpenCost's /allocation, for what reads it.
#include <algorithm>
#include <chrono>

#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cost/outputs.h"
#include "document/build.h"

namespace aliquot::cost {
namespace {

using document::make_mapping;
using document::make_number;
using document::Value;

constexpr int kAnswerDigits = 6;
constexpr TimeMs kMostWindow = 3 * 366 * kDayMs;

TimeMs ms_of(std::chrono::system_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::optional<TimeMs> moment_of(std::string_view text) {
    if (const auto time = parse_rfc3339(text)) return ms_of(*time);
    const auto seconds = parse_number<std::int64_t>(text);
    constexpr std::int64_t kFarthest = 100'000'000'000;
    if (!seconds || *seconds < 0 || *seconds > kFarthest) return std::nullopt;
    return *seconds * 1'000;
}

Value units(Micros amount) {
    return make_number(static_cast<double>(amount) / static_cast<double>(kMicrosPerUnit),
                       kAnswerDigits);
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

Value allocation_of(const std::string& name, const Line& line, By by, TimeMs begin, TimeMs end) {
    const Sums& sums = line.sums;
    std::int64_t gpu_ms = 0;
    for (const std::int64_t one : sums.gpu_ms) gpu_ms += one;
    const double hours = static_cast<double>(gpu_ms) / static_cast<double>(kHourMs);
    const double window = static_cast<double>(end - begin) / static_cast<double>(kHourMs);
    const auto busy_ms = sums.gpu_ms[static_cast<std::size_t>(State::kBusy)];
    const double busy = static_cast<double>(busy_ms) / static_cast<double>(kHourMs);
    Value properties = make_mapping({{"cluster", "aliquot"}});
    if (!line.nobody) {
        const auto slash = line.key.find('/');
        if (by == By::kPod && slash != std::string::npos) {
            append(properties, "namespace", line.key.substr(0, slash));
            append(properties, "pod", line.key.substr(slash + 1));
        } else {
            append(properties, std::string(word(by)), line.key);
        }
    }
    constexpr double kMsPerMinute = 60'000;
    return make_mapping(
        {{"name", name},
         {"properties", std::move(properties)},
         {"window", make_mapping({{"start", time_text(begin)}, {"end", time_text(end)}})},
         {"start", time_text(begin)},
         {"end", time_text(end)},
         {"minutes", make_number(static_cast<double>(end - begin) / kMsPerMinute, kAnswerDigits)},
         {"cpuCost", units(sums.cpu)},
         {"cpuCostAdjustment", 0},
         {"gpuCount", make_number(ratio(hours, window), kAnswerDigits)},
         {"gpuHours", make_number(hours, kAnswerDigits)},
         {"gpuRequestAverage", make_number(ratio(hours, window), kAnswerDigits)},
         {"gpuUsageAverage", make_number(ratio(busy, window), kAnswerDigits)},
         {"gpuCost", units(sums.gpu)},
         {"gpuCostAdjustment", 0},
         {"gpuCostIdle", units(sums.idle())},
         {"gpuEfficiency", make_number(ratio(busy, hours), kAnswerDigits)},
         {"ramCost", units(sums.memory)},
         {"ramCostAdjustment", 0},
         {"networkCost", 0},
         {"loadBalancerCost", 0},
         {"pvCost", 0},
         {"sharedCost", 0},
         {"externalCost", 0},
         {"totalCost", units(sums.total())},
         {"totalEfficiency", make_number(ratio(busy, hours), kAnswerDigits)}});
}

/// What nobody had counts as one.
Value set_of(const Report& report, const AllocationQuery& query, TimeMs begin, TimeMs end) {
    Value set = make_mapping();
    Line idle{.key = "__idle__", .nobody = true};
    for (const Line& line : report.lines) {
        if (!line.nobody) {
            const std::string name = line.key.empty() ? "__unallocated__" : line.key;
            append(set, name, allocation_of(name, line, query.by, begin, end));
            continue;
        }
        for (std::size_t i = 0; i < kStates; ++i) {
            idle.sums.by_state[i] += line.sums.by_state[i];
            idle.sums.gpu_ms[i] += line.sums.gpu_ms[i];
        }
        idle.sums.gpu += line.sums.gpu;
        idle.sums.cpu += line.sums.cpu;
        idle.sums.memory += line.sums.memory;
    }
    if (query.with_idle && idle.sums.total() != 0) {
        append(set, idle.key, allocation_of(idle.key, idle, query.by, begin, end));
    }
    return set;
}

TimeMs step_of(const AllocationQuery& query) {
    return query.step <= 0 ? std::max<TimeMs>(query.end - query.begin, 1)
                           : std::max(query.step, kHourMs);
}

}  // namespace

std::size_t parts_of(const AllocationQuery& query) {
    if (query.begin >= query.end) return 0;
    return static_cast<std::size_t>((query.end - query.begin - 1) / step_of(query)) + 1;
}

Value opencost_of(const Allocation& allocation, const History& names,
                  const AllocationQuery& query) {
    const TimeMs step = step_of(query);
    std::vector<Allocation> parts(std::min(parts_of(query), kMostParts));
    for (const Row& row : allocation.rows) {
        if (row.hour < query.begin || row.hour >= query.end) continue;
        const auto at = static_cast<std::size_t>((row.hour - query.begin) / step);
        if (at < parts.size()) parts[at].rows.push_back(row);
    }
    Value sets = document::make_sequence();
    TimeMs begin = query.begin;
    for (Allocation& part : parts) {
        const TimeMs end = std::min(begin + step, query.end);
        sets.items.push_back(set_of(report_of(part, names, query.by), query, begin, end));
        part = {};
        begin = end;
    }
    return make_mapping({{"code", 200}, {"data", std::move(sets)}});
}

std::optional<std::pair<TimeMs, TimeMs>> parse_window(std::string_view text, TimeMs now) {
    const auto since = [&](Budget::Period period) { return begin_of(period, now); };
    std::optional<std::pair<TimeMs, TimeMs>> found;
    if (text == "today") found = {since(Budget::Period::kDay), now};
    if (text == "yesterday") {
        found = {since(Budget::Period::kDay) - kDayMs, since(Budget::Period::kDay)};
    }
    if (text == "week") found = {since(Budget::Period::kWeek), now};
    if (text == "month") found = {since(Budget::Period::kMonth), now};
    if (text == "lastweek") {
        const TimeMs week = since(Budget::Period::kWeek);
        found = {week - 7 * kDayMs, week};
    }
    const auto comma = text.find(',');
    if (!found && comma != std::string_view::npos) {
        const auto begin = moment_of(text.substr(0, comma));
        const auto end = moment_of(text.substr(comma + 1));
        if (begin && end) found = {*begin, *end};
    } else if (!found) {
        if (const auto length = parse_duration(text)) found = {now - length->count(), now};
    }
    if (!found || found->first >= found->second || found->second - found->first > kMostWindow) {
        return std::nullopt;
    }
    return found;
}

}  // namespace aliquot::cost
