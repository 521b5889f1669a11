// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/inventory.h"

namespace aliquot::sharing {

/// One share of a GPU, as kubelet names it: "GPU-3f2a::2".
struct ReplicaId {
    gpu::Uuid gpu;
    unsigned index = 0;  // below the number of replicas of that GPU

    friend bool operator==(const ReplicaId&, const ReplicaId&) = default;
};

/// Reads a device id that kubelet sends; the inverse of to_text().
///
/// text     "<gpu uuid>::<index>", the index decimal and without sign
/// errors   kInvalidInput: no uuid, no "::" or no number; the message quotes `text`
/// source   NVIDIA k8s-device-plugin, internal/rm/devices.go, type AnnotatedID
Result<ReplicaId> parse_replica_id(std::string_view text);
std::string to_text(const ReplicaId& id);

}  // namespace aliquot::sharing
