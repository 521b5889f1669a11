// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aliquot {

// Factors of arithmetic in floating point; exact amounts of memory are k8s/memory_amount.h's.
inline constexpr double kMibPerGib = 1024;
inline constexpr double kBytesPerMib = 1024.0 * 1024.0;
inline constexpr double kPercent = 100;  // of one
inline constexpr double kMillion = 1e6;
inline constexpr double kBillion = 1e9;

inline constexpr double kNsPerSecond = 1e9;
inline constexpr unsigned kNanoDigits =
    9;  // behind the point, where the unit is a second and the count nanoseconds

}  // namespace aliquot
