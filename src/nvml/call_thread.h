// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace aliquot::nvml {

/// The function a thread is in, as a string that lives for ever; nullptr: in none. Thread-safe.
class CallPosition {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit CallPosition(const char* function) : function_(function) {}
    void store(const char* function) {
        if (function != nullptr) since_ = std::chrono::steady_clock::now();
        function_ = function;
    }
    [[nodiscard]] const char* load() const { return function_; }
    /// When the function was entered that was entered last.
    [[nodiscard]] Time since() const { return since_; }

private:
    std::atomic<const char*> function_;
    std::atomic<Time> since_{Time{}};
};

/// A call that has not returned in the time that its job was given.
struct Hang {
    std::chrono::steady_clock::time_point since;  // the function was entered
    Error error;                                  // kUnavailable; the same for as long as it lasts
};

/// One thread for calls that may never return: a driver that hangs leaves its caller in the kernel,
/// where nothing can end it. Callers wait with a deadline; when it passes they go on and the job
/// stays behind, so a job must own all it touches. While a left-behind job runs every call is
/// answered at once; when it returns the thread works again by itself.
///
/// Thread-safe. Jobs run one at a time in the order of their calls.
class CallThread {
public:
    /// Calls that may wait at once; one more is answered kUnavailable.
    static constexpr std::size_t kQueueLimit = 64;
    /// How long the destructor waits for a job that runs before it leaves the thread behind.
    static constexpr std::chrono::milliseconds kGrace{2000};

    /// position   where a running job is, for messages
    /// at_end     runs on the thread as its last job; must own all it touches
    CallThread(std::shared_ptr<const CallPosition> position, std::function<void()> at_end);
    /// Never takes longer than kGrace; a thread that does not come back is detached.
    ~CallThread();
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;

    /// Runs `job` on the thread. Success means that it has returned.
    /// what     names the job in messages: "sample of GPU-3f2a"
    /// errors   kUnavailable: not done within `deadline` (a job that waited in the queue is
    ///          dropped), or an earlier job is left behind, or the queue is full
    Result<Done> run(const std::string& what, std::chrono::milliseconds deadline,
                     std::function<void()> job);

    /// The two halves of run(), for who has several threads at work: gives the job to the thread,
    /// then waits for it until `end`. Each Begun is to be waited for, by one caller, or by nobody
    /// when the caller sees to it that they do not pile up.
    /// allowed   how long the job may run before that is a Hang
    class Begun;
    Result<Begun> begin(const std::string& what, std::chrono::milliseconds allowed,
                        std::function<void()> job);
    Result<Done> wait(const Begun& begun, std::chrono::steady_clock::time_point end);

    /// Whether a job is left behind: every call would be answered kUnavailable.
    [[nodiscard]] bool stuck() const;

private:
    struct Job;
    struct State;

public:
    /// Sees from elsewhere whether the thread hangs; outlives it. Thread-safe.
    class Monitor {
    public:
        [[nodiscard]] std::optional<Hang> hang() const;
        /// Neither the thread nor a job that it left behind exists any more.
        [[nodiscard]] bool expired() const { return state_.expired(); }

    private:
        friend class CallThread;
        explicit Monitor(const std::shared_ptr<State>& state) : state_(state) {}
        std::weak_ptr<State> state_;
    };
    [[nodiscard]] Monitor monitor() const { return Monitor(state_); }

private:
    std::shared_ptr<State> state_;  // the thread's own share keeps it alive when left behind
};

class CallThread::Begun {
private:
    friend class CallThread;
    explicit Begun(std::shared_ptr<Job> job) : job_(std::move(job)) {}
    std::shared_ptr<Job> job_;
};

}  // namespace aliquot::nvml
