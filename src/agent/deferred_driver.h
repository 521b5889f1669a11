// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <type_traits>

#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "gpu/memory_limits.h"
#include "nvml/driver.h"

namespace aliquot::agent {

/// The driver of a node where it may be installed only after we have started: enumerate() and open() look
/// for libnvidia-ml until it is there, all else is kUnavailable so long. What failOnInitError=false of
/// NVIDIA's device plugin means. Thread-safe.
class DeferredDriver final : public gpu::Sensors,
                             public gpu::ComputeModes,
                             public gpu::MemoryLimits {
public:
    /// root   must outlive this
    DeferredDriver(const os::Root& root, nvml::DriverOptions options);

    /// Opens it when that was not done yet. For what is not gpu::Sensors.
    /// errors   of nvml::Driver::open
    Result<std::shared_ptr<nvml::Driver>> open();

    Result<gpu::Inventory> enumerate(gpu::Links links) override;
    Result<gpu::Sample> sample(const gpu::Uuid& gpu) override;
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid& gpu) override;
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>& gpus) override;
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds timeout) override;

    Result<gpu::ComputeMode> compute_mode(const gpu::Uuid& gpu) override;
    Result<Done> set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) override;
    Result<Done> set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                  std::uint64_t bytes) override;

private:
    /// errors   kUnavailable: not open yet
    Result<std::shared_ptr<nvml::Driver>> opened();
    /// The call's answer, or that of opened().
    template <class Call>
    std::invoke_result_t<Call, nvml::Driver&> with_driver(Call call);

    const os::Root& root_;
    nvml::DriverOptions options_;
    std::mutex mutex_;
    std::shared_ptr<nvml::Driver> driver_;
};

}  // namespace aliquot::agent
