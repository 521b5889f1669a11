// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

/// How containers share a device. Another mechanism is another row of the table in mechanism.cpp,
/// besides the code that carries it out.
namespace aliquot::grant {

enum class Mechanism : std::uint8_t {
    kNone,         // one container has the whole device
    kTimeSlicing,  // they take turns, without limits
    kGuarded,      // they take turns, and the guard keeps the limits of each
    kMps,          // their kernels run side by side, under limits of NVIDIA's MPS
    kMig,          // the hardware cuts the GPU: one container has a whole MIG device
    kUnknown,      // a word of another version's, which this one does not know
};

// What each is called where others read it. These words are promises: dashboards, selectors of pods
// and programs compare them.

/// The label `sharing` of gpu_info and the state's layout.mechanism: "exclusive", "time-slicing",
/// "mps", "mig".
std::string_view metric_text(Mechanism mechanism);
/// In our annotation of the Node's shares and in aliquot-probe's --shared-by: "none",
/// "time-slicing", "memory", "mps", "mig".
std::string_view node_text(Mechanism mechanism);
/// The node label nvidia.com/gpu.sharing-strategy, in gpu-feature-discovery's words: "none",
/// "time-slicing", "mps".
std::string_view label_text(Mechanism mechanism);
/// In plans: "exclusive", "time-slicing", "fraction", "mps", "mig".
std::string_view plan_text(Mechanism mechanism);
/// The key under `sharing` of NVIDIA's configuration: "timeSlicing", "mps"; else empty.
std::string_view config_key(Mechanism mechanism);

/// The inverse ones; of two that are called alike, the first. kUnknown: no such word.
Mechanism parse_metric_text(std::string_view text);
Mechanism parse_node_text(std::string_view text);

}  // namespace aliquot::grant
