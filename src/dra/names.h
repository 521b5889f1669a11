// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

/// What others read of us: docs/internals/dra.md. Promises.
namespace aliquot::dra {

inline constexpr std::string_view kDriver = "gpu.aliquot.dev";
inline constexpr std::string_view kConfigApiVersion = "resource.aliquot.dev/v1beta1";
inline constexpr std::string_view kCdiVendor = "k8s.gpu.aliquot.dev";
inline constexpr std::string_view kCdiClass = "claim";
inline constexpr std::string_view kUnhealthyTaint = "gpu.aliquot.dev/unhealthy";
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kCompute = "compute";

/// How this node's GPUs are published.
enum class Mode : std::uint8_t {
    kWhole,       // each GPU to one claim
    kFixed,       // the shares of the configuration, each to one claim
    kConsumable,  // each GPU to several claims, with memory and compute of any size
};
std::string_view to_text(Mode mode);

}  // namespace aliquot::dra
