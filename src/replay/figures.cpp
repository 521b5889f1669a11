// SPDX-License-Identifier: Apache-2.0
#include "replay/figures.h"

#include <algorithm>
#include <cmath>

namespace aliquot::replay {
namespace {

constexpr double kMsPerSecond = 1'000;
constexpr double kShortRun = 600;  // s: what is shorter counts as long in the slowdown

Size size_of(const JobRun& job) {
    return job.milli <= 1'000 ? Size::kOne : job.milli < 8'000 ? Size::kFew : Size::kMany;
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

SizeFigures size_figures(const Played& played, Size size) {
    std::vector<double> waits;
    std::vector<double> completions;
    std::vector<double> slowdowns;
    for (const JobRun& job : played.jobs) {
        if (job.start < 0 || (size != Size::kAll && size_of(job) != size)) continue;
        const double run = static_cast<double>(job.run) / kMsPerSecond;
        const double completion = static_cast<double>(job.end - job.submit) / kMsPerSecond;
        waits.push_back(std::max(0.0, completion - run));
        completions.push_back(completion);
        slowdowns.push_back(std::max(1.0, completion / std::max(run, kShortRun)));
    }
    std::sort(waits.begin(), waits.end());
    return {.jobs = waits.size(),
            .wait_mean = mean(waits),
            .wait_p50 = quantile(waits, 0.5),
            .wait_p90 = quantile(waits, 0.9),
            .wait_p99 = quantile(waits, 0.99),
            .completion_mean = mean(completions),
            .slowdown_mean = mean(slowdowns)};
}

const Told& latest_told(const JobRun& job, double waited) {
    const auto until =
        job.submit + static_cast<Time>(waited * static_cast<double>(job.start - job.submit));
    const auto after = std::upper_bound(job.told.begin() + 1, job.told.end(), until,
                                        [](Time at, const Told& told) { return at < told.at; });
    return *std::prev(after);
}

ForecastFigures forecast_figures(const Played& played) {
    ForecastFigures made;
    std::vector<const JobRun*> jobs;
    std::size_t at_once = 0;
    for (const JobRun& job : played.jobs) {
        if (job.start == job.submit) ++at_once;
        if (job.told.empty() || job.start < 0) continue;
        ++made.asked;
        if (job.start > job.submit) jobs.push_back(&job);
    }
    made.waited = jobs.size();
    std::vector<double> errors;
    constexpr std::array kWaited{0.0, 0.25, 0.5, 0.75};
    for (std::size_t i = 0; i < kWaited.size(); ++i) {
        errors.clear();
        std::size_t within = 0;
        for (const JobRun* const job : jobs) {
            const Told& told = latest_told(*job, kWaited[i]);
            errors.push_back(static_cast<double>(std::abs(told.p50 - job->start)) /
                             static_cast<double>(job->start - job->submit));
            within += job->start <= told.p90 ? 1 : 0;
        }
        std::sort(errors.begin(), errors.end());
        made.told[i] = {.waited = kWaited[i], .error_median = quantile(errors, 0.5)};
        if (!errors.empty())
            made.told[i].within_p90 =
                static_cast<double>(within) / static_cast<double>(errors.size());
        if (i > 0) continue;
        // Of as many of those that began at once as were asked of the others.
        const std::size_t others = played.jobs.size() > at_once ? played.jobs.size() - at_once : 1;
        errors.insert(errors.begin(), at_once * made.waited / others, 0.0);
        made.error_median_with_others = quantile(errors, 0.5);
    }
    return made;
}

}  // namespace

std::string_view word_of(Size size) {
    switch (size) {
        case Size::kAll:
            return "all";
        case Size::kOne:
            return "1";
        case Size::kFew:
            return "2-7";
        case Size::kMany:
            break;
    }
    return ">=8";
}

double quantile(const std::vector<double>& sorted, double part) {
    if (sorted.empty()) return 0;
    const double rank = std::ceil(part * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(
                      std::clamp(rank, 1.0, static_cast<double>(sorted.size()))) -
                  1];
}

Figures figures_of(const Played& played) {
    Figures made;
    for (std::size_t size = 0; size < kSizeCount; ++size)
        made.sizes[size] = size_figures(played, static_cast<Size>(size));
    made.forecast = forecast_figures(played);
    double used = 0;
    for (const JobRun& job : played.jobs) {
        if (job.start < 0) {
            ++made.unfinished;
            continue;
        }
        used += static_cast<double>(job.milli) * static_cast<double>(job.run);
        made.preemptions += job.preempted;
    }
    const double there =
        static_cast<double>(played.capacity_milli) * static_cast<double>(played.busy);
    made.utilisation = there > 0 ? used / there : 0;
    made.makespan = static_cast<double>(played.makespan) / kMsPerSecond;
    return made;
}

}  // namespace aliquot::replay
