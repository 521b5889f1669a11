// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "placement/node_table.h"
#include "placement/workload.h"

namespace aliquot::placement {

/// A type of the target workload with its names turned into numbers.
struct TypicalShape {
    Shape shape;
    double popularity = 0;
};

std::vector<TypicalShape> typical_shapes(const NodeTable& node_table,
                                         std::span<const TaskType> types);

/// Free compute of one device in milli; in MIG mode by its share of free slices.
double free_on(const Node& node, unsigned device);

/// Milli GPU of this node that the target workload is not expected to be able to use (F_n of the FGD
/// paper, ATC'23, section 4). The sums run in the published order, so that they agree to the last bit.
double fragmented(const Node& node, std::span<const TypicalShape> types);

/// The same over all nodes, from nothing.
double fragmented(const NodeTable& node_table, std::span<const TaskType> types);

}  // namespace aliquot::placement
