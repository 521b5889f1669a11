// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "nvml/driver.h"
#include "nvml/fault_events.h"
#include "nvml/kernel_files.h"
#include "nvml/library.h"
#include "os/root.h"

namespace aliquot::nvml {

/// An initialised library with what is known of its GPUs: initialises on first use, again when the
/// driver was reloaded, when GPUs came or went and some time after a GPU was lost. Used by one
/// thread, which it may block for as long as the driver likes.
class Session {
public:
    Session(std::unique_ptr<Library> library, std::shared_ptr<CallPosition> position,
            const os::Root& root, DriverOptions options);

    Result<gpu::Inventory> enumerate(gpu::Links links);
    Result<gpu::Sample> sample(const gpu::Uuid& gpu);
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid& gpu);
    Result<gpu::ComputeMode> compute_mode(const gpu::Uuid& gpu);
    Result<Done> set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode);
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>& gpus);
    Result<FaultEvents::Look> look_for_faults(std::chrono::milliseconds wait);
    /// Gives the driver back; a later question takes it again.
    void end();

private:
    struct Device {
        gpu::Uuid uuid;  // empty: it could not tell
        nvmlDevice_t handle = nullptr;
        nvmlReturn_t problem = NVML_SUCCESS;  // why there is no handle or no uuid
    };

    template <class T, class Question>
    Result<T> ask(Question question);
    Result<Done> make_ready();
    Result<Done> open_library();
    [[nodiscard]] Error cannot_start(nvmlReturn_t code) const;
    void refresh_when_due();

    Result<Done> list_devices();
    Answer<nvmlDevice_t> find_device(const gpu::Uuid& gpu);
    Error failed(const gpu::Uuid& gpu, nvmlReturn_t code);
    void listen();
    Result<gpu::Inventory> look_at_all(gpu::Links links);
    gpu::Probe probe_one(const gpu::Uuid& gpu);

    std::string path_;
    std::shared_ptr<CallPosition> position_;
    std::unique_ptr<Library> library_;  // nullptr: closed, and could not be opened again
    KernelFiles kernel_;
    DriverOptions options_;
    bool ready_ = false;
    bool lost_gpu_seen_ = false;
    std::chrono::steady_clock::time_point ready_since_;
    std::chrono::steady_clock::time_point listening_since_;
    std::vector<gpu::PciAddress> kernel_gpus_;  // when it was made ready
    std::vector<Device> devices_;               // by the driver's index
    FaultEvents faults_;
    bool faults_wanted_ = false;
};

}  // namespace aliquot::nvml
