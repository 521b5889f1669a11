// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/outcome_text.h"

#include <algorithm>
#include <ostream>
#include <vector>

#include "base/json_text.h"
#include "base/number.h"

namespace aliquot::sim::trace {
namespace {

double percent(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string gpus(std::int64_t milli) {
    return decimal_text(static_cast<double>(milli) / 1000.0, 2);
}

std::string map_json(const Outcome& outcome, bool fragmentation) {
    std::string json = "{";
    for (const auto& [load, point] : outcome.at) {
        if (json.size() > 1) json += ',';
        json += '"' + std::to_string(load) + "\":";
        if (!point || (fragmentation && !point->fragmentation)) {
            json += "null";
        } else {
            json += decimal_text(fragmentation ? *point->fragmentation : point->allocation, 2);
        }
    }
    return json + '}';
}

using Row = std::vector<std::string>;

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
    std::string json = "{\"policy\":" + json_quoted(placement::to_text(outcome.policy));
    json += ",\"arrivals\":" + std::to_string(outcome.arrivals);
    json += ",\"placed\":" + std::to_string(outcome.placed);
    json += ",\"allocation_percent\":" + map_json(outcome, false);
    json += ",\"fragmentation_percent\":" + map_json(outcome, true);
    if (outcome.waited) json += ",\"waited\":" + std::to_string(*outcome.waited);
    if (outcome.migrations) json += ",\"migrations\":" + std::to_string(*outcome.migrations);
    if (outcome.waited || outcome.migrations) {
        json += ",\"placed_late\":" + std::to_string(outcome.placed_late);
    }
    if (outcome.migrations) {
        json += ",\"gpus_gained\":" + gpus(outcome.gained_milli);
    }
    if (outcome.departed) {
        json += ",\"departed\":" + std::to_string(*outcome.departed);
        json += ",\"peak_allocation_percent\":" +
                decimal_text(percent(outcome.peak_milli, outcome.capacity_milli), 2);
    }
    return json + ",\"seconds\":" + decimal_text(outcome.seconds, 6) + '}';
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
    std::vector<std::size_t> widths(rows.front().size());
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string room(widths[i] - row[i].size(), ' ');
            line += i == 0 ? row[i] + room : "  " + room + row[i];
        }
        out << line << '\n';
    }
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
