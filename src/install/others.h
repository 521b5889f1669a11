// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kube_client/api.h"

namespace aliquot::install {

/// Something else in the cluster that offers GPUs to kubelet.
struct OtherPlugin {
    std::string title;   // "DaemonSet kube-system/nvidia-device-plugin-daemonset"
    std::string what;    // "NVIDIA's device plugin"
    std::string advice;  // what to do; names the page of the guide
    friend bool operator==(const OtherPlugin&, const OtherPlugin&) = default;
};

/// Which of these DaemonSets (JSON texts) are another device plugin for NVIDIA's GPUs: told by
/// names and images. One that is on no node (as a "mps-control-daemon" without label) does not count.
std::vector<OtherPlugin> others_among(const std::vector<kube_client::Object>& daemon_sets);

/// Asks the cluster.
kube_client::Outcome<std::vector<OtherPlugin>> find_others(kube_client::Api& api,
                                                           const kube_client::Call& call);

}  // namespace aliquot::install
