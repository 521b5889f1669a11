// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/inventory.h"

namespace aliquot::gpu {

/// One share of a GPU, as kubelet names it: "GPU-3f2a::2".
struct ReplicaId {
    Uuid gpu;
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

/// Any device id taken apart without copying: "GPU-3f2a::2" and "GPU-3f2a" are both of "GPU-3f2a".
struct DeviceIdView {
    std::string_view device;
    unsigned replica = 0;  // of a whole device 0
    bool valid = true;     // false: "::" without a number behind it
};
DeviceIdView split_device_id(std::string_view id);
/// The GPU or MIG device of it.
inline std::string_view device_of(std::string_view id) { return split_device_id(id).device; }

}  // namespace aliquot::gpu
