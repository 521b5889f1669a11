// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "bundle/tree.h"

namespace aliquot::doctor {

struct LiveOptions {
    std::string program;     // this program's file: it is started again to ask NVML
    std::string root = "/";  // of the host; a simulated node's directory
    bool host = true;        // files and commands of this machine
    std::chrono::milliseconds nvml_deadline{10000};
    std::chrono::milliseconds command_deadline{5000};
};

/// Looks at this machine. Changes nothing, needs no root, ends in time: what does not answer is
/// noted as such. No shell is involved. The cluster: doctor/cluster_api.h.
/// errors   kUnavailable: no temporary directory
Result<bundle::Tree> gather_live(const LiveOptions& options);

/// What the started program says to standard output: NVML's answers as JSON (docs/internals/bundle.md).
std::string answer_nvml_question(const std::string& driver_root);

/// Whether there is a cluster to speak to: a kubeconfig ($KUBECONFIG, ~/.kube/config) or a pod's
/// service account.
bool knows_a_cluster();

}  // namespace aliquot::doctor
