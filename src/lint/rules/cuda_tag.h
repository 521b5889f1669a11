// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "catalog/version.h"

namespace aliquot::lint {

/// A tag of the image nvidia/cuda, taken apart: X.Y.Z[-cudnn[N]]-{base,runtime,devel}-OS.
struct CudaTag {
    std::string version;   // "12.1.0"; as written
    unsigned numbers = 0;  // how many numbers the version has: 3 is right
    catalog::Version parsed;
    std::string cudnn;    // "cudnn8", "cudnn"; "" when none
    std::string flavour;  // "base", "runtime", "devel"; "" when none
    std::string system;   // "ubuntu22.04"; "" when none
    bool in_order = true;
    std::string rest;  // parts that are none of these: "tensorrt", "rc"

    /// Up to 11.0 tags of two numbers existed, and tags without the system. All were deleted.
    [[nodiscard]] bool is_of_old_form() const;
};

/// Empty when the tag does not begin with a version.
std::optional<CudaTag> read_cuda_tag(std::string_view tag);

/// What keeps the tag from existing, in words; empty: nothing that we know.
/// Source: the list of tags on the registries, as of November 2026.
std::string mistake_of(const CudaTag& tag);

/// The nearest tag that exists: "12.0" and "base" become "12.0.1-base-ubuntu22.04".
std::string nearest_tag(const CudaTag& tag);

}  // namespace aliquot::lint
