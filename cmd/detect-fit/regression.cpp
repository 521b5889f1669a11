// SPDX-License-Identifier: Apache-2.0
#include "regression.h"

#include <cmath>
#include <cstddef>
#include <deque>

namespace aliquot::fit {
namespace {

constexpr std::size_t kMemory = 10;  // steps that L-BFGS remembers
constexpr unsigned kMostSteps = 400;
constexpr double kSmallGradient = 1e-4;  // of its length at the beginning

using Vector = std::vector<double>;

double dot(const Vector& one, const Vector& other) {
    double sum = 0;
    for (std::size_t i = 0; i < one.size(); ++i) sum += one[i] * other[i];
    return sum;
}

void add(Vector& to, double factor, const Vector& what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * what[i];
}

/// log(1 + e^x) without overflow.
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

/// The loss at `at` (weights, then the bias), and its gradient.
double loss(const Samples& samples, const std::vector<bool>& wanted, const std::vector<bool>& used,
            double cost, const Vector& at, Vector& gradient) {
    const std::size_t bias = samples.features;
    double sum = 0;
    for (std::size_t i = 0; i < bias; ++i) {
        sum += 0.5 * samples.penalties[i] * at[i] * at[i];
        gradient[i] = samples.penalties[i] * at[i];
    }
    gradient[bias] = 0;
    for (std::size_t r = 0; r < samples.rows.size(); ++r) {
        const auto& row = samples.rows[r];
        if (!used[r] || row.empty()) continue;
        const double scale = 1 / std::sqrt(static_cast<double>(row.size()));
        double value = at[bias];
        const auto part = [&](std::uint32_t feature) { return samples.whole[feature] ? 1 : scale; };
        for (const std::uint32_t feature : row) value += at[feature] * part(feature);
        sum += cost * softplus(wanted[r] ? -value : value);
        const double slope = cost * (1 / (1 + std::exp(-value)) - (wanted[r] ? 1 : 0));
        for (const std::uint32_t feature : row) gradient[feature] += slope * part(feature);
        gradient[bias] += slope;
    }
    return sum;
}

struct Step {
    Vector moved;
    Vector turned;  // the change of the gradient
    double product = 0;
};

/// The direction to go: two loops over the remembered steps.
Vector direction(const std::deque<Step>& steps, const Vector& gradient) {
    Vector to = gradient;
    Vector alphas(steps.size());
    for (std::size_t i = steps.size(); i-- > 0;) {
        alphas[i] = dot(steps[i].moved, to) / steps[i].product;
        add(to, -alphas[i], steps[i].turned);
    }
    if (!steps.empty()) {
        const Step& last = steps.back();
        const double scale = last.product / dot(last.turned, last.turned);
        for (double& one : to) one *= scale;
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const double beta = dot(steps[i].turned, to) / steps[i].product;
        add(to, alphas[i] - beta, steps[i].moved);
    }
    for (double& one : to) one = -one;
    return to;
}

}  // namespace

Weights fit(const Samples& samples, const std::vector<bool>& wanted, const std::vector<bool>& used,
            double cost) {
    Vector at(samples.features + 1);
    Vector gradient(at.size());
    Vector next_gradient(at.size());
    double value = loss(samples, wanted, used, cost, at, gradient);
    const double enough = kSmallGradient * std::sqrt(dot(gradient, gradient));
    std::deque<Step> steps;
    for (unsigned n = 0; n < kMostSteps && std::sqrt(dot(gradient, gradient)) > enough; ++n) {
        const Vector to = direction(steps, gradient);
        const double fall = dot(gradient, to);
        double length = steps.empty() ? 1 / std::sqrt(dot(gradient, gradient)) : 1;
        Vector next;
        double next_value = 0;
        bool down = false;
        for (unsigned k = 0; k < 30 && !down; ++k, length /= 2) {
            next = at;
            add(next, length, to);
            next_value = loss(samples, wanted, used, cost, next, next_gradient);
            down = next_value <= value + 1e-4 * length * fall;
        }
        if (!down) break;
        Step step{next, next_gradient, 0};
        add(step.moved, -1, at);
        add(step.turned, -1, gradient);
        step.product = dot(step.moved, step.turned);
        if (step.product > 0) steps.push_back(std::move(step));
        if (steps.size() > kMemory) steps.pop_front();
        at = std::move(next);
        gradient = next_gradient;
        value = next_value;
    }
    Weights weights;
    weights.bias = at.back();
    at.pop_back();
    weights.of = std::move(at);
    return weights;
}

double score(const Samples& samples, const Weights& weights,
             const std::vector<std::uint32_t>& row) {
    double sum = weights.bias;
    const double scale = row.empty() ? 0 : 1 / std::sqrt(static_cast<double>(row.size()));
    for (const std::uint32_t feature : row) {
        sum += weights.of[feature] * (samples.whole[feature] ? 1 : scale);
    }
    return sum;
}

double slope_of(const std::vector<double>& scores, const std::vector<bool>& wanted) {
    double best = 1;
    double least = 1e300;
    for (double slope = 0.1; slope < 4; slope *= 1.03) {
        double sum = 0;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            sum += softplus(wanted[i] ? -slope * scores[i] : slope * scores[i]);
        }
        if (sum < least) {
            least = sum;
            best = slope;
        }
    }
    return best;
}

}  // namespace aliquot::fit
