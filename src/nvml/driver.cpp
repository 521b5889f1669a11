// SPDX-License-Identifier: Apache-2.0
#include "nvml/driver.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "nvml/call_thread.h"
#include "nvml/session.h"

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// The longest that wait_faults() keeps the thread from the calls of others.
constexpr std::chrono::milliseconds kFaultSlice{50};

/// Whoever has asked so lately will ask again: a change of MIG is hundreds of short questions, and
/// each would wait for a slice of faults.
constexpr std::chrono::milliseconds kConversation{100};
/// How often faults are looked for beside that.
constexpr std::chrono::milliseconds kBesideOthers{10};

/// What a reset takes besides the program that does it.
constexpr std::chrono::milliseconds kResetGrace{5000};

}  // namespace

class Driver::Implementation {
public:
    Implementation(std::shared_ptr<Session> session, std::shared_ptr<CallPosition> position,
                   std::string path, const DriverOptions& options)
        : session_(session),
          path_(std::move(path)),
          deadline_(options.deadline),
          change_deadline_(std::max(options.deadline, options.change_deadline)),
          reset_deadline_(options.reset_deadline + kResetGrace),
          thread_(std::move(position), [session = std::move(session)] { session->end(); }) {}

    template <class T>
    Result<T> ask(const std::string& what, std::function<Result<T>(Session&)> question) {
        last_asked_ = SteadyClock::now();
        return ask_within<T>(deadline_, what, std::move(question));
    }
    Result<FaultEvents::Look> look_for_faults(std::chrono::milliseconds slice) {
        return ask_within<FaultEvents::Look>(
            deadline_, "wait for faults",
            [slice](Session& session) { return session.look_for_faults(slice); });
    }
    [[nodiscard]] bool in_conversation() const {
        return SteadyClock::now() - last_asked_.load() < kConversation;
    }
    template <class T>
    Result<T> change(const std::string& what, std::function<Result<T>(Session&)> question) {
        last_asked_ = SteadyClock::now();
        return ask_within<T>(change_deadline_, what, std::move(question));
    }
    template <class T>
    Result<T> reset(const std::string& what, std::function<Result<T>(Session&)> question) {
        return ask_within<T>(reset_deadline_, what, std::move(question));
    }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    /// Puts `question` to the session on the library's thread. The answer's place and the session
    /// belong to the job as well: it may finish long after we have gone.
    template <class T>
    Result<T> ask_within(std::chrono::milliseconds deadline, const std::string& what,
                         std::function<Result<T>(Session&)> question) {
        auto answer = std::make_shared<std::optional<Result<T>>>();
        auto done = thread_.run(what, deadline,
                                [answer, session = session_, question = std::move(question)] {
                                    answer->emplace(question(*session));
                                });
        if (!done) return std::move(done).error();
        return **std::move(answer);
    }

    std::shared_ptr<Session> session_;
    std::string path_;
    std::chrono::milliseconds deadline_;
    std::chrono::milliseconds change_deadline_;
    std::chrono::milliseconds reset_deadline_;
    std::atomic<SteadyClock::time_point> last_asked_{SteadyClock::time_point{}};
    CallThread thread_;  // last: its end comes first
};

Driver::Driver(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Driver::~Driver() = default;

Result<std::unique_ptr<Driver>> Driver::open(const os::Root& root, DriverOptions options) {
    const auto position = std::make_shared<CallPosition>(nullptr);
    auto attachment = Attachment::open(root, options.driver_root);
    if (!attachment) return std::move(attachment).error();
    std::string path = (*attachment)->path();
    auto session = std::make_shared<Session>(*std::move(attachment), position, root, options);
    return std::unique_ptr<Driver>(new Driver(
        std::make_unique<Implementation>(std::move(session), position, std::move(path), options)));
}

const std::string& Driver::library_path() const { return implementation_->path(); }

Result<gpu::Inventory> Driver::enumerate(gpu::Links links) {
    return implementation_->ask<gpu::Inventory>(
        "enumeration of the GPUs", [links](Session& session) { return session.enumerate(links); });
}

Result<gpu::Sample> Driver::sample(const gpu::Uuid& gpu) {
    return implementation_->ask<gpu::Sample>(
        "sample of " + gpu.text, [gpu](Session& session) { return session.sample(gpu); });
}

Result<std::vector<gpu::Process>> Driver::processes(const gpu::Uuid& gpu) {
    return implementation_->ask<std::vector<gpu::Process>>(
        "processes of " + gpu.text, [gpu](Session& session) { return session.processes(gpu); });
}

Result<std::vector<gpu::Probe>> Driver::probe(const std::vector<gpu::Uuid>& gpus) {
    return implementation_->ask<std::vector<gpu::Probe>>(
        "probe of " + std::to_string(gpus.size()) + " GPUs",
        [gpus](Session& session) { return session.probe(gpus); });
}

Result<gpu::ComputeMode> Driver::compute_mode(const gpu::Uuid& gpu) {
    return implementation_->ask<gpu::ComputeMode>(
        "compute mode of " + gpu.text,
        [gpu](Session& session) { return session.compute_mode(gpu); });
}

Result<Done> Driver::set_compute_mode(const gpu::Uuid& gpu, gpu::ComputeMode mode) {
    return implementation_->ask<Done>(
        "change of the compute mode of " + gpu.text,
        [gpu, mode](Session& session) { return session.set_compute_mode(gpu, mode); });
}

Result<Done> Driver::set_memory_limit(const gpu::Uuid& gpu, const std::string& cgroup_directory,
                                      std::uint64_t bytes) {
    return implementation_->ask<Done>(
        "limit of memory of " + gpu.text, [gpu, cgroup_directory, bytes](Session& session) {
            return session.set_memory_limit(gpu, cgroup_directory, bytes);
        });
}

Result<gpu::Partitions> Driver::partitions(const gpu::Uuid& gpu) {
    return implementation_->ask<gpu::Partitions>(
        "partitions of " + gpu.text, [gpu](Session& session) { return session.partitions(gpu); });
}

Result<gpu::ModeChange> Driver::set_mode(const gpu::Uuid& gpu, bool enabled) {
    return implementation_->change<gpu::ModeChange>(
        "change of the MIG mode of " + gpu.text,
        [gpu, enabled](Session& session) { return session.set_mode(gpu, enabled); });
}

Result<Done> Driver::reset(const gpu::Uuid& gpu, const std::set<gpu::Uuid>& may_lose_instances) {
    return implementation_->reset<Done>("reset of " + gpu.text,
                                        [gpu, may_lose_instances](Session& session) {
                                            return session.reset(gpu, may_lose_instances);
                                        });
}

Result<unsigned> Driver::create(const gpu::Uuid& gpu, unsigned profile_id,
                                gpu::MigPlacement placement) {
    return implementation_->change<unsigned>("new GPU instance of " + gpu.text,
                                             [gpu, profile_id, placement](Session& session) {
                                                 return session.create(gpu, profile_id, placement);
                                             });
}

Result<unsigned> Driver::create_compute(const gpu::Uuid& gpu, unsigned instance, unsigned slices) {
    return implementation_->change<unsigned>(
        "new compute instance of " + gpu.text, [gpu, instance, slices](Session& session) {
            return session.create_compute(gpu, instance, slices);
        });
}

Result<Done> Driver::destroy_compute(const gpu::Uuid& gpu, unsigned instance, unsigned compute) {
    return implementation_->change<Done>("end of a compute instance of " + gpu.text,
                                         [gpu, instance, compute](Session& session) {
                                             return session.destroy_compute(gpu, instance, compute);
                                         });
}

Result<Done> Driver::destroy(const gpu::Uuid& gpu, unsigned instance) {
    return implementation_->change<Done>(
        "end of a GPU instance of " + gpu.text,
        [gpu, instance](Session& session) { return session.destroy(gpu, instance); });
}

Result<std::vector<gpu::FaultEvent>> Driver::wait_faults(std::chrono::milliseconds timeout) {
    const auto end = SteadyClock::now() + timeout;
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
        const bool beside = implementation_->in_conversation();
        const auto slice =
            std::clamp(left, std::chrono::milliseconds{0}, beside ? kBesideOthers : kFaultSlice);
        auto look = implementation_->look_for_faults(beside ? std::chrono::milliseconds{0} : slice);
        if (!look) return std::move(look).error();
        if (!look->events.empty()) return std::move(look->events);
        if (SteadyClock::now() >= end) return std::vector<gpu::FaultEvent>{};
        // Polled: nobody else can be listened to, and the library's thread is for those who ask.
        if (beside || !look->listening) std::this_thread::sleep_for(slice);
    }
}

}  // namespace aliquot::nvml
