// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/mig_profile.h"
#include "mig/geometry.h"

namespace aliquot::mig {

/// `count` instances of one kind: by the name of a profile, or by what it must have.
struct InstanceSpec {
    std::optional<gpu::MigProfileName> profile;  // "3g.20gb", or of a part of it: "1c.3g.20gb"
    unsigned slices = 0;             // else exactly so many compute slices; 0: any number
    std::uint64_t memory_bytes = 0;  // and at least so much memory; 0: any amount
    unsigned count = 1;
    friend bool operator==(const InstanceSpec&, const InstanceSpec&) = default;
};

/// What a GPU shall be cut into, all of it: an instance that is not in the spec goes.
using LayoutSpec = std::vector<InstanceSpec>;

/// Reads "3g.20gb,1g.5gb*4", "slices=2*3", "memory=10Gi", "1c.3g.20gb*3"; "none" is no instance.
/// errors   kInvalidInput: not of that form, more than 64 instances
Result<LayoutSpec> parse_layout_spec(std::string_view text);
std::string to_text(const LayoutSpec& spec);

/// Equal instances of a spec, for one GPU.
struct Need {
    std::vector<unsigned> choices;  // profiles that would do, best first
    std::vector<unsigned> compute;  // slices of its compute instances; empty: one that fills it
    unsigned count = 0;
};

/// What a spec means on a GPU. Compute instances of part size share GPU instances of their profile,
/// as few as possible. Equal needs are one.
/// errors   kNotFound: the GPU has no such profile; the message lists what it has
Result<std::vector<Need>> needs_of(const Geometry& geometry, const LayoutSpec& spec);

/// The spec with every profile that this GPU does not have replaced by the most similar it has.
LayoutSpec with_known_profiles(const Geometry& geometry, LayoutSpec spec);

/// The compute part of a name put before it: ("3g.20gb", 1) is "1c.3g.20gb".
std::string compute_name(std::string_view profile, unsigned slices, unsigned of);

}  // namespace aliquot::mig
