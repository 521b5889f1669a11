// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/mig.h"
#include "plan/steps.h"

// Whether a GPU has room for one more. Only for the files of this folder.
namespace aliquot::plan {

/// What is given up so that more has a place.
struct Relaxation {
    bool jobs_last = false;  // services before jobs that want a whole GPU
    bool loose = false;      // shares that are equal in nothing but their turns
    bool no_mig = false;     // turns or MPS in place of MIG, where nothing asks for isolation
    bool together = false;   // what needs more than half of a GPU shares it as well
    bool crowded = false;    // duties of jobs that nobody told are not counted
};

/// In the order in which they are tried; the first that leaves nothing out wins, else the one that leaves
/// out least.
inline constexpr std::array<Relaxation, 13> kRelaxations{
    {{},
     {.jobs_last = true},
     {.no_mig = true},
     {.jobs_last = true, .no_mig = true},
     {.loose = true},
     {.jobs_last = true, .loose = true},
     {.loose = true, .no_mig = true},
     {.jobs_last = true, .loose = true, .no_mig = true},
     {.together = true},
     {.loose = true, .together = true},
     {.loose = true, .no_mig = true, .together = true},
     {.crowded = true},
     {.loose = true, .no_mig = true, .together = true, .crowded = true}}};

/// Answers about one draft; what is costly is asked once.
class Room {
public:
    Room(const Draft& draft, Relaxation relaxation) : draft_(draft), relaxation_(relaxation) {}

    /// Whether a GPU runs the number format that somebody asked for, and its machine has the CPU and memory
    /// for the pod; where no machine of the request has, that is told elsewhere and does not matter here.
    bool machine_takes(const Slot& slot, const Workload& w) const;

    /// Whether a unit fits beside those that are on the GPU already.
    bool has_room(const Slot& slot, std::size_t index, Mode mode) const;

    /// Those that may share a GPU of the pool: of one tenant, and with the isolation that each asks for.
    [[nodiscard]] std::string group_of(std::size_t index, const GpuPool& pool) const;

    /// Turns with limits that something enforces, or without.
    [[nodiscard]] Mode turns_on(const GpuPool& pool) const;

    /// Which limit a workload without a place met: memory, time, or the number of GPUs.
    [[nodiscard]] std::string why_left_out(const Workload& w) const;

    /// Whether more GPUs of these kinds would not help: each is too small, or cannot run the format.
    [[nodiscard]] bool never_holds(const Workload& w) const;

    /// Percent of the time that a workload keeps a GPU busy, as far as it counts.
    [[nodiscard]] double duty_of(const Workload& w) const;

    [[nodiscard]] MigNeed mig_need_of(const Slot& slot, std::size_t index) const;
    [[nodiscard]] std::vector<MigNeed> mig_needs_of(const Slot& slot) const;

private:
    [[nodiscard]] std::string how_one_holds(const Workload& w) const;
    [[nodiscard]] bool asks_for_limits(const Slot& slot, const Workload& w) const;
    [[nodiscard]] bool may_share(const Slot& slot, const Workload& w) const;
    [[nodiscard]] bool fits_mig(const Slot& slot, std::size_t index) const;

    const Draft& draft_;
    Relaxation relaxation_;
    mutable std::map<std::pair<const GpuPool*, const Workload*>, bool> machines_;
    mutable std::map<std::pair<const GpuPool*, std::vector<const Workload*>>, bool> fits_;
};

}  // namespace aliquot::plan
