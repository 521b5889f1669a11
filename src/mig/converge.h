// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/partitioning.h"
#include "mig/apply.h"
#include "mig/journal.h"
#include "os/clock.h"

namespace aliquot::mig {

/// What the driver tells of a GPU's instances, as a plan sees them.
/// held   uuids of devices that pods hold
std::vector<Instance> instances_of(const gpu::Partitions& partitions,
                                   const std::set<std::string>& held);

/// How a GPU is cut now.
Partitioning partitioning_of(const gpu::Partitions& partitions);

/// Takes GPUs to a cut, whatever they are now, each call of the driver between two checkpoints.
class Converger {
public:
    Converger(gpu::Partitioner& gpus, const ApplyOptions& options, os::Clock& clock);

    /// The GPUs that are changed together: a reset of one may cost the others their instances.
    void change_together(std::set<gpu::Uuid> gpus) { together_ = std::move(gpus); }

    /// The time for all that follows begins anew.
    void restart_limit();

    /// Tells the driver the MIG mode and leaves the reset to converge_mode(), which one may do for several GPUs.
    Result<Done> request_mode(const gpu::Uuid& gpu, unsigned index, const Partitioning& wanted);

    /// Only the MIG mode, with a reset where it takes one. A reset may take GPUs of the same board
    /// along, and with them their instances: so first the modes of all, then the instances of all.
    Result<Done> converge_mode(const gpu::Uuid& gpu, unsigned index, const Partitioning& wanted);

    /// Mode and instances.
    /// errors   kConflict: an instance that has to go is busy; kUnavailable: out of time; others
    ///          of gpu::Partitioner. The GPU is then somewhere in between
    Result<Done> converge(const gpu::Uuid& gpu, unsigned index, const Partitioning& wanted);

    /// Does one thing between two checkpoints.
    Result<Done> step(std::string_view name, const std::function<Result<Done>()>& action);

private:
    enum class Tries : std::uint8_t { kOne, kSeveral };
    Result<Done> call(const std::string& name, Tries tries,
                      const std::function<Result<Done>()>& action);
    /// What the GPU looks like once its mode is as wanted.
    Result<gpu::Partitions> with_mode(const gpu::Uuid& gpu, const Partitioning& wanted);
    Result<Done> set_mode(const gpu::Uuid& gpu, bool enabled);
    Result<Done> destroy(const gpu::Uuid& gpu, const gpu::MigInstance& instance);
    Result<Done> create(const gpu::Uuid& gpu, const gpu::Partitions& now, const Instance& instance);
    Result<Done> add_compute(const gpu::Uuid& gpu, unsigned instance,
                             const std::vector<unsigned>& slices);
    Result<Done> change_instances(const gpu::Uuid& gpu, const gpu::Partitions& now,
                                  const Partitioning& wanted);
    void tell(std::string_view what) const;

    gpu::Partitioner& gpus_;
    const ApplyOptions& options_;
    os::Clock& clock_;
    std::set<gpu::Uuid> together_;
    os::TimePoint end_;
    unsigned index_ = 0;  // of the GPU that is being changed
};

}  // namespace aliquot::mig
