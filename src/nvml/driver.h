// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "gpu/memory_limits.h"
#include "gpu/partitioning.h"
#include "nvml/driver_options.h"
#include "os/root.h"

namespace aliquot::nvml {

/// gpu::Sensors and gpu::Partitioner over libnvidia-ml.so.1, opened at run time. Each GPU is asked
/// by threads of its own, a fixed number of them: a call that does not come back leaves its thread
/// behind in the driver, and whatever else is asked about that GPU is answered kUnavailable until
/// it returns; other GPUs are asked as before. A GPU that has not answered for `deadline`, whoever
/// in this process has asked it, is unhealthy in enumerate() and probe(). NVML is initialised on
/// first use and again after it was lost (driver reload).
class Driver final : public gpu::Sensors,
                     public gpu::Partitioner,
                     public gpu::ComputeModes,
                     public gpu::MemoryLimits {
public:
    /// Opens the library; does not talk to the driver yet.
    /// root     where sysfs (NUMA nodes) and the driver root are looked for; must outlive this
    /// errors   kNotFound: no such library; kUnavailable: it does not load
    static Result<std::unique_ptr<Driver>> open(const os::Root& root, DriverOptions options);
    ~Driver() override;

    using gpu::Sensors::enumerate;
    Result<gpu::Inventory> enumerate(gpu::Links links) override;
    Result<gpu::Sample> sample(const gpu::Uuid& gpu) override;
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid& gpu) override;
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>& gpus) override;
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds timeout) override;

    Result<gpu::ComputeMode> compute_mode(const gpu::Uuid& gpu) override;
    Result<Done> set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) override;
    Result<Done> set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                  std::uint64_t bytes) override;
    Result<gpu::Partitions> partitions(const gpu::Uuid& gpu) override;
    Result<gpu::ModeChange> set_mode(const gpu::Uuid& gpu, bool enabled) override;
    /// Runs the driver's nvidia-smi, found beneath the driver root.
    Result<Done> reset(const gpu::Uuid& gpu,
                       const std::set<gpu::Uuid>& may_lose_instances) override;
    Result<unsigned> create(const gpu::Uuid& gpu, unsigned profile_id,
                            gpu::MigPlacement placement) override;
    Result<unsigned> create_compute(const gpu::Uuid& gpu, unsigned instance,
                                    unsigned slices) override;
    Result<Done> destroy_compute(const gpu::Uuid& gpu, unsigned instance,
                                 unsigned compute) override;
    Result<Done> destroy(const gpu::Uuid& gpu, unsigned instance) override;

    /// The file that was opened.
    [[nodiscard]] const std::string& library_path() const;

private:
    class Implementation;
    explicit Driver(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::nvml
