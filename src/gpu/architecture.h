// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace aliquot::gpu {

/// The architecture of a compute capability, in the words of NVIDIA's gpu-feature-discovery:
/// "ampere", "ada-lovelace"; empty: not one that we know.
constexpr std::string_view architecture_of(unsigned major, unsigned minor) {
    switch (major) {
        case 1:
            return "tesla";
        case 2:
            return "fermi";
        case 3:
            return "kepler";
        case 5:
            return "maxwell";
        case 6:
            return "pascal";
        case 7:
            return minor < 5 ? "volta" : "turing";
        case 8:
            return minor < 9 ? "ampere" : "ada-lovelace";
        case 9:
            return "hopper";
        case 10:
        case 11:
        case 12:
            return "blackwell";
        case 13:
            return "rubin";
        default:
            return "";
    }
}

}  // namespace aliquot::gpu
