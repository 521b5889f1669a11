// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "nvml/driver.h"

namespace aliquot::agent {

/// A driver that may come later: opens libnvidia-ml when it is first asked, and again with each
/// enumerate() until it is there. What NVIDIA's failOnInitError=false means. Thread-safe.
class LateDriver final : public gpu::Sensors, public gpu::ComputeModes {
public:
    /// root   must outlive this
    LateDriver(const os::Root& root, nvml::DriverOptions options);

    Result<gpu::Inventory> enumerate(gpu::Links links) override;
    Result<gpu::Sample> sample(const gpu::Uuid& gpu) override;
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid& gpu) override;
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>& gpus) override;
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds timeout) override;

    Result<gpu::ComputeMode> compute_mode(const gpu::Uuid& gpu) override;
    Result<Done> set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) override;

private:
    /// errors   of nvml::Driver::open
    Result<std::shared_ptr<nvml::Driver>> opened();
    Result<std::shared_ptr<nvml::Driver>> open_now();

    const os::Root& root_;
    nvml::DriverOptions options_;
    std::mutex mutex_;
    std::shared_ptr<nvml::Driver> driver_;
};

}  // namespace aliquot::agent
