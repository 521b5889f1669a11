// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/meters.h"
#include "nvml/driver.h"
#include "os/root.h"

namespace aliquot::nvml {

/// gpu::Meters over libnvidia-ml.so.1, opened at run time. Each GPU is asked by a thread of its own,
/// so one whose driver hangs keeps only itself waiting. NVML is initialised with the first read()
/// and kept, together with the Drivers of the process; it is initialised anew when the driver was
/// reloaded, and `reopen_after` after a GPU was lost.
class Meters final : public gpu::Meters {
public:
    /// GPUs that are watched at once; those that were not asked about last leave first.
    static constexpr std::size_t kMostGpus = 64;

    /// Opens the library; does not talk to the driver yet. Of the options driver_root, deadline
    /// (for release()) and reopen_after count.
    /// root     must outlive this
    /// errors   kNotFound: no such library; kUnavailable: it does not load
    static Result<std::unique_ptr<nvml::Meters>> open(const os::Root& root,
                                                      const DriverOptions& options);
    ~Meters() override;

    std::vector<Result<gpu::Reading>> read(std::span<const gpu::MeterQuestion> questions,
                                           std::chrono::milliseconds deadline) override;
    void release() override;

    /// The file that was opened.
    [[nodiscard]] const std::string& library_path() const;

private:
    class Implementation;
    explicit Meters(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

/// Meters of a driver that may be installed only after we have started: looks for the library with each read(), at most once in
/// `retry_after`, until it is there. Thread-safe.
class DeferredMeters final : public gpu::Meters {
public:
    /// root   must outlive this
    DeferredMeters(const os::Root& root, DriverOptions options,
                   std::chrono::milliseconds retry_after = std::chrono::seconds(3));

    /// errors   besides: of Meters::open, for each question
    std::vector<Result<gpu::Reading>> read(std::span<const gpu::MeterQuestion> questions,
                                           std::chrono::milliseconds deadline) override;
    void release() override;

private:
    Result<std::shared_ptr<nvml::Meters>> open();

    const os::Root& root_;
    DriverOptions options_;
    std::chrono::milliseconds retry_after_;
    std::mutex mutex_;
    std::shared_ptr<nvml::Meters> meters_;
    Error problem_;
    std::chrono::steady_clock::time_point tried_at_;
    bool tried_ = false;
};

}  // namespace aliquot::nvml
