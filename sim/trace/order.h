// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/trace/node_list.h"
#include "sim/trace/task_list.h"

namespace aliquot::sim::trace {

/// In which order tasks arrive, and which of two equally good nodes comes first.
struct Order {
    std::vector<std::uint32_t> ranks;     // of each node row; empty: rows in file order
    std::vector<std::uint32_t> arrivals;  // task rows; one may come again and again
};

/// Reads an order file: lines "N,row,rank" and "P,row", rows from 0 in file order of the lists.
///
/// name     of the file, for messages
/// errors   kInvalidInput with the place: another letter, a row that the list does not have, a node
///          row or a rank twice, ranks for some nodes but not for all, no arrival
Result<Order> read_order(std::string name, std::string_view text, std::size_t nodes,
                         std::size_t tasks);

/// The arrivals up to the first that finds more than inflate * capacity arrived already.
void cut_arrivals(Order& order, const TaskList& tasks, std::int64_t capacity_milli, double inflate);

}  // namespace aliquot::sim::trace
