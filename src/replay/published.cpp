// SPDX-License-Identifier: Apache-2.0
// Traces that others published, in their own formats.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/number.h"
#include "base/take_text.h"
#include "base/text.h"
#include "base/time_text.h"
#include "replay/trace.h"

namespace aliquot::replay {
namespace {

using Json = nlohmann::json;

Error unreadable(const std::string& file, const std::string& what) {
    return {ErrorCode::kInvalidInput, file + ": " + what};
}

/// "2017-10-09 07:01:55" as s; nullopt: "None", or no such text.
std::optional<std::int64_t> seconds_of(const Json& at) {
    if (!at.is_string()) return std::nullopt;
    std::string text = at.get<std::string>();
    if (text.size() != 19 || text[10] != ' ') return std::nullopt;
    text[10] = 'T';
    const auto time = parse_rfc3339(text + "Z");
    if (!time) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count();
}

std::string text_of(const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// One job of Philly's log; false: it never ran.
bool read_philly_job(const Json& entry, TraceJob& job) {
    if (!entry.is_object()) return false;
    const auto submitted =
        entry.contains("submitted_time") ? seconds_of(entry["submitted_time"]) : std::nullopt;
    const auto attempts = entry.find("attempts");
    if (!submitted || attempts == entry.end() || !attempts->is_array()) return false;
    std::int64_t ran = 0;
    std::size_t gpus = 0;
    for (const Json& attempt : *attempts) {
        if (!attempt.is_object()) continue;
        const auto start =
            attempt.contains("start_time") ? seconds_of(attempt["start_time"]) : std::nullopt;
        const auto end =
            attempt.contains("end_time") ? seconds_of(attempt["end_time"]) : std::nullopt;
        if (start && end && *end > *start) ran += *end - *start;
        std::size_t here = 0;
        const auto detail = attempt.find("detail");
        if (detail != attempt.end() && detail->is_array())
            for (const Json& node : *detail)
                if (node.is_object() && node.contains("gpus") && node["gpus"].is_array())
                    here += node["gpus"].size();
        gpus = std::max(gpus, here);
    }
    if (ran == 0 || gpus == 0 || gpus > kMostGpus) return false;
    job.submit = *submitted * 1'000;
    job.duration = ran * 1'000;
    job.gpus = static_cast<unsigned>(gpus);
    job.user = text_of(entry, "user");
    job.queue = text_of(entry, "vc");
    return true;
}

}  // namespace

Result<Trace> read_philly(const std::string& file, std::string_view text) {
    const Json log = parse_json<Json>(text);
    if (!log.is_array())
        return unreadable(file, "no list of jobs, expected Philly's cluster_job_log");
    Trace trace;
    for (const Json& entry : log) {
        TraceJob job;
        if (read_philly_job(entry, job))
            trace.jobs.push_back(std::move(job));
        else
            ++trace.skipped;
        if (trace.jobs.size() > kMostJobs) return unreadable(file, "too many jobs");
    }
    return in_order(file, std::move(trace));
}

Result<Trace> read_gavel(const std::string& file, std::string_view text,
                         const std::string& speeds_file, std::string_view speeds) {
    const Json table = parse_json<Json>(speeds);
    const auto v100 = table.is_object() ? table.find("v100") : table.end();
    if (!table.is_object() || v100 == table.end() || !v100->is_object())
        return unreadable(speeds_file,
                          "no speeds of v100, expected Gavel's simulation_throughputs.json");
    Trace trace;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = take_line(text);
        if (trim(line).empty()) continue;
        std::vector<std::string_view> cells;
        while (!line.empty()) cells.push_back(take_until(line, '\t'));
        const auto bad = [&](const std::string& what) {
            return unreadable(file + ":" + std::to_string(number), what);
        };
        if (cells.size() < 7)
            return bad(std::to_string(cells.size()) + " columns, expected 7 of Gavel's traces");
        const auto steps = parse_number<double>(trim(cells[4]));
        const auto arrival = parse_number<double>(trim(cells[5]));
        const auto gpus = parse_number<unsigned>(trim(cells[6]));
        if (!steps || !arrival || !gpus || *steps < 0 || *arrival < 0 || *arrival > 1e10 ||
            *gpus == 0 || *gpus > kMostGpus)
            return bad("no steps, arrival and GPUs in columns 5 to 7");
        const std::string kind = "('" + std::string(cells[0]) + "', " + std::to_string(*gpus) + ")";
        const auto speed = v100->find(kind);
        const bool known = speed != v100->end() && speed->is_object() && speed->contains("null") &&
                           (*speed)["null"].is_number() && (*speed)["null"].get<double>() > 0;
        if (!known) {
            ++trace.skipped;
            continue;
        }
        const double seconds = *steps / (*speed)["null"].get<double>();
        if (!(seconds < 1e10)) return bad("a run of more than 300 years");
        trace.jobs.push_back({.submit = std::llround(*arrival * 1'000),
                              .duration = std::max<Time>(1, std::llround(seconds * 1'000)),
                              .gpus = *gpus,
                              .name = std::string(cells[0])});
        if (trace.jobs.size() > kMostJobs) return unreadable(file, "too many jobs");
    }
    return in_order(file, std::move(trace));
}

}  // namespace aliquot::replay
