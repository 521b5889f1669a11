// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/churn_text.h"

#include <ostream>

#include "base/columns.h"
#include "base/number.h"
#include "base/text.h"
#include "document/json.h"

namespace aliquot::sim::trace {
namespace {

using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::only_if;
using document::Value;

constexpr std::size_t kMostTasks = 20'000'000;
constexpr double kMostLoad = 100;

Error expected(std::string_view word, std::string_view what) {
    return {ErrorCode::kInvalidInput,
            "'" + std::string(word) + "': " + std::string(what) + " was expected"};
}

std::string percent_of(std::int64_t part, std::int64_t whole) {
    if (whole == 0) return "-";
    return fixed_text(100.0 * static_cast<double>(part) / static_cast<double>(whole), 2) + " %";
}

std::string percent_text(double share) { return fixed_text(100 * share, 2) + " %"; }

/// Sizes that no task of any outcome has are left out.
bool is_used(std::span<const ChurnOutcome> outcomes, std::size_t size) {
    for (const ChurnOutcome& outcome : outcomes)
        if (outcome.sizes.at(size).tasks > 0) return true;
    return false;
}

Value size_value(const SizeOutcome& size, bool wait) {
    return make_mapping({{"tasks", size.tasks},
                         {"refused", only_if(!wait, size.refused)},
                         {"unplaced", only_if(wait, size.unplaced)},
                         {"mean_wait", only_if(wait, make_number(size.mean_wait, 4))},
                         {"p50_wait", only_if(wait, make_number(size.p50_wait, 4))},
                         {"p99_wait", only_if(wait, make_number(size.p99_wait, 4))}});
}

Value churn_value(const ChurnOptions& options, const ChurnOutcome& outcome) {
    Value sizes = make_mapping();
    for (std::size_t i = 0; i < kTaskSizes; ++i) {
        if (outcome.sizes.at(i).tasks == 0) continue;
        append(sizes, std::string(to_text(static_cast<TaskSize>(i))),
               size_value(outcome.sizes.at(i), options.wait));
    }
    const double rate =
        outcome.seconds > 0 ? static_cast<double>(options.tasks) / outcome.seconds : 0;
    return make_mapping({{"policy", placement::to_text(outcome.policy)},
                         {"offered_percent", make_number(100 * outcome.offered, 2)},
                         {"carried_percent", make_number(100 * outcome.carried, 2)},
                         {"sizes", std::move(sizes)},
                         {"free_nodes_percent", make_number(100 * outcome.free_nodes, 2)},
                         {"fragmentation_percent", make_number(100 * outcome.fragmentation, 2)},
                         {"decisions_per_second", make_number(rate, 0)},
                         {"worst_step_ms", make_number(outcome.worst_step_ms, 3)}});
}

}  // namespace

Result<ChurnOptions> parse_churn(std::string_view text) {
    ChurnOptions options;
    for (const std::string_view word : split(text, ',')) {
        const auto equals = word.find('=');
        const auto key = word.substr(0, equals);
        const auto value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
        if (key == "load") {
            const auto load = parse_decimal(value);
            if (!load || *load < 0.01 || *load > kMostLoad)
                return expected(word,
                                "a share of the GPU compute from 0.01 to 100, such as load=0.85");
            options.load = *load;
        } else if (key == "lifetime") {
            if (value != "exp" && value != "trace")
                return expected(word, "lifetime=exp or lifetime=trace");
            options.lifetime = value == "exp" ? Lifetime::kExponential : Lifetime::kTrace;
        } else if (key == "tasks") {
            const auto tasks = parse_number<std::size_t>(value);
            if (!tasks || *tasks == 0 || *tasks > kMostTasks)
                return expected(word, "a number of tasks from 1 to 20000000, such as tasks=60000");
            options.tasks = *tasks;
        } else if (key == "seed") {
            const auto seed = parse_number<std::uint64_t>(value);
            if (!seed) return expected(word, "a whole number, such as seed=1");
            options.seed = *seed;
        } else {
            return expected(word, "load, lifetime, tasks or seed, such as load=0.85,tasks=60000");
        }
    }
    return options;
}

void print_churn(std::ostream& out, const ChurnOptions& options,
                 std::span<const ChurnOutcome> outcomes) {
    out << options.tasks << " tasks that ask for " << fixed_text(100 * options.load, 1)
        << " % of the GPUs, "
        << (options.lifetime == Lifetime::kTrace ? "lifetimes of the trace"
                                                 : "exponential lifetimes")
        << ", seed " << options.seed << "\n\n";
    std::vector<Row> rows{{"policy", "offered", "carried"}};
    for (std::size_t i = 0; i < kTaskSizes; ++i) {
        if (!is_used(outcomes, i)) continue;
        const std::string size(to_text(static_cast<TaskSize>(i)));
        rows[0].push_back((options.wait ? "p99 wait " : "refused ") + size);
    }
    rows[0].insert(rows[0].end(), {"free nodes", "fragmented", "decisions/s", "worst step"});
    for (const ChurnOutcome& outcome : outcomes) {
        Row row{std::string(placement::to_text(outcome.policy)), percent_text(outcome.offered),
                percent_text(outcome.carried)};
        for (std::size_t i = 0; i < kTaskSizes; ++i) {
            if (!is_used(outcomes, i)) continue;
            const SizeOutcome& size = outcome.sizes.at(i);
            row.push_back(options.wait ? fixed_text(size.p99_wait, 3)
                                       : percent_of(size.refused, size.tasks));
        }
        const double rate =
            outcome.seconds > 0 ? static_cast<double>(options.tasks) / outcome.seconds : 0;
        row.insert(row.end(),
                   {percent_text(outcome.free_nodes), percent_text(outcome.fragmentation),
                    fixed_text(rate, 0), fixed_text(outcome.worst_step_ms, 2) + " ms"});
        rows.push_back(std::move(row));
    }
    out << in_columns(rows, {.right = true});
    if (options.wait) out << "\nwaits in mean lifetimes of a task\n";
}

std::string churn_json(const ChurnOptions& options, std::span<const ChurnOutcome> outcomes) {
    if (outcomes.size() == 1) return document::to_json_line(churn_value(options, outcomes.front()));
    const auto run = [&](const ChurnOutcome& outcome) { return churn_value(options, outcome); };
    return document::to_json_line(make_mapping({{"runs", make_sequence(outcomes, run)}}));
}

void print_curve(std::ostream& out, std::span<const ChurnOutcome> outcomes) {
    out << "policy,time,allocated_percent,free_nodes_percent\n";
    for (const ChurnOutcome& outcome : outcomes) {
        for (const ChurnPoint& point : outcome.curve) {
            out << placement::to_text(outcome.policy) << ',' << decimal_text(point.time, 4) << ','
                << decimal_text(100 * point.allocated, 3) << ','
                << decimal_text(100 * point.free_nodes, 3) << '\n';
        }
    }
}

}  // namespace aliquot::sim::trace
