// SPDX-License-Identifier: Apache-2.0
#include "cli/files/queue_figures.h"

#include "base/text.h"
#include "base/units.h"
#include "document/build.h"

namespace aliquot::cli {
namespace {

using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::Value;

/// Seconds in the unit that reads best: "45 s", "12.3 min", "5.2 h", "3.1 d".
std::string span_text(double seconds) {
    if (seconds < 120) return decimal_text(seconds, 1) + " s";
    if (seconds < 7'200) return decimal_text(seconds / 60, 1) + " min";
    if (seconds < 172'800) return decimal_text(seconds / 3'600, 1) + " h";
    return decimal_text(seconds / 86'400, 1) + " d";
}

std::string percent_text(double part) { return decimal_text(kPercent * part, 1) + " %"; }

Value size_node(const replay::SizeFigures& one, std::string_view word) {
    return make_mapping({{"gpus", word},
                         {"jobs", one.jobs},
                         {"wait_mean_s", make_number(one.wait_mean, 1)},
                         {"wait_p50_s", make_number(one.wait_p50, 1)},
                         {"wait_p90_s", make_number(one.wait_p90, 1)},
                         {"wait_p99_s", make_number(one.wait_p99, 1)},
                         {"completion_mean_s", make_number(one.completion_mean, 1)},
                         {"slowdown_mean", make_number(one.slowdown_mean, 3)}});
}

}  // namespace

std::vector<Row> size_rows(const std::vector<PolicyOutcome>& outcomes) {
    std::vector<Row> rows = {
        {"POLICY", "GPUS", "JOBS", "WAIT", "P50", "P90", "P99", "COMPLETION", "SLOWDOWN"}};
    for (const PolicyOutcome& outcome : outcomes)
        for (std::size_t i = 0; i < replay::kSizeCount; ++i) {
            const replay::SizeFigures& one = outcome.figures.sizes[i];
            if (one.jobs == 0) continue;
            rows.push_back(
                {outcome.policy, std::string(replay::word_of(static_cast<replay::Size>(i))),
                 std::to_string(one.jobs), span_text(one.wait_mean), span_text(one.wait_p50),
                 span_text(one.wait_p90), span_text(one.wait_p99), span_text(one.completion_mean),
                 decimal_text(one.slowdown_mean, 1)});
        }
    return rows;
}

std::vector<Row> rows_of_all_sizes(const std::vector<PolicyOutcome>& outcomes) {
    std::vector<Row> rows = {
        {"POLICY", "USED", "MAKESPAN", "PREEMPTED", "NEVER-FIT", "ETA-ERROR", "HALFWAY", "BY-P90"}};
    for (const PolicyOutcome& outcome : outcomes) {
        const replay::Figures& all = outcome.figures;
        const bool known = all.forecast.waited > 0;
        rows.push_back({outcome.policy, percent_text(all.utilisation), span_text(all.makespan),
                        std::to_string(all.preemptions), std::to_string(all.unfinished),
                        known ? percent_text(all.forecast.told[0].error_median) : "",
                        known ? percent_text(all.forecast.told[2].error_median) : "",
                        known ? percent_text(all.forecast.told[0].within_p90) : ""});
    }
    return rows;
}

Value outcome_node(const PolicyOutcome& outcome) {
    const replay::Figures& all = outcome.figures;
    Value sizes = make_sequence();
    for (std::size_t i = 0; i < replay::kSizeCount; ++i)
        sizes.items.push_back(
            size_node(all.sizes[i], replay::word_of(static_cast<replay::Size>(i))));
    const replay::ForecastFigures& eta = all.forecast;
    Value told = make_sequence();
    for (const replay::ToldFigures& one : eta.told)
        told.items.push_back(make_mapping({{"waited", make_number(one.waited, 2)},
                                           {"error_median", make_number(one.error_median)},
                                           {"within_p90", make_number(one.within_p90)}}));
    return make_mapping(
        {{"policy", outcome.policy},
         {"sizes", sizes},
         {"utilisation", make_number(all.utilisation)},
         {"makespan_s", make_number(all.makespan, 1)},
         {"preemptions", all.preemptions},
         {"never_fit", all.unfinished},
         {"eta",
          make_mapping({{"asked", eta.asked},
                        {"waited", eta.waited},
                        {"error_median", make_number(eta.told[0].error_median)},
                        {"error_median_with_others", make_number(eta.error_median_with_others)},
                        {"within_p90", make_number(eta.told[0].within_p90)},
                        {"told", std::move(told)}})}});
}

}  // namespace aliquot::cli
