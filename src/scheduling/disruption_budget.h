// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::scheduling {

/// A PodDisruptionBudget, as far as it says how many pods may go now.
/// source   k8s.io/api/policy/v1
struct DisruptionBudget {
    std::string name_space;
    std::string name;
    std::optional<k8s::LabelSelector> selector;  // empty: it is about no pod
    /// status.disruptionsAllowed; 0 while it is about an older spec: nobody is let go then.
    unsigned allowed = 0;

    [[nodiscard]] bool covers(const GpuPod& pod) const;
};

/// errors   kInvalidInput: no JSON
Result<DisruptionBudget> read_disruption_budget(std::string_view json);

/// The first of the pods that a budget does not let go after those before it: each alone might go. nullptr: all may.
/// Pods that are not ready count as the others do, though some budgets let them go at any time.
const GpuPod* first_beyond(const std::vector<DisruptionBudget>& budgets,
                           const std::vector<GpuPod>& pods);

}  // namespace aliquot::scheduling
