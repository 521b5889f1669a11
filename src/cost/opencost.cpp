// SPDX-License-Identifier: Apache-2.0
// The answer of OpenCost's /allocation, for what reads it.
#include <algorithm>
#include <chrono>
#include <numeric>

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

/// cluster, and what the line is of, in the words of OpenCost where it has some.
Value properties_of(const Line& line, By by) {
    Value properties = make_mapping({{"cluster", "aliquot"}});
    if (line.nobody) return properties;
    const auto slash = line.key.find('/');
    if (by == By::kPod && slash != std::string::npos) {
        append(properties, "namespace", line.key.substr(0, slash));
        append(properties, "pod", line.key.substr(slash + 1));
        return properties;
    }
    append(properties, std::string(by == By::kJob ? "controller" : word(by)), line.key);
    if (by == By::kJob) append(properties, "controllerKind", "job");
    return properties;
}

/// Amounts of one kind: "cpuCost" and what OpenCost adds to it, of which we have none.
void append_cost(Value& to, const std::string& kind, Micros amount) {
    append(to, kind + "Cost", units(amount));
    append(to, kind + "CostAdjustment", 0);
    append(to, kind + "CostIdle", 0);  // of idle resources that were shared out
}

Value known(bool is, double value) { return is ? make_number(value, kAnswerDigits) : Value{}; }

/// CPU and memory, as asked for; what was used of them nobody has measured. Hours that were divided by a version before
/// they were counted have none: then it is not known.
void append_node_parts(Value& to, const Sums& sums, double window) {
    constexpr double kMib = 1'048'576;
    constexpr double kSecondsOfHour = 3'600;
    const bool has_cpu = sums.core_ms != 0 || sums.cpu == 0;
    const bool has_memory = sums.mib_s != 0 || sums.memory == 0;
    const double core_hours = static_cast<double>(sums.core_ms) / static_cast<double>(kHourMs);
    const double byte_hours = static_cast<double>(sums.mib_s) * kMib / kSecondsOfHour;
    append(to, "cpuCores", known(has_cpu, ratio(core_hours, window)));
    append(to, "cpuCoreRequestAverage", known(has_cpu, ratio(core_hours, window)));
    append(to, "cpuCoreUsageAverage", Value{});
    append(to, "cpuCoreHours", known(has_cpu, core_hours));
    append_cost(to, "cpu", sums.cpu);
    append(to, "cpuEfficiency", Value{});
    append(to, "ramBytes", known(has_memory, ratio(byte_hours, window)));
    append(to, "ramByteRequestAverage", known(has_memory, ratio(byte_hours, window)));
    append(to, "ramByteUsageAverage", Value{});
    append(to, "ramByteHours", known(has_memory, byte_hours));
    append_cost(to, "ram", sums.memory);
    append(to, "ramEfficiency", Value{});
}

void append_gpus(Value& to, const Sums& sums, double window) {
    const double hours =
        static_cast<double>(std::accumulate(sums.gpu_ms.begin(), sums.gpu_ms.end(), TimeMs{0})) /
        static_cast<double>(kHourMs);
    const double busy = static_cast<double>(sums.gpu_ms[static_cast<std::size_t>(State::kBusy)]) /
                        static_cast<double>(kHourMs);
    append(to, "gpuCount", make_number(ratio(hours, window), kAnswerDigits));
    append(to, "gpuRequestAverage", make_number(ratio(hours, window), kAnswerDigits));
    append(to, "gpuUsageAverage", make_number(ratio(busy, window), kAnswerDigits));
    append(to, "gpuHours", make_number(hours, kAnswerDigits));
    append_cost(to, "gpu", sums.gpu);
    append(to, "gpuCostUnused", units(sums.gpu_idle));  // ours: held, and not used
    append(to, "gpuEfficiency", make_number(ratio(busy, hours), kAnswerDigits));
    append(to, "totalEfficiency", make_number(ratio(busy, hours), kAnswerDigits));
}

/// What we do not charge for.
void append_others(Value& to) {
    for (const char* const bytes : {"networkTransferBytes", "networkReceiveBytes"}) {
        append(to, bytes, Value{});
    }
    for (const char* const amount :
         {"networkCost", "networkCrossZoneCost", "networkCrossRegionCost", "networkInternetCost",
          "networkCostAdjustment", "loadBalancerCost", "loadBalancerCostAdjustment", "pvBytes",
          "pvByteHours", "pvCost", "pvCostAdjustment", "sharedCost", "externalCost"}) {
        append(to, amount, 0);
    }
    append(to, "pvs", Value{});
    append(to, "lbAllocations", Value{});
}

Value allocation_of(const std::string& name, const Line& line, By by, TimeMs begin, TimeMs end) {
    constexpr double kMsPerMinute = 60'000;
    const double window = static_cast<double>(end - begin) / static_cast<double>(kHourMs);
    Value made = make_mapping(
        {{"name", name},
         {"properties", properties_of(line, by)},
         {"window", make_mapping({{"start", time_text(begin)}, {"end", time_text(end)}})},
         {"start", time_text(begin)},
         {"end", time_text(end)},
         {"minutes", make_number(static_cast<double>(end - begin) / kMsPerMinute, kAnswerDigits)}});
    append_node_parts(made, line.sums, window);
    append_gpus(made, line.sums, window);
    append_others(made);
    append(made, "totalCost", units(line.sums.total()));
    return made;
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
        idle.sums.core_ms += line.sums.core_ms;
        idle.sums.mib_s += line.sums.mib_s;
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
        // Of the first hour there may be a part only.
        if (row.hour <= query.begin - kHourMs || row.hour >= query.end) continue;
        const TimeMs hour = std::max(row.hour, query.begin);
        const auto at = static_cast<std::size_t>((hour - query.begin) / step);
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
    if (text == "lastmonth") {
        const TimeMs month = since(Budget::Period::kMonth);
        found = {begin_of(Budget::Period::kMonth, month - 1), month};
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
