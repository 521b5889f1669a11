// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace aliquot::jobs {

/// Why a try ended.
enum class Cause : std::uint8_t {
    kNone,         // by itself, with 0
    kProgram,      // its program says that it failed
    kNotStarted,   // its program could not be executed
    kOutOfMemory,  // killed for memory of the host
    kGpuFault,     // an Xid of the hardware or the driver while it ran
    kGpuProgram,   // an Xid that programs make
    kNodeLost,     // the machine went away or started anew, or who kept the job was killed
    kSpotTaken,    // the node was taken back
    kPreempted,    // ended for another job
    kDeadline,
    kCancelled,
    kIdle,  // ended because nobody used its GPUs
};

/// "program", "out-of-memory", "gpu-fault", ...
std::string_view word(Cause cause);
std::optional<Cause> cause_of(std::string_view word);
/// For people: "the machine went away while it ran".
std::string_view meaning_of(Cause cause);

/// Whose fault an Xid is; kNone: it says nothing of a job.
Cause cause_of_xid(unsigned xid);

/// What follows a try.
struct Retry {
    bool again = false;
    bool counts = false;            // against the tries that were allowed
    bool elsewhere = false;         // on other devices, where there are any
    std::chrono::seconds pause{0};  // before it may start
};

/// counted   tries before this one that counted
/// allowed   tries after the first that may count
Retry retry_after(Cause cause, std::uint32_t counted, std::uint32_t allowed);

}  // namespace aliquot::jobs
