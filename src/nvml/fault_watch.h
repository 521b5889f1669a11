// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu/hardware.h"
#include "nvml/lane.h"

namespace aliquot::nvml {

/// Waits for the faults of each GPU in a lane of its own, so that a GPU whose event set hangs keeps
/// only itself unheard. At most one wait is under way for each GPU. Thread-safe; one caller waits.
class FaultWatch {
public:
    /// One wait in the driver; shorter than Attachment::kPatience, so that a hold can be let go of.
    static constexpr std::chrono::milliseconds kSlice{200};
    /// The same while others ask much and may want to have the hold let go of.
    static constexpr std::chrono::milliseconds kShortSlice{50};

    FaultWatch(std::shared_ptr<Attachment> attachment, const os::Root& root, DriverOptions options)
        : attachment_(std::move(attachment)), root_(root), options_(std::move(options)) {}
    ~FaultWatch();
    FaultWatch(const FaultWatch&) = delete;
    FaultWatch& operator=(const FaultWatch&) = delete;

    /// Waits for faults of the first `gpus` GPUs; empty when there was none. It does not end before each
    /// of them is listened to, or has not let that be done for a second: a fault after it is heard.
    /// errors   none of them can be waited for
    Result<std::vector<gpu::FaultEvent>> wait(unsigned gpus, std::chrono::milliseconds slice,
                                              std::chrono::milliseconds timeout);

    /// While it lives no GPU is listened to: somebody else needs all of a GPU for himself.
    class Pause {
    public:
        explicit Pause(FaultWatch& watch);
        ~Pause() { --watch_.pauses_; }
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;

    private:
        FaultWatch& watch_;
    };

    /// A wait for faults of this GPU that does not end.
    [[nodiscard]] std::optional<Hang> hang(unsigned index) const;

private:
    /// What the waits bring; shared with the jobs, which may outlive us.
    struct Inbox;
    std::shared_ptr<Lane> lane_of(unsigned index);
    void begin_waits(unsigned gpus, std::chrono::milliseconds slice);

    std::shared_ptr<Attachment> attachment_;
    os::Root root_;
    DriverOptions options_;
    std::shared_ptr<Inbox> inbox_ = make_inbox();
    static std::shared_ptr<Inbox> make_inbox();
    std::atomic<unsigned> pauses_ = 0;
    mutable std::mutex mutex_;
    std::map<unsigned, std::shared_ptr<Lane>> lanes_;  // guarded by mutex_
};

}  // namespace aliquot::nvml
