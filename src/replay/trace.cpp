// SPDX-License-Identifier: Apache-2.0
#include "replay/trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/number.h"
#include "base/take_text.h"
#include "base/text.h"

namespace aliquot::replay {
namespace {

constexpr double kMostSeconds = 1e10;  // 317 years

enum Column : std::uint8_t {
    kSubmit,
    kDuration,
    kDeleted,
    kScheduled,
    kGpus,
    kGpuMilli,
    kUser,
    kQueue,
    kName,
    kPriority,
    kColumns
};

struct Known {
    std::string_view word;
    Column column;
};
constexpr std::array kKnown = std::to_array<Known>({{"submit", kSubmit},
                                                    {"arrival_s", kSubmit},
                                                    {"creation_time", kSubmit},
                                                    {"duration", kDuration},
                                                    {"runtime", kDuration},
                                                    {"deletion_time", kDeleted},
                                                    {"scheduled_time", kScheduled},
                                                    {"gpus", kGpus},
                                                    {"num_gpu", kGpus},
                                                    {"gpu_milli", kGpuMilli},
                                                    {"user", kUser},
                                                    {"queue", kQueue},
                                                    {"vc", kQueue},
                                                    {"name", kName},
                                                    {"priority", kPriority}});

/// Cells of one line of CSV; a quoted cell may hold commas, and two quotes for one.
std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '"') {
            if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
                cells.back() += c;
                ++i;
            } else {
                quoted = !quoted;
            }
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else if (c != '\r') {
            cells.back() += c;
        }
    }
    return cells;
}

class Reader {
public:
    Reader(const std::string& file, std::string_view heading) : file_(file) {
        at_.fill(-1);
        const std::vector<std::string> words = cells_of(heading);
        for (std::size_t i = 0; i < words.size(); ++i)
            for (const Known& known : kKnown)
                if (trim(words[i]) == known.word && at_[known.column] < 0)
                    at_[known.column] = static_cast<int>(i);
    }
    [[nodiscard]] std::optional<Error> missing() const {
        const bool times = at_[kDuration] >= 0 || (at_[kDeleted] >= 0 && at_[kScheduled] >= 0);
        if (at_[kSubmit] >= 0 && times) return std::nullopt;
        return Error{ErrorCode::kInvalidInput,
                     file_ + ":1: no column " + (at_[kSubmit] < 0 ? "submit" : "duration") +
                         ", expected a heading such as submit,duration,gpus,user,queue,name"};
    }
    /// Adds the job of a line, or counts it as skipped.
    [[nodiscard]] std::optional<Error> read(std::string_view line, std::size_t number,
                                            Trace& trace) {
        cells_ = cells_of(line);
        number_ = number;
        wrong_.reset();
        TraceJob job;
        const double submit = number_in(kSubmit, "submit", "a number of seconds, 0 or more");
        double duration = -1;
        if (at_[kDuration] >= 0) {
            duration = number_in(kDuration, "duration", "a number of seconds, 0 or more");
        } else if (cell(kDeleted).empty() || cell(kScheduled).empty()) {
            ++trace.skipped;
            return std::nullopt;
        } else {
            duration = number_in(kDeleted, "deletion_time", "seconds") -
                       number_in(kScheduled, "scheduled_time", "seconds");
        }
        const double gpus = at_[kGpus] < 0 ? 1 : number_in(kGpus, "gpus", "0 to 100000");
        if (wrong_) return wrong_;
        if (gpus > kMostGpus) return bad("gpus", cell(kGpus), "at most 100000");
        if (gpus <= 0 || duration < 0) {
            ++trace.skipped;
            return std::nullopt;
        }
        job.submit = std::llround(submit * 1'000);
        job.duration = std::max<Time>(1, std::llround(duration * 1'000));
        job.gpus = static_cast<unsigned>(std::ceil(gpus));
        if (gpus < 1) job.milli = std::max(1, static_cast<int>(std::lround(gpus * 1'000)));
        if (gpus > 1 && gpus != std::floor(gpus))
            return bad("gpus", cell(kGpus), "a whole number, or a part of one GPU");
        if (at_[kGpuMilli] >= 0 && job.gpus == 1) {
            const double milli = number_in(kGpuMilli, "gpu_milli", "1 to 1000");
            if (!wrong_ && (milli < 1 || milli > 1'000))
                return bad("gpu_milli", cell(kGpuMilli), "1 to 1000");
            job.milli = static_cast<std::int32_t>(milli);
        }
        if (!cell(kPriority).empty()) {
            const auto priority = parse_number<std::int32_t>(trim(cell(kPriority)));
            if (!priority) return bad("priority", cell(kPriority), "a whole number");
            job.priority = *priority;
        }
        if (wrong_) return wrong_;
        job.user = cell(kUser);
        job.queue = cell(kQueue);
        job.name = cell(kName);
        trace.jobs.push_back(std::move(job));
        return std::nullopt;
    }

private:
    [[nodiscard]] std::string cell(Column column) const {
        const int at = at_[column];
        return at < 0 || static_cast<std::size_t>(at) >= cells_.size()
                   ? std::string()
                   : cells_[static_cast<std::size_t>(at)];
    }
    [[nodiscard]] Error bad(const std::string& what, const std::string& value,
                            const std::string& expected) const {
        return {ErrorCode::kInvalidInput,
                file_ + ":" + std::to_string(number_) + ": " + what + " is " +
                    (value.empty() ? "empty" : value.substr(0, 40)) + ", expected " + expected};
    }
    double number_in(Column column, const std::string& what, const std::string& expected) {
        const std::string text = cell(column);
        const auto value = parse_number<double>(trim(text));
        if (value && *value >= 0 && *value <= kMostSeconds) return *value;
        if (!wrong_) wrong_ = bad(what, text, expected);
        return 0;
    }

    std::string file_;
    std::array<int, kColumns> at_{};
    std::vector<std::string> cells_;
    std::size_t number_ = 0;
    std::optional<Error> wrong_;
};

}  // namespace

Result<Trace> in_order(const std::string& file, Trace trace) {
    if (trace.jobs.empty())
        return Error{ErrorCode::kInvalidInput,
                     file + ": no job that wants GPUs and has a run time, " +
                         std::to_string(trace.skipped) + " lines skipped"};
    std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
    const Time first = trace.jobs.front().submit;
    for (TraceJob& job : trace.jobs) job.submit -= first;
    return trace;
}

Result<Trace> read_csv(const std::string& file, std::string_view text) {
    Trace trace;
    Reader reader(file, take_line(text));
    if (auto missing = reader.missing()) return *missing;
    for (std::size_t number = 2; !text.empty(); ++number) {
        const std::string_view line = take_line(text);
        if (trim(line).empty()) continue;
        if (auto wrong = reader.read(line, number, trace)) return *wrong;
        if (trace.jobs.size() > kMostJobs)
            return Error{ErrorCode::kInvalidInput,
                         file + ": more than " + std::to_string(kMostJobs) + " jobs"};
    }
    return in_order(file, std::move(trace));
}

}  // namespace aliquot::replay
