// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/files/plan_undo.h"
#include "plan/plan.h"

namespace aliquot::cli {

/// The words of `aliquot plan`.
struct PlanOptions {
    std::vector<std::string> gpus;
    std::vector<std::string> node_types;
    std::string nodes_file;
    std::string workloads_file;
    std::vector<std::string> manifests;
    std::string model;
    std::string train;  // full, lora, qlora; empty: inference
    std::string quant;  // empty: as sizing::usual_dtype
    double context = 0;
    double batch = 1;
    unsigned services = 0;
    std::string guard = "on";
    bool no_reboot = false;
    double usd_per_kwh = 0;
    std::string what_if;
    std::string write;
    UndoOptions undo;
    std::string format = "text";
    std::string svg;
};

/// Reads everything that the words name.
/// errors   those of the readers; kInvalidInput: words that contradict each other
Result<plan::Request> gather_request(const PlanOptions& words);

/// "add=3xwhisper": the same request with that many more.
Result<plan::Request> changed_request(const plan::Request& request, const std::string& change);

}  // namespace aliquot::cli
