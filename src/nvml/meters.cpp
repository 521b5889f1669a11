// SPDX-License-Identifier: Apache-2.0
#include "nvml/meters.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "base/log.h"
#include "nvml/attachment.h"
#include "nvml/call_thread.h"
#include "nvml/gpu_meter.h"

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// One GPU with the thread that asks it.
class Watch {
public:
    Watch(const std::shared_ptr<Attachment>& attachment, const gpu::Uuid& gpu,
          std::chrono::milliseconds reopen_after)
        : Watch(gpu, std::make_shared<CallPosition>(nullptr), attachment, reopen_after) {}

    [[nodiscard]] const gpu::Uuid& gpu() const { return gpu_; }
    [[nodiscard]] CallThread& thread() { return thread_; }
    [[nodiscard]] std::shared_ptr<GpuMeter> meter() const { return meter_.lock(); }

    /// Which reading was answered in time; both count from 1. Shared with the jobs.
    struct Progress {
        std::uint64_t made = 0;  // the thread's own
        std::atomic<std::uint64_t> delivered = 0;
    };
    [[nodiscard]] const std::shared_ptr<Progress>& progress() const { return progress_; }

private:
    Watch(const gpu::Uuid& gpu, const std::shared_ptr<CallPosition>& position,
          const std::shared_ptr<Attachment>& attachment, std::chrono::milliseconds reopen_after)
        : Watch(gpu, position,
                std::make_shared<GpuMeter>(attachment, position, gpu, reopen_after)) {}
    Watch(gpu::Uuid gpu, const std::shared_ptr<CallPosition>& position,
          std::shared_ptr<GpuMeter> meter)
        : gpu_(std::move(gpu)),
          meter_(meter),
          thread_(position, [meter = std::move(meter)]() mutable { meter.reset(); }) {}

    gpu::Uuid gpu_;
    std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
    std::weak_ptr<GpuMeter> meter_;  // it is the thread's, and ends there with its hold
    CallThread thread_;              // last: its end comes first
};

/// The place of an answer belongs to the job as well: it may finish long after we have gone.
struct Answered {
    Result<gpu::Reading> reading;
    std::uint64_t number = 0;
};
using Place = std::shared_ptr<std::optional<Answered>>;

struct Asked {
    std::shared_ptr<Watch> watch;
    Place answer;
    Result<CallThread::Begun> begun;
};

}  // namespace

class Meters::Implementation {
public:
    Implementation(std::shared_ptr<Attachment> attachment, const DriverOptions& options)
        : path_(attachment->path()),
          attachment_(std::move(attachment)),
          deadline_(options.deadline),
          reopen_after_(options.reopen_after) {}

    ~Implementation() {
        // The last thread to end lets go of the driver, not we: that call may hang too.
        attachment_.reset();
    }

    std::vector<Result<gpu::Reading>> read(std::span<const gpu::MeterQuestion> questions,
                                           std::chrono::milliseconds deadline) {
        const std::lock_guard lock(mutex_);
        const auto end = SteadyClock::now() + deadline;
        std::vector<Asked> all;
        all.reserve(questions.size());
        for (const gpu::MeterQuestion& question : questions) all.push_back(ask(question));
        std::vector<Result<gpu::Reading>> answers;
        answers.reserve(all.size());
        for (Asked& asked : all) {
            answers.push_back(answer(asked, end));
            if (!answers.back() && answers.back().error().code == ErrorCode::kNotFound) {
                std::erase(watches_, asked.watch);
            }
        }
        return answers;
    }

    void release() {
        const std::lock_guard lock(mutex_);
        const auto end = SteadyClock::now() + deadline_;
        for (const auto& watch : watches_) {
            const auto begun = watch->thread().begin("release of the driver", deadline_,
                                                     [meter = watch->meter()] { meter->let_go(); });
            // One that can do it is enough: the hold is the same for all.
            if (begun && watch->thread().wait(*begun, end)) return;
        }
    }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::shared_ptr<Watch> watch_of(const gpu::Uuid& gpu) {
        const auto known = std::ranges::find_if(
            watches_, [&gpu](const auto& watch) { return watch->gpu() == gpu; });
        if (known != watches_.end()) {
            std::rotate(known, known + 1, watches_.end());  // last asked, last to leave
        } else {
            if (watches_.size() >= kMostGpus) watches_.erase(watches_.begin());
            watches_.push_back(std::make_shared<Watch>(attachment_, gpu, reopen_after_));
            attachment_->watch(gpu, watches_.back()->thread().monitor());
        }
        return watches_.back();
    }

    Asked ask(const gpu::MeterQuestion& question) {
        auto watch = watch_of(question.gpu);
        auto place = std::make_shared<std::optional<Answered>>();
        auto begun = watch->thread().begin(
            "reading of " + question.gpu.text, deadline_,
            [place, progress = watch->progress(), meter = watch->meter(), since = question.since] {
                const bool delivered = progress->delivered == progress->made;
                auto reading = meter->read(since, delivered);
                place->emplace(Answered{std::move(reading), ++progress->made});
            });
        return {std::move(watch), std::move(place), std::move(begun)};
    }

    static Result<gpu::Reading> answer(Asked& asked, SteadyClock::time_point end) {
        if (!asked.begun) return std::move(asked.begun).error();
        auto done = asked.watch->thread().wait(*asked.begun, end);
        if (!done) return std::move(done).error();
        asked.watch->progress()->delivered = (*asked.answer)->number;
        return std::move((*asked.answer)->reading);
    }

    std::mutex mutex_;
    std::string path_;
    std::shared_ptr<Attachment> attachment_;
    std::chrono::milliseconds deadline_;
    std::chrono::milliseconds reopen_after_;
    std::vector<std::shared_ptr<Watch>> watches_;  // last asked last
};

Meters::Meters(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Meters::~Meters() = default;

Result<std::unique_ptr<Meters>> Meters::open(const os::Root& root, const DriverOptions& options) {
    auto attachment = Attachment::open(root, options.driver_root);
    if (!attachment) return std::move(attachment).error();
    return std::unique_ptr<Meters>(
        new Meters(std::make_unique<Implementation>(*std::move(attachment), options)));
}

std::vector<Result<gpu::Reading>> Meters::read(std::span<const gpu::MeterQuestion> questions,
                                               std::chrono::milliseconds deadline) {
    return implementation_->read(questions, deadline);
}

void Meters::release() { implementation_->release(); }

const std::string& Meters::library_path() const { return implementation_->path(); }

DeferredMeters::DeferredMeters(const os::Root& root, DriverOptions options,
                               std::chrono::milliseconds retry_after)
    : root_(root), options_(std::move(options)), retry_after_(retry_after) {}

Result<std::shared_ptr<nvml::Meters>> DeferredMeters::open() {
    const std::lock_guard lock(mutex_);
    if (meters_) return meters_;
    const auto now = SteadyClock::now();
    if (tried_ && now - tried_at_ < retry_after_) return problem_;
    tried_ = true;
    tried_at_ = now;
    auto opened = nvml::Meters::open(root_, options_);
    if (!opened) return problem_ = std::move(opened).error();
    meters_ = *std::move(opened);
    log::info("meters.opened", {{"library", meters_->library_path()}});
    return meters_;
}

std::vector<Result<gpu::Reading>> DeferredMeters::read(
    std::span<const gpu::MeterQuestion> questions, std::chrono::milliseconds deadline) {
    const auto meters = open();
    if (meters) return (*meters)->read(questions, deadline);
    Error problem = meters.error();
    problem.code = ErrorCode::kUnavailable;
    return std::vector<Result<gpu::Reading>>(questions.size(), problem);
}

void DeferredMeters::release() {
    std::shared_ptr<nvml::Meters> meters;
    {
        const std::lock_guard lock(mutex_);
        meters = meters_;
    }
    if (meters) meters->release();
}

}  // namespace aliquot::nvml
