// SPDX-License-Identifier: Apache-2.0
#include "nvml/silence.h"

namespace aliquot::nvml {

std::set<std::size_t> silent_by_themselves(const std::vector<SilentGpu>& silent,
                                           std::chrono::steady_clock::time_point proof) {
    std::set<std::size_t> result;
    const SilentGpu* first = nullptr;
    for (const SilentGpu& one : silent) {
        if (one.since < proof) {
            result.insert(one.gpu);
        } else if (first == nullptr || one.since < first->since) {
            first = &one;
        }
    }
    if (first != nullptr) result.insert(first->gpu);
    return result;
}

}  // namespace aliquot::nvml
