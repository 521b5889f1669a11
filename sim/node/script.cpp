// SPDX-License-Identifier: Apache-2.0
#include "sim/node/script.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "k8s/memory_amount.h"
#include "sim/node/memory.h"
#include "sim/node/processes.h"
#include "sim/node/shared_state.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
constexpr std::chrono::milliseconds kShortestPeriod{100};
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

Error bad(std::string_view item, const std::string& expected) {
    return {ErrorCode::kInvalidInput,
            "load script: '" + std::string(item.substr(0, 64)) + "': expected " + expected};
}

std::optional<unsigned> parse_percent(std::string_view text) {
    if (!text.ends_with('%')) return std::nullopt;
    text.remove_suffix(1);
    const auto percent = parse_number<unsigned>(text);
    return percent && *percent <= 100 ? percent : std::nullopt;
}

/// Adds one item to the script.
Result<Done> add(LoadScript& script, std::string_view item) {
    if (script.period.count() != 0) return bad(item, "nothing after 'again'");
    const auto colon = item.find(':');
    const std::string_view time = item.substr(0, colon);
    const bool short_unit = time.ends_with('s') || time.ends_with('m');  // ms, s, m
    const auto at = short_unit ? parse_duration(time) : std::nullopt;
    if (!at || *at > kLongest || colon == std::string_view::npos) {
        return bad(item, "TIME:PERCENT%[:MEMORY], as 10s:80%:2Gi");
    }
    const std::string_view rest = item.substr(colon + 1);
    if (rest == "again") {
        if (at->count() == 0) return bad(item, "a time after which it begins anew");
        script.period = *at;
        return Done{};
    }
    const auto second = rest.find(':');
    const auto percent = parse_percent(rest.substr(0, second));
    if (!percent) return bad(item, "0% to 100% after the time");
    LoadPhase phase{.at = *at, .sm_percent = *percent, .memory_bytes = 0};
    if (second != std::string_view::npos) {
        const auto bytes = k8s::parse_bytes(rest.substr(second + 1));
        if (!bytes) return bad(item, "an amount of memory at the end, as 2Gi");
        if (*bytes == 0) return bad(item, "memory above 0: a process that runs holds some");
        phase.memory_bytes = *bytes;
    }
    script.phases.push_back(phase);
    return Done{};
}

/// Where in the script `now_ns` is.
std::uint64_t position(const ScriptState& script, std::uint64_t now_ns) {
    const std::uint64_t elapsed = now_ns - std::min(now_ns, script.begun_ns);
    return script.period_ns == 0 ? elapsed : elapsed % script.period_ns;
}

unsigned phase_at(const ScriptState& script, std::uint64_t place_ns) {
    unsigned phase = 0;
    const unsigned count = std::min(script.phases, kMaxPhases);
    while (phase + 1 < count && script.phase[phase + 1].at_ns <= place_ns) ++phase;
    return phase;
}

/// What a process holds in a phase: of the nearest one before that says so.
std::uint64_t memory_in(const ScriptState& script, unsigned phase) {
    for (unsigned i = phase + 1; i-- > 0;) {
        if (script.phase[i].memory_bytes != 0) return script.phase[i].memory_bytes;
    }
    return 0;
}

}  // namespace

Result<Done> check(const LoadScript& script) {
    const auto& phases = script.phases;
    if (phases.empty() || phases.size() > kMaxPhases) {
        return Error{ErrorCode::kInvalidInput, "load script: " + std::to_string(phases.size()) +
                                                   " phases, expected 1 to " +
                                                   std::to_string(kMaxPhases)};
    }
    if (phases.front().at.count() != 0 || phases.front().memory_bytes == 0) {
        return Error{ErrorCode::kInvalidInput,
                     "load script: the first phase must be at 0s and say how much memory, as "
                     "0s:80%:2Gi"};
    }
    for (std::size_t i = 1; i < phases.size(); ++i) {
        if (phases[i].at <= phases[i - 1].at) {
            return Error{ErrorCode::kInvalidInput, "load script: phase " + std::to_string(i + 1) +
                                                       " is not later than the one before it"};
        }
    }
    const bool in_range =
        std::ranges::all_of(phases, [](const LoadPhase& phase) { return phase.sm_percent <= 100; });
    const bool ends = script.period.count() == 0 ||
                      (script.period > phases.back().at && script.period >= kShortestPeriod);
    if (!in_range || !ends) {
        return Error{ErrorCode::kInvalidInput,
                     in_range
                         ? "load script: it begins again before its last phase, or within 100 ms"
                         : "load script: more than 100 %"};
    }
    return Done{};
}

Result<LoadScript> parse_load_script(std::string_view text) {
    LoadScript script;
    while (!text.empty()) {
        const auto line_end = text.find('\n');
        std::string_view line = text.substr(0, line_end);
        text = line_end == std::string_view::npos ? std::string_view{} : text.substr(line_end + 1);
        line = line.substr(0, line.find('#'));
        while (!line.empty()) {
            const auto comma = line.find(',');
            const std::string_view item = trim(line.substr(0, comma));
            line = comma == std::string_view::npos ? std::string_view{} : line.substr(comma + 1);
            if (item.empty()) continue;
            if (auto added = add(script, item); !added) return std::move(added).error();
            if (script.phases.size() > kMaxPhases) return check(script).error();
        }
    }
    if (auto good = check(script); !good) return std::move(good).error();
    return script;
}

void begin_script(State& state, unsigned entry, const LoadScript& script, std::uint64_t now_ns) {
    ScriptState& kept = state.scripts[entry];
    kept = {};
    kept.begun_ns = now_ns;
    kept.period_ns = static_cast<std::uint64_t>(script.period.count()) * kNsPerMs;
    for (std::size_t i = 0; i < script.phases.size(); ++i) {
        kept.phase[i] = {
            .at_ns = static_cast<std::uint64_t>(script.phases[i].at.count()) * kNsPerMs,
            .memory_bytes = script.phases[i].memory_bytes,
            .sm_percent = script.phases[i].sm_percent,
            .reserved = 0};
    }
    kept.phases = static_cast<std::uint32_t>(script.phases.size());
    follow_script(state, entry, now_ns);
}

void follow_script(State& state, unsigned entry, std::uint64_t now_ns) {
    const ScriptState& script = state.scripts[entry];
    if (script.phases == 0) return;
    ProcessState& process = state.processes[entry];
    const unsigned phase = phase_at(script, position(script, now_ns));
    const std::uint64_t wanted = memory_in(script, phase);
    if (wanted != process.memory_bytes) {
        const std::uint64_t most =
            free_bytes_on(state, process.gpu, process.where()) + process.memory_bytes;
        const std::uint64_t bytes = std::min(wanted, most);
        if (bytes != process.memory_bytes) set_process_memory(state, process, bytes);
    }
    if (process.sm_percent == script.phase[phase].sm_percent) return;
    process.sm_percent = script.phase[phase].sm_percent;
    state.gpus[process.gpu].load_changed_us = epoch_us();
}

std::uint64_t next_change(const State& state, unsigned entry, std::uint64_t now_ns) {
    const ScriptState& script = state.scripts[entry];
    if (script.phases == 0) return kNever;
    const std::uint64_t place = position(script, now_ns);
    const unsigned next = phase_at(script, place) + 1;
    if (next < std::min(script.phases, kMaxPhases)) {
        return now_ns + (script.phase[next].at_ns - place);
    }
    return script.period_ns == 0 ? kNever : now_ns + (script.period_ns - place);
}

}  // namespace aliquot::sim
