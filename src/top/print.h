// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "top/layout.h"
#include "top/view.h"

namespace aliquot::top {

/// The whole of it for a file, a pipe or a terminal that is not taken over: a line of sums, the
/// table, and a line for each thing that makes it less than the truth.
/// width   of the terminal; 0: no limit
std::string print_once(const ClusterSnapshot& cluster, const View& view, bool wide,
                       std::size_t width, const Style& style);

/// Comma-separated values (RFC 4180 but for line feeds alone): a line of field names, then rows.
/// Numbers are in the units that the names say; what is not known is empty.
std::string print_csv(const ClusterSnapshot& cluster, const View& view);

/// "3 nodes (1 silent)  16 GPUs 63% busy  mem 412/1273Gi  5.1kW  slots 61/64  cost 38.4/h".
/// width   what does not fit is left out from the end; 0: no limit
Line sums_line(const ClusterSnapshot& cluster, std::size_t width);
/// A line for each agent that does not answer and each reason for doubt. Empty: all is well.
std::vector<Line> doubts(const ClusterSnapshot& cluster);

}  // namespace aliquot::top
