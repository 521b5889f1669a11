// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "mig/geometry.h"
#include "mig/layout_spec.h"

namespace aliquot::mig {

/// A GPU instance that is there or shall be.
struct Instance {
    std::string profile;  // of the GPU instance: "3g.20gb"
    unsigned start = 0;   // memory slices
    unsigned size = 0;
    std::vector<unsigned> compute;  // slices of its compute instances, largest first
    bool busy = false;              // a process or a pod has it
    friend bool operator==(const Instance&, const Instance&) = default;
};

/// "3g.20gb@4", "1g.5gb@6 (busy)", "3g.20gb@0 as 1c.3g.20gb*3".
std::string to_text(const Instance& instance, const Geometry& geometry);

/// Reads "3g.20gb@0,1g.5gb@4:busy" against a GPU; "none" and an empty text are no instance.
/// errors   kInvalidInput: not of that form, no such profile or start, overlapping or too many
Result<std::vector<Instance>> parse_instances(std::string_view text, const Geometry& geometry);

struct Step {
    enum class Action : std::uint8_t { kDestroy, kCreate };
    Action action = Action::kCreate;
    Instance instance;
    friend bool operator==(const Step&, const Step&) = default;
};

/// How to get from what is there to what is desired.
struct Plan {
    std::vector<Step> steps;       // to be done in this order: destroy, then create
    std::vector<Instance> layout;  // what is there then, by start
    unsigned room = 0;             // of the layout: mig::room()
};

/// Why a spec cannot be had, and what comes nearest.
struct Refusal {
    std::string reason;              // one line
    std::vector<Instance> blocking;  // the busy instances in the way, if these are the reason
    LayoutSpec nearest;              // a spec that can be had
    std::vector<Instance> nearest_layout;
};

struct PlanOptions {
    /// Busy instances that the spec does not name stay beside it; else they refuse it.
    bool leave_busy = false;
};

/// Plans one GPU. Exact: looks through all placements, so it finds one whenever there is one.
/// A busy instance is never destroyed nor moved. Of all placements the one with the fewest steps;
/// among these the one whose instances are the smallest that will do (specs by slices or memory);
/// among these the one that leaves the most room (mig::room); else the first in order.
///
/// now      valid: no overlaps. A profile that `geometry` does not have may stand there; it counts
///          as something that is not desired
/// returns  under 1 ms mostly; at most some 10 ms
std::variant<Plan, Refusal> plan(const Geometry& geometry, const std::vector<Instance>& now,
                                 const LayoutSpec& spec, PlanOptions options = {});

/// Whether what is there is what is desired; a busy instance more or less counts.
bool is_reached(const Geometry& geometry, const std::vector<Instance>& now, const LayoutSpec& spec);

}  // namespace aliquot::mig
