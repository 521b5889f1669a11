// SPDX-License-Identifier: Apache-2.0
#include "page/cost_tables.h"

#include <algorithm>
#include <system_error>

#include "cost_store/question.h"

namespace aliquot::page {
namespace {

/// Amounts are never below 0; what is would be a fault of the report and shows as 0.
std::uint64_t amount(std::int64_t value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
}

std::int64_t sum_of(const std::array<std::int64_t, cost::kStates>& values) {
    std::int64_t sum = 0;
    for (const std::int64_t value : values) sum += value;
    return sum;
}

struct Amounts {
    std::int64_t total = 0;
    std::int64_t idle = 0;
    std::int64_t gpu_ms = 0;

    void add(const cost::Line& line) {
        total += line.sums.total();
        idle += line.sums.idle();
        gpu_ms += sum_of(line.sums.gpu_ms);
    }
};

Row cost_row(const std::string& key, const std::string& kind, const Amounts& of,
             const std::string& currency) {
    return RowWriter(kind + "/" + key)
        .text(key)
        .text(kind)
        .number(amount(of.total))
        .number(amount(of.idle))
        .number(amount(of.gpu_ms / 1'000))
        .text(currency)
        .done();
}

}  // namespace

std::vector<Table> cost_tables(const cost::Report& report, const std::string& currency) {
    Table costs{.name = "costs",
                .columns = {"id", "owner", "kind", "total", "idle", "gpuSeconds", "currency"},
                .rows = {}};
    Amounts others;
    std::size_t left_out = 0;
    for (const cost::Line& line : report.lines) {
        Amounts amounts;
        amounts.add(line);
        if (line.nobody) {
            // What nobody had, by why: free, warming, draining, broken.
            for (std::size_t i = 0; i < cost::kStates; ++i) {
                const auto state = static_cast<cost::State>(i);
                if (line.sums.of(state) == 0) continue;
                costs.rows.push_back(cost_row(
                    line.key.empty() ? std::string(cost::word(state))
                                     : line.key + " " + std::string(cost::word(state)),
                    "nobody", {.total = line.sums.of(state), .gpu_ms = line.sums.gpu_ms[i]},
                    currency));
            }
        } else if (costs.rows.size() < kMostCostLines) {
            costs.rows.push_back(
                cost_row(line.key.empty() ? "not known" : line.key, "owner", amounts, currency));
        } else {
            others.add(line);
            ++left_out;
        }
    }
    if (left_out > 0) {
        costs.rows.push_back(
            cost_row(std::to_string(left_out) + " others", "rest", others, currency));
    }
    Table steps{.name = "costSteps", .columns = {"begin", "owners", "idle", "nobody"}, .rows = {}};
    for (const cost::Step& step : report.steps) {
        steps.rows.push_back(RowWriter(std::to_string(step.begin))
                                 .number(amount(step.owners))
                                 .number(amount(step.idle))
                                 .number(amount(step.nobody))
                                 .done());
    }
    return {std::move(costs), std::move(steps)};
}

void CostLook::add_to(Sight& sight, Steady now) {
    if (const auto heard = report_.hear(now)) {
        problem_ = *heard ? std::string() : heard->error().message;
        if (*heard) tables_ = cost_tables(**heard, currency_);
    }
    if (!problem_.empty()) sight.remarks.push_back({"warning", "costs", problem_, ""});
    sight.more.insert(sight.more.end(), tables_.begin(), tables_.end());
}

CostLook look_at(cost_store::Accounts* accounts, cost::By by) {
    if (accounts == nullptr) return {{}, {}};
    return {[accounts, by]() -> Result<cost::Report> {
                auto question = cost_store::question_of(cost::word(by), "7d", "", accounts->now());
                if (!question) return std::move(question).error();
                question->with_savings = false;
                return accounts->report(*question);
            },
            accounts->prices().currency};
}

}  // namespace aliquot::page
