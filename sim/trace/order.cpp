// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/order.h"

#include <algorithm>

#include "base/number.h"
#include "sim/trace/csv.h"

namespace aliquot::sim::trace {
namespace {

constexpr CsvLimits kOrderLimits{.line_bytes = 1U << 10U, .columns = 4, .rows = 20'000'000};
constexpr std::uint32_t kUnset = 0xFFFF'FFFF;

class OrderReader {
public:
    OrderReader(std::string name, std::string_view text, std::size_t nodes, std::size_t tasks)
        : csv_(std::move(name), text, kOrderLimits), nodes_(nodes), tasks_(tasks) {}

    Result<Order> read() {
        while (true) {
            auto row = csv_.next();
            if (!row) return std::move(row).error();
            if (!*row) break;
            auto done = read_row();
            if (!done) return std::move(done).error();
        }
        if (order_.arrivals.empty()) {
            return csv_.wrong(1, "no arrival: a line P,row for each arrival was expected");
        }
        const auto unset = std::find(order_.ranks.begin(), order_.ranks.end(), kUnset);
        if (unset != order_.ranks.end()) {
            return csv_.wrong(1, "node row " + std::to_string(unset - order_.ranks.begin()) +
                                     " has no rank: a line N,row,rank for each of the " +
                                     std::to_string(nodes_) + " nodes was expected, or for none");
        }
        return std::move(order_);
    }

private:
    Result<std::uint32_t> number(std::size_t field, const char* what, std::size_t count,
                                 const char* of_what) const {
        const CsvField found = csv_.fields()[field];
        const auto value = parse_number<std::uint32_t>(found.text);
        if (value && *value < count) return *value;
        return csv_.wrong(found.column, std::string(what) + ' ' + shown(found.text) +
                                            ": a whole number from 0 to " +
                                            std::to_string(count - 1) + " was expected; " +
                                            of_what + " " + std::to_string(count));
    }

    Result<Done> read_row() {
        const auto fields = csv_.fields();
        const std::string_view kind = fields[0].text;
        const std::size_t width = kind == "N" ? 3 : 2;
        if (kind != "N" && kind != "P") {
            return csv_.wrong(fields[0].column, shown(kind) + ": N,row,rank or P,row was expected");
        }
        if (fields.size() != width) {
            return csv_.wrong(fields.back().column, std::to_string(fields.size()) + " fields: " +
                                                        (kind == "N" ? "N,row,rank" : "P,row") +
                                                        " was expected");
        }
        if (kind == "P") {
            auto row = number(1, "task row", tasks_, "rows count from 0, and the task list has");
            if (!row) return std::move(row).error();
            order_.arrivals.push_back(*row);
            return Done{};
        }
        auto row = number(1, "node row", nodes_, "rows count from 0, and the node list has");
        if (!row) return std::move(row).error();
        auto rank = number(2, "rank", nodes_, "ranks count from 0, and the node list has");
        if (!rank) return std::move(rank).error();
        if (order_.ranks.empty()) {
            order_.ranks.assign(nodes_, kUnset);
            taken_.assign(nodes_, kUnset);
        }
        if (order_.ranks[*row] != kUnset) {
            return csv_.wrong(fields[1].column,
                              "node row " + std::to_string(*row) + " has the rank " +
                                  std::to_string(order_.ranks[*row]) +
                                  " already: one line for each node was expected");
        }
        if (taken_[*rank] != kUnset) {
            return csv_.wrong(fields[2].column, "rank " + std::to_string(*rank) +
                                                    " belongs to node row " +
                                                    std::to_string(taken_[*rank]) +
                                                    " already: each rank was expected once");
        }
        order_.ranks[*row] = *rank;
        taken_[*rank] = *row;
        return Done{};
    }

    CsvReader csv_;
    std::size_t nodes_;
    std::size_t tasks_;
    Order order_;
    std::vector<std::uint32_t> taken_;  // by rank: the node row that has it
};

}  // namespace

Result<Order> read_order(std::string name, std::string_view text, std::size_t nodes,
                         std::size_t tasks) {
    return OrderReader(std::move(name), text, nodes, tasks).read();
}

void cut_arrivals(Order& order, const TaskList& tasks, std::int64_t capacity_milli,
                  double inflate) {
    // Products of decimals: a tiny part more, so that 1.3 * 1000 is not below 1300.
    const double most = static_cast<double>(capacity_milli) * inflate * (1 + 1e-12);
    std::int64_t arrived = 0;
    for (std::size_t i = 0; i < order.arrivals.size(); ++i) {
        if (static_cast<double>(arrived) > most) {
            order.arrivals.resize(i);
            return;
        }
        arrived += tasks.tasks[order.arrivals[i]].gpu_milli();
    }
}

}  // namespace aliquot::sim::trace
