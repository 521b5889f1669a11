// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "scheduling/books.h"

/// For tests of the books: nodes and pods in a line.
namespace aliquot::scheduling {

inline constexpr char kWhole[] = "nvidia.com/gpu";

/// Open, with so many GPUs, "GPU-NAME-0" and on, each offered as so many units of the resource.
inline ServedNode node(const std::string& name, const std::string& resource, unsigned gpus,
                       unsigned units) {
    ServedNode made{.name = name, .is_open = true, .cpu_milli = 64'000, .memory_mib = 262'144};
    made.labels["kubernetes.io/hostname"] = name;
    for (unsigned i = 0; i < gpus; ++i)
        made.gpus.push_back({"GPU-" + name + "-" + std::to_string(i), {{resource, units}}});
    return made;
}

/// A gated one of namespace "team".
inline GpuPod pod(const std::string& uid, const std::string& resource, unsigned count) {
    return {.uid = uid,
            .name_space = "team",
            .name = uid,
            .is_gated = true,
            .cpu_milli = 1000,
            .memory_mib = 1024,
            .devices = {{"main", resource, count}}};
}

inline GpuPod bound(GpuPod made, const std::string& node) {
    made.is_gated = false;
    made.node = node;
    return made;
}

/// Units of a GPU that nobody has booked; 999: the books do not know it.
inline unsigned free_on(const Books& books, const std::string& gpu) {
    constexpr unsigned kUnknown = 999;
    for (const GpuBooking& row : books.gpus()) {
        if (row.gpu == gpu) return row.free;
    }
    return kUnknown;
}

}  // namespace aliquot::scheduling
