// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "os/root.h"

namespace aliquot::nvml {

struct DriverOptions {
    /// Host path of the driver installation; the library is searched in its usual places beneath
    /// it, then (when it is "/") as the loader searches. A value with ".so" in it is the library
    /// itself.
    std::string driver_root = "/";
    std::chrono::milliseconds deadline{5000};  // for one call to return to its caller
    /// NVML never finds a lost GPU again by itself: after this time the next enumerate() or probe()
    /// initialises it anew.
    std::chrono::milliseconds reopen_after{10000};
};

/// gpu::Sensors over libnvidia-ml.so.1, opened at run time. All calls into the library are made by
/// one thread of the Driver; a call that does not come back in time leaves that thread behind in
/// the driver and is answered kUnavailable, and so is every later call until it returns. NVML is
/// initialised on first use and again after it was lost (driver reload).
class Driver final : public gpu::Sensors, public gpu::ComputeModes {
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

    /// The file that was opened.
    [[nodiscard]] const std::string& library_path() const;

private:
    class Implementation;
    explicit Driver(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::nvml
