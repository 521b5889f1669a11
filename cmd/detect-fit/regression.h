// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace aliquot::fit {

/// Texts as rows of distinct features; each row is scaled to length one, but for whole features.
struct Samples {
    std::vector<std::vector<std::uint32_t>> rows;  // feature numbers below `features`
    std::size_t features = 0;
    std::vector<bool> whole;        // by feature: counts 1 in a row of any length
    std::vector<double> penalties;  // by feature: of a unit of its squared weight, above 0
};

struct Weights {
    std::vector<double> of;  // by feature
    double bias = 0;
};

/// Logistic regression with a quadratic penalty on each weight (not on the bias), by L-BFGS from zero:
/// the same samples give the same weights.
///
/// wanted   by row; true: the answer is yes
/// used     by row; false: the row is left out
/// cost     of one error against a unit of squared weight, above 0
Weights fit(const Samples& samples, const std::vector<bool>& wanted, const std::vector<bool>& used,
            double cost);

double score(const Samples& samples, const Weights& weights, const std::vector<std::uint32_t>& row);

/// The factor that turns scores into log-odds that are best calibrated: the most likely one.
double slope_of(const std::vector<double>& scores, const std::vector<bool>& wanted);

}  // namespace aliquot::fit
