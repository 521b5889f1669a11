// SPDX-License-Identifier: Apache-2.0
#include "nvml/driver.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "nvml/gpu_lanes.h"

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Whoever has asked so lately will ask again: a change of MIG is hundreds of short questions, and
/// some of them wait for all waits for faults to end.
constexpr std::chrono::milliseconds kConversation{100};
/// What a reset takes besides the program that does it.
constexpr std::chrono::milliseconds kResetGrace{5000};

}  // namespace

class Driver::Implementation {
public:
    Implementation(std::shared_ptr<Attachment> attachment, const os::Root& root,
                   const DriverOptions& options)
        : path_(attachment->path()),
          deadline_(options.deadline),
          change_deadline_(std::max(options.deadline, options.change_deadline)),
          reset_deadline_(options.reset_deadline + kResetGrace),
          lanes_(std::move(attachment), root, options) {}

    template <class T>
    Result<T> ask(const gpu::Uuid& gpu, const std::string& what,
                  const Lane::Question<T>& question) {
        last_asked_ = SteadyClock::now();
        return lanes_.ask<T>(gpu, deadline_, what + gpu.text, question);
    }
    template <class T>
    Result<T> change(const gpu::Uuid& gpu, const std::string& what,
                     const Lane::Question<T>& question) {
        last_asked_ = SteadyClock::now();
        return lanes_.ask<T>(gpu, change_deadline_, what + gpu.text, question);
    }
    /// We must not be the client that is in the way.
    Result<gpu::ModeChange> set_mode(const gpu::Uuid& gpu, bool enabled) {
        const FaultWatch::Pause pause(lanes_.faults());
        return change<gpu::ModeChange>(
            gpu, "change of the MIG mode of ",
            [gpu, enabled](Session& session) { return session.set_mode(gpu, enabled); });
    }
    Result<Done> reset(const gpu::Uuid& gpu, const std::set<gpu::Uuid>& may_lose_instances) {
        const FaultWatch::Pause pause(lanes_.faults());
        return lanes_.across().ask<Done>("reset of " + gpu.text, reset_deadline_,
                                         [gpu, may_lose_instances](Session& session) {
                                             return session.reset(gpu, may_lose_instances);
                                         });
    }
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds timeout) {
        const bool conversation = SteadyClock::now() - last_asked_.load() < kConversation;
        return lanes_.wait_faults(conversation ? FaultWatch::kShortSlice : FaultWatch::kSlice,
                                  timeout);
    }

    [[nodiscard]] GpuLanes& lanes() { return lanes_; }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
    std::chrono::milliseconds deadline_;
    std::chrono::milliseconds change_deadline_;
    std::chrono::milliseconds reset_deadline_;
    std::atomic<SteadyClock::time_point> last_asked_{SteadyClock::time_point{}};
    GpuLanes lanes_;
};

Driver::Driver(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Driver::~Driver() = default;

Result<std::unique_ptr<Driver>> Driver::open(const os::Root& root, DriverOptions options) {
    auto attachment = Attachment::open(root, options.driver_root);
    if (!attachment) return std::move(attachment).error();
    return std::unique_ptr<Driver>(
        new Driver(std::make_unique<Implementation>(*std::move(attachment), root, options)));
}

const std::string& Driver::library_path() const { return implementation_->path(); }

Result<gpu::Inventory> Driver::enumerate(gpu::Links links) {
    return implementation_->lanes().enumerate(links);
}

Result<gpu::Sample> Driver::sample(const gpu::Uuid& gpu) {
    return implementation_->ask<gpu::Sample>(
        gpu, "sample of ", [gpu](Session& session) { return session.sample(gpu); });
}

Result<std::vector<gpu::Process>> Driver::processes(const gpu::Uuid& gpu) {
    return implementation_->ask<std::vector<gpu::Process>>(
        gpu, "processes of ", [gpu](Session& session) { return session.processes(gpu); });
}

Result<std::vector<gpu::Probe>> Driver::probe(const std::vector<gpu::Uuid>& gpus) {
    return implementation_->lanes().probe(gpus);
}

Result<gpu::ComputeMode> Driver::compute_mode(const gpu::Uuid& gpu) {
    return implementation_->ask<gpu::ComputeMode>(
        gpu, "compute mode of ", [gpu](Session& session) { return session.compute_mode(gpu); });
}

Result<Done> Driver::set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) {
    return implementation_->ask<Done>(
        gpu, "change of the compute mode of ",
        [gpu, mode](Session& session) { return session.set_compute_mode(gpu, mode); });
}

Result<Done> Driver::set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                      std::uint64_t bytes) {
    return implementation_->ask<Done>(
        gpu, "limit of memory of ", [gpu, cgroup_directory, bytes](Session& session) {
            return session.set_memory_limit(gpu, cgroup_directory, bytes);
        });
}

Result<gpu::Partitions> Driver::partitions(const gpu::Uuid& gpu) {
    return implementation_->ask<gpu::Partitions>(
        gpu, "partitions of ", [gpu](Session& session) { return session.partitions(gpu); });
}

Result<gpu::ModeChange> Driver::set_mode(const gpu::Uuid& gpu, bool enabled) {
    return implementation_->set_mode(gpu, enabled);
}

Result<Done> Driver::reset(const gpu::Uuid& gpu, const std::set<gpu::Uuid>& may_lose_instances) {
    return implementation_->reset(gpu, may_lose_instances);
}

Result<unsigned> Driver::create(const gpu::Uuid& gpu, unsigned profile_id,
                                gpu::MigPlacement placement) {
    return implementation_->change<unsigned>(gpu, "new GPU instance of ",
                                             [gpu, profile_id, placement](Session& session) {
                                                 return session.create(gpu, profile_id, placement);
                                             });
}

Result<unsigned> Driver::create_compute(const gpu::Uuid& gpu, unsigned instance, unsigned slices) {
    return implementation_->change<unsigned>(
        gpu, "new compute instance of ", [gpu, instance, slices](Session& session) {
            return session.create_compute(gpu, instance, slices);
        });
}

Result<Done> Driver::destroy_compute(const gpu::Uuid& gpu, unsigned instance, unsigned compute) {
    return implementation_->change<Done>(gpu, "end of a compute instance of ",
                                         [gpu, instance, compute](Session& session) {
                                             return session.destroy_compute(gpu, instance, compute);
                                         });
}

Result<Done> Driver::destroy(const gpu::Uuid& gpu, unsigned instance) {
    return implementation_->change<Done>(
        gpu, "end of a GPU instance of ",
        [gpu, instance](Session& session) { return session.destroy(gpu, instance); });
}

Result<std::vector<gpu::FaultEvent>> Driver::wait_faults(std::chrono::milliseconds timeout) {
    return implementation_->wait_faults(timeout);
}

}  // namespace aliquot::nvml
