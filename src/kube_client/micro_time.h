// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace aliquot::kube_client {

/// "2026-11-21T22:00:00.000000Z", as Kubernetes writes a MicroTime.
std::string micro_time(std::chrono::system_clock::time_point when);

}  // namespace aliquot::kube_client
