// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// What kubelet writes into a pod's status, as merge patches.
namespace aliquot::sim::fleet {

/// now   RFC 3339
std::string running_status(const std::vector<std::string>& containers, const std::string& now);
std::string succeeded_status(const std::vector<std::string>& containers, const std::string& now);
/// Refused at admission.
std::string refused_status(const std::string& why, const std::string& now);

}  // namespace aliquot::sim::fleet
