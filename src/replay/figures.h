// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/simulation.h"

namespace aliquot::replay {

/// Jobs by how many GPUs they want.
enum class Size : std::uint8_t { kAll, kOne, kFew, kMany };  // 1 or a share; 2 to 7; 8 and more
inline constexpr std::size_t kSizeCount = 4;
std::string_view word_of(Size size);

/// All times in s.
struct SizeFigures {
    std::size_t jobs = 0;
    double wait_mean = 0;
    double wait_p50 = 0;
    double wait_p90 = 0;
    double wait_p99 = 0;
    double completion_mean = 0;  // from submission to the end
    double slowdown_mean = 0;    // max(1, completion / max(run, 10 min))
};

/// The latest forecast that jobs had when `waited` of their wait was over.
struct ToldFigures {
    double waited = 0;        // 0: at submission
    double error_median = 0;  // |foretold start - real start| / whole wait
    double within_p90 = 0;    // part that began by its p90
};

/// Forecasts of jobs that then waited.
struct ForecastFigures {
    std::size_t asked = 0;
    std::size_t waited = 0;               // of them; the figures are of these
    std::array<ToldFigures, 4> told;      // at submission, after a quarter, half, three quarters
    double error_median_with_others = 0;  // at submission, jobs that began at once counted as right
};

struct Figures {
    std::array<SizeFigures, kSizeCount> sizes;
    ForecastFigures forecast;
    std::size_t unfinished = 0;  // never started: larger than the cluster or their quota
    double utilisation = 0;      // GPU time used by GPU time there was while jobs ran or waited
    double makespan = 0;
    std::size_t preemptions = 0;
};

Figures figures_of(const Played& played);

/// Of sorted values, nearest rank; 0: there are none.
double quantile(const std::vector<double>& sorted, double part);

/// Waits as curves, one for each policy: which part of jobs waited at most so long. A whole SVG document.
struct Curve {
    std::string name;
    std::vector<double> waits;  // s
};
std::string wait_picture(const std::vector<Curve>& curves);

}  // namespace aliquot::replay
