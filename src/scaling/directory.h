// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "k8s/label_selector.h"

namespace aliquot::scaling {

using k8s::Labels;

/// What the API server says of a pod.
struct PodRecord {
    std::string name;
    std::string uid;
    Labels labels;
    std::string controller_kind;  // "ReplicaSet"; empty: nobody's
    std::string controller_name;
};

/// The seam to the list of pods. Thread-safe.
class PodDirectory {
public:
    virtual ~PodDirectory() = default;
    /// Calls `visit` for each pod of the namespace that has not ended.
    /// errors   kUnavailable: it cannot be told (now); the message says why and what to do
    [[nodiscard]] virtual Result<Done> pods(
        const std::string& namespace_name,
        const std::function<void(const PodRecord&)>& visit) const = 0;
};

}  // namespace aliquot::scaling
