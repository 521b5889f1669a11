// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/outcome_text.h"

#include <ostream>
#include <vector>

#include "base/columns.h"
#include "base/number.h"
#include "document/json.h"

namespace aliquot::sim::trace {
namespace {

using document::make_mapping;
using document::make_number;
using document::only_if;
using document::Value;

double percent(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string gpus(std::int64_t milli) {
    return decimal_text(static_cast<double>(milli) / 1000.0, 2);
}

Value map_node(const Outcome& outcome, bool fragmentation) {
    Value node = make_mapping();
    for (const auto& [load, point] : outcome.at) {
        const bool known = point && (!fragmentation || point->fragmentation);
        append(node, std::to_string(load),
               known ? make_number(fragmentation ? *point->fragmentation : point->allocation, 2)
                     : Value{});
    }
    return node;
}

Row header_row(const Outcome& first) {
    Row row{"policy"};
    for (const auto& [load, point] : first.at) {
        row.push_back("allocated@" + std::to_string(load) + '%');
        row.push_back("fragmented@" + std::to_string(load) + '%');
    }
    row.insert(row.end(), {"placed", "idle GPUs", "seconds"});
    if (first.waited) row.emplace_back("waited");
    if (first.migrations) row.emplace_back("moves");
    if (first.waited || first.migrations) row.emplace_back("placed late");
    if (first.migrations) row.emplace_back("GPUs gained");
    if (first.departed) row.insert(row.end(), {"ended", "peak"});
    return row;
}

Row value_row(const Outcome& outcome) {
    Row row{std::string(placement::to_text(outcome.policy))};
    for (const auto& [load, point] : outcome.at) {
        row.push_back(point ? fixed_text(point->allocation, 2) + " %" : "no arrival");
        row.push_back(point && point->fragmentation ? fixed_text(*point->fragmentation, 2) + " %"
                                                    : "-");
    }
    row.push_back(std::to_string(outcome.placed));
    row.push_back(fixed_text(static_cast<double>(outcome.free_milli) / 1000.0, 2));
    row.push_back(fixed_text(outcome.seconds, 3));
    if (outcome.waited) row.push_back(std::to_string(*outcome.waited));
    if (outcome.migrations) row.push_back(std::to_string(*outcome.migrations));
    if (outcome.waited || outcome.migrations) row.push_back(std::to_string(outcome.placed_late));
    if (outcome.migrations) {
        row.push_back(fixed_text(static_cast<double>(outcome.gained_milli) / 1000.0, 2));
    }
    if (outcome.departed) {
        row.push_back(std::to_string(*outcome.departed));
        row.push_back(fixed_text(percent(outcome.peak_milli, outcome.capacity_milli), 2) + " %");
    }
    return row;
}

}  // namespace

std::string outcome_json(const Outcome& outcome) {
    const auto count = [](const auto& number) {
        return only_if(number.has_value(), number.value_or(0));
    };
    const double gained = static_cast<double>(outcome.gained_milli) / 1000.0;
    const double peak = percent(outcome.peak_milli, outcome.capacity_milli);
    return document::to_json_line(make_mapping(
        {{"policy", placement::to_text(outcome.policy)},
         {"arrivals", outcome.arrivals},
         {"placed", outcome.placed},
         {"allocation_percent", map_node(outcome, false)},
         {"fragmentation_percent", map_node(outcome, true)},
         {"waited", count(outcome.waited)},
         {"migrations", count(outcome.migrations)},
         {"placed_late", only_if(outcome.waited || outcome.migrations, outcome.placed_late)},
         {"gpus_gained", only_if(outcome.migrations.has_value(), make_number(gained, 2))},
         {"departed", count(outcome.departed)},
         {"peak_allocation_percent", only_if(outcome.departed.has_value(), make_number(peak, 2))},
         {"seconds", make_number(outcome.seconds, 6)}}));
}

std::string outcomes_json(std::span<const Outcome> outcomes) {
    if (outcomes.size() == 1) return outcome_json(outcomes.front());
    std::string json = "{\"runs\":[";
    for (const Outcome& outcome : outcomes) {
        if (json.back() != '[') json += ",\n ";
        json += outcome_json(outcome);
    }
    return json + "]}";
}

void print_outcomes(std::ostream& out, const Scenario& scenario,
                    std::span<const Outcome> outcomes) {
    if (outcomes.empty()) return;
    const Outcome& first = outcomes.front();
    out << scenario.nodes.nodes.size() << " nodes with " << gpus(first.capacity_milli) << " GPUs, "
        << first.arrivals << " arrivals";
    if (!first.departed) {
        out << " that ask for " << fixed_text(percent(first.arrived_milli, first.capacity_milli), 1)
            << " % of them";
    }
    out << "\n\n";
    std::vector<Row> rows{header_row(first)};
    for (const Outcome& outcome : outcomes) rows.push_back(value_row(outcome));
    out << in_columns(rows, {.right = true});
}

void print_curve(std::ostream& out, std::span<const Outcome> outcomes) {
    out << "policy,load_percent,allocation_percent,fragmentation_percent\n";
    for (const Outcome& outcome : outcomes) {
        for (const LoadCurve::Point& point : outcome.curve) {
            out << placement::to_text(outcome.policy) << ',' << point.load << ','
                << fixed_text(point.allocation, 2) << ',';
            if (point.fragmentation) out << fixed_text(*point.fragmentation, 2);
            out << '\n';
        }
    }
}

}  // namespace aliquot::sim::trace
