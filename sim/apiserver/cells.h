// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

/// The cells of a row behind the name.
using Cells = std::vector<Value>;

// What cells are made of.
std::string age(const Value& object);
std::string or_none(const std::string& content);   // "<none>" for nothing
std::string spell(const Value& value);             // a text without quotes
std::string selector_text(const Value& selector);  // "app=web"
std::string label_text(const Value& labels);

// Pods, nodes, and what makes pods.
Cells pod_cells(const Value& pod);
Cells node_cells(const Value& node);
Cells deployment_cells(const Value& one);
Cells daemon_set_cells(const Value& one);
Cells stateful_set_cells(const Value& one);
Cells replica_set_cells(const Value& one);
Cells job_cells(const Value& job);
Cells cron_job_cells(const Value& one);

}  // namespace aliquot::sim::apiserver
