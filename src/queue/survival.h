// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "queue/run_times.h"

namespace aliquot::queue {

/// How long runs take, by those that have ended and by those that still run and have lasted so long already: who looks at
/// ended runs alone sees the short ones first. Of one moment: made anew for each forecast.
/// source   Kaplan, Meier: Nonparametric Estimation from Incomplete Observations (1958)
class Survival {
public:
    explicit Survival(const RunTimes& times) : times_(times) {}

    /// A job that has run for `elapsed` and runs on. Before the first question.
    void add_running(RunTimes::Key key, Time elapsed);
    /// The run time in all, of a job that has run for `elapsed`, that `place` of such runs (0..1) do not exceed;
    /// nullopt: nothing known.
    std::optional<Time> at(RunTimes::Key key, Time elapsed, double place);
    std::optional<Time> mean(RunTimes::Key key, Time elapsed);

private:
    struct Curve {
        std::vector<Time> ends;    // at which runs ended, in order
        std::vector<double> left;  // part that lasts longer than that
        Time longest = 0;          // that was seen, ended or not
        std::optional<Time> mean;  // of elapsed 0
    };
    Curve& curve(RunTimes::Key key);

    const RunTimes& times_;
    std::unordered_map<RunTimes::Key, std::vector<Time>> running_;
    std::unordered_map<RunTimes::Key, Curve> curves_;
};

}  // namespace aliquot::queue
