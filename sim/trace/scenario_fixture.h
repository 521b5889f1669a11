// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sim/trace/replay.h"

/// Scenarios for tests, from texts.
namespace aliquot::sim::trace {

inline Result<Scenario> scenario_of(std::string_view nodes, std::string_view pods,
                                    std::string_view order) {
    Scenario scenario;
    auto node_list = read_node_list("nodes.csv", nodes);
    if (!node_list) return std::move(node_list).error();
    scenario.nodes = *std::move(node_list);
    auto task_list = read_task_list("pods.csv", pods, &scenario.nodes);
    if (!task_list) return std::move(task_list).error();
    scenario.tasks = *std::move(task_list);
    auto read =
        read_order("order.csv", order, scenario.nodes.nodes.size(), scenario.tasks.tasks.size());
    if (!read) return std::move(read).error();
    scenario.order = *std::move(read);
    scenario.workload = placement::typical_types(workload_of(scenario.tasks));
    return scenario;
}

}  // namespace aliquot::sim::trace
