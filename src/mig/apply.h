// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/partitioning.h"
#include "mig/geometry.h"
#include "mig/plan.h"
#include "mig/state_directory.h"
#include "os/clock.h"

namespace aliquot::mig {

/// What one GPU shall be.
struct GpuSpec {
    gpu::Uuid gpu;
    unsigned index = 0;  // the driver's, for messages
    bool enabled = true;
    LayoutSpec spec;  // empty unless enabled
    /// The instances that shall be there, each at its place; instead of `spec`.
    std::optional<std::vector<Instance>> exact;
    /// For drivers that list no profiles while MIG is off.
    std::optional<Geometry> known_geometry;
};

struct ApplyOptions {
    /// For the way forward, and again as much for the way back. One call of the driver has the
    /// limit of the gpu::Partitioner.
    std::chrono::milliseconds limit{120'000};
    bool dry_run = false;        // plan only
    bool leave_busy = false;     // PlanOptions::leave_busy
    bool allow_reset = true;     // else a change that needs a reset is refused or rolled back
    std::set<std::string> held;  // uuids of GPUs and MIG devices that pods hold: they are busy
    bool remember = true;        // what is reached is what restore() brings back
    /// What is being done to which GPU; called from the same thread.
    std::function<void(unsigned index, std::string_view what)> progress;
    /// Called before and after every change of a GPU or of the state directory, with its name.
    /// Tests end the process there.
    std::function<void(std::string_view step)> checkpoint;
};

/// What became of one GPU.
struct GpuReport {
    enum class State : std::uint8_t {
        kUnchanged,   // was as desired
        kPlanned,     // not touched: a dry run, or another GPU was refused
        kRefused,     // cannot be had; not touched
        kReached,     // is as desired now
        kRolledBack,  // is as it was
        kHalf,        // neither: could not be rolled back (see message)
        kLeft,        // restore: is cut in another way, and stays so
        kGone,        // is not on this node any more
    };
    gpu::Uuid gpu;
    unsigned index = 0;
    State state = State::kPlanned;
    bool enabled = false;  // MIG mode as desired
    bool mode_changes = false;
    std::vector<Step> steps;
    std::vector<Instance> layout;    // as desired
    std::optional<Refusal> refusal;  // kRefused
    std::string message;             // why; may be empty
};
std::string_view to_text(GpuReport::State state);

struct ApplyReport {
    std::vector<GpuReport> gpus;
    bool reached = false;   // every GPU is as desired (in a dry run: can be)
    std::string problem;    // the first reason why not
    std::string recovered;  // an earlier change that was found unfinished, and what became of it
};

/// Brings GPUs to their specs: all of them or none. First every GPU is looked at and planned; if
/// one is refused, nothing is touched. Then the journal is written, each GPU is changed by the
/// fewest steps, looked at again, and the journal goes. A failure takes every GPU back to what it
/// was, as far as the driver lets us; what could not be taken back is kHalf and stays in the
/// journal. A change that an earlier process did not finish is brought to its end first. Only the
/// GPUs named are touched.
///
/// errors   nothing was touched: kConflict: an unfinished change could neither be finished nor
///          taken back and concerns other GPUs; kUnavailable: the driver does not answer
Result<ApplyReport> apply(gpu::Partitioner& gpus, const StateDirectory& state,
                          const std::vector<GpuSpec>& specs, const ApplyOptions& options,
                          os::Clock& clock);

/// Brings an unfinished change to its end: forward, else back. No GPU in the report: there was none.
Result<ApplyReport> recover(gpu::Partitioner& gpus, const StateDirectory& state,
                            const ApplyOptions& options, os::Clock& clock);

/// After a reboot or a reset: recover(), then every GPU that has no instance is cut again as it was
/// last. A GPU that is cut in another way stays so.
Result<ApplyReport> restore(gpu::Partitioner& gpus, const StateDirectory& state,
                            const ApplyOptions& options, os::Clock& clock);

}  // namespace aliquot::mig
