// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "gpu/meters.h"
#include "nvml/attachment.h"
#include "nvml/inquiry.h"
#include "nvml/metered_processes.h"
#include "nvml/mig_devices.h"
#include "nvml/performance_monitor.h"

namespace aliquot::nvml {

/// Reads what one GPU reports of its use. Used by one thread, which it may block for as long as the
/// driver likes.
class GpuMeter {
public:
    /// reopen_after   a lost GPU is not found again until NVML is initialised anew: after this time
    GpuMeter(std::shared_ptr<Attachment> attachment, std::shared_ptr<CallPosition> position,
             gpu::Uuid gpu, std::chrono::milliseconds reopen_after);

    /// delivered   somebody has got what the last read() gave
    /// errors      as gpu::Meters::read
    Result<gpu::Reading> read(const gpu::Since& since, bool delivered);

    /// Gives the driver back.
    void let_go();

private:
    void forget();
    Answer<nvmlDevice_t> find_device();
    Answer<nvmlDevice_t> find_in_list(nvmlReturn_t problem);
    Result<gpu::Reading> read_found(const gpu::Since& since, bool delivered);
    Result<gpu::Reading> read_device(const gpu::Since& since, bool delivered);
    std::vector<MigHandle> look_at_mig(Inquiry& inquiry);
    void read_instances(const Library& library, const std::vector<MigHandle>& mig,
                        gpu::Reading& reading);
    void read_activity(Inquiry& inquiry, const gpu::Since& since, const std::vector<MigHandle>& mig,
                       gpu::Reading& reading);
    Error failed(nvmlReturn_t code);

    Attachment::Caller caller_;
    gpu::Uuid gpu_;
    std::chrono::milliseconds reopen_after_;

    // Learnt from one hold on the driver.
    std::uint64_t generation_ = 0;
    std::chrono::steady_clock::time_point held_since_;
    bool lost_ = false;
    nvmlDevice_t device_ = nullptr;
    Refusals refusals_;
    std::optional<gpu::MetricValues> lasting_;
    bool virtual_gpu_ = false;
    bool mig_ = false;
    Refusals instance_refusals_;
    PerformanceMonitor monitor_;
    SampleRoom room_;
    std::set<std::uint32_t> known_pids_;
};

}  // namespace aliquot::nvml
