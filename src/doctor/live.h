// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "doctor/tree.h"

namespace aliquot::doctor {

struct LiveOptions {
    std::string program;     // this program's file: it is started again to ask NVML
    std::string root = "/";  // of the host; a simulated node's directory
    bool host = true;        // files and commands of this machine
    bool cluster = true;     // kubectl, when it and a kubeconfig are there
    std::string kubeconfig;  // empty: as kubectl finds it
    std::chrono::milliseconds nvml_deadline{10000};
    std::chrono::milliseconds command_deadline{5000};
};

/// Looks at this machine, and at the cluster through `kubectl get -o json`. Changes nothing, needs
/// no root, ends in time: what does not answer is noted as such. No shell is involved.
/// errors   kUnavailable: no temporary directory
Result<Tree> gather_live(const LiveOptions& options);

/// What the started program says to standard output: NVML's answers as JSON (docs/internals/bundle.md).
std::string answer_nvml_question(const std::string& driver_root);

/// Which kubeconfig kubectl would use; empty: none.
std::string find_kubeconfig(const std::string& wanted);

}  // namespace aliquot::doctor
