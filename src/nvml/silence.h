// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <set>
#include <vector>

namespace aliquot::nvml {

/// A GPU with a call that does not return.
struct SilentGpu {
    std::size_t gpu = 0;
    std::chrono::steady_clock::time_point since;  // the call was begun
};

/// Which of the GPUs that hang do so by themselves. A driver may hold a lock for all GPUs while it
/// hangs for one: then calls about the others hang as well, and say nothing about them. What was
/// asked after a call had begun to hang and was answered shows that this call holds no such lock.
/// Of the calls without such a proof only the first is its GPU's own.
/// proof   when the latest question was put that the driver has answered, whatever it was about
std::set<std::size_t> silent_by_themselves(const std::vector<SilentGpu>& silent,
                                           std::chrono::steady_clock::time_point proof);

}  // namespace aliquot::nvml
