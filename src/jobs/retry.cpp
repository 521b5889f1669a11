// SPDX-License-Identifier: Apache-2.0
#include "jobs/retry.h"

#include <algorithm>
#include <array>

#include "catalog/xid.h"

namespace aliquot::jobs {
namespace {

struct Row {
    Cause cause;
    std::string_view word;
    std::string_view meaning;
    Retry retry;  // where tries are left; the pause is made by retry_after()
};

constexpr Retry kNever{};
constexpr Retry kCounts{.again = true, .counts = true};
constexpr Retry kFree{.again = true};

constexpr std::array<Row, 12> kRows{{
    {Cause::kNone, "none", "it ended by itself", kNever},
    {Cause::kProgram, "program", "its program failed", kCounts},
    {Cause::kNotStarted, "not-started", "its program could not be started", kNever},
    {Cause::kOutOfMemory, "out-of-memory", "it was killed for the memory of the host", kCounts},
    {Cause::kGpuFault,
     "gpu-fault",
     "the GPU or its driver failed",
     {.again = true, .counts = false, .elsewhere = true}},
    {Cause::kGpuProgram, "gpu-program", "its program made the GPU fail", kCounts},
    {Cause::kNodeLost, "node-lost", "the machine went away while it ran", kFree},
    {Cause::kSpotTaken, "spot-taken", "its node was taken back", kFree},
    {Cause::kPreempted, "preempted", "it was ended for another job", kFree},
    {Cause::kDeadline, "deadline", "its time was over", kNever},
    {Cause::kCancelled, "cancelled", "somebody cancelled it", kNever},
    {Cause::kIdle, "idle", "nobody used its GPUs", kNever},
}};

constexpr std::chrono::seconds kFirstPause{10};
constexpr std::chrono::seconds kLongestPause{360};

}  // namespace

std::string_view word(Cause cause) { return kRows[static_cast<std::size_t>(cause)].word; }
std::string_view meaning_of(Cause cause) { return kRows[static_cast<std::size_t>(cause)].meaning; }

std::optional<Cause> cause_of(std::string_view word) {
    const auto found =
        std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.word == word; });
    return found == kRows.end() ? std::nullopt : std::optional(found->cause);
}

Cause cause_of_xid(unsigned xid) {
    const catalog::Xid* const known = catalog::find_xid(xid);
    if (known == nullptr) return Cause::kNone;
    switch (known->kind) {
        case catalog::XidClass::kApplication:
            return Cause::kGpuProgram;
        case catalog::XidClass::kDriver:
        case catalog::XidClass::kHardware:
            return Cause::kGpuFault;
        case catalog::XidClass::kInformation:
            break;
    }
    return Cause::kNone;
}

/// The pauses are those of a Kubernetes Job: 10 s, 20 s, 40 s, ... six minutes.
Retry retry_after(Cause cause, std::uint32_t counted, std::uint32_t allowed) {
    Retry retry = kRows[static_cast<std::size_t>(cause)].retry;
    if (!retry.counts) return retry;
    if (counted >= allowed) return {};
    constexpr std::uint32_t kMostDoublings = 6;
    retry.pause = std::min(kFirstPause * (1U << std::min(counted, kMostDoublings)), kLongestPause);
    return retry;
}

}  // namespace aliquot::jobs
