// SPDX-License-Identifier: Apache-2.0
#include "nvml/call_thread.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/time_text.h"

namespace aliquot::nvml {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::string seconds_text(SteadyClock::duration duration) {
    const auto tenths =
        std::chrono::duration_cast<std::chrono::milliseconds>(duration).count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

struct CallThread::Job {
    std::string what;
    std::function<void()> body;
    std::chrono::milliseconds allowed{0};
    SteadyClock::time_point begun;
    SteadyClock::time_point started;
    std::chrono::system_clock::time_point started_at;
    bool finished = false;
    bool left_behind = false;  // its caller has gone
};

struct CallThread::State {
    std::mutex mutex;
    std::condition_variable work;      // wakes the thread
    std::condition_variable progress;  // wakes the callers
    std::deque<std::shared_ptr<Job>> queue;
    std::shared_ptr<Job> running;
    bool stopping = false;
    bool ended = false;
    std::shared_ptr<const CallPosition> position;
    std::function<void()> at_end;
    std::thread thread;

    /// Says what keeps the thread busy; the mutex is held.
    [[nodiscard]] std::string running_text() const {
        if (!running) return "nothing runs";
        const char* const function = position->load();
        return "'" + running->what + "'" +
               (function != nullptr ? " is in " + std::string(function) : std::string(" runs")) +
               " for " + seconds_text(SteadyClock::now() - running->started);
    }

    [[nodiscard]] bool stuck() const { return running && running->left_behind; }

    /// The same for as long as it hangs, whoever asks: it is told to people and written to the Node.
    [[nodiscard]] Error stuck_error() const {
        const char* const function = position->load();
        return {ErrorCode::kUnavailable,
                "the NVIDIA driver hangs since " + rfc3339(running->started_at) + ": '" +
                    running->what + "'" +
                    (function != nullptr ? " is in " + std::string(function) : " has not ended") +
                    "; it is asked again when that returns. Look at dmesg (NVRM, Xid); a GPU "
                    "reset or a reboot fixes it"};
    }

    [[nodiscard]] std::optional<Hang> hang() const {
        if (!running || SteadyClock::now() - running->started < running->allowed) {
            return std::nullopt;
        }
        const bool inside = position->load() != nullptr;
        return Hang{std::max(inside ? position->since() : running->started, running->started),
                    stuck_error()};
    }

    void serve() {
        std::unique_lock lock(mutex);
        for (;;) {
            work.wait(lock, [this] { return stopping || !queue.empty(); });
            if (stopping) break;
            running = std::move(queue.front());
            queue.pop_front();
            running->started = SteadyClock::now();
            running->started_at = std::chrono::system_clock::now();
            const std::shared_ptr<Job> job = running;
            lock.unlock();
            job->body();
            job->body = nullptr;  // what it owns ends here, not with the last caller
            lock.lock();
            job->finished = true;
            running = nullptr;
            progress.notify_all();
        }
        lock.unlock();
        if (at_end) at_end();
        at_end = nullptr;
        lock.lock();
        ended = true;
        progress.notify_all();
    }
};

CallThread::CallThread(std::shared_ptr<const CallPosition> position, std::function<void()> at_end)
    : state_(std::make_shared<State>()) {
    state_->position = std::move(position);
    state_->at_end = std::move(at_end);
    state_->thread = std::thread([state = state_] {
        ::pthread_setname_np(::pthread_self(), "nvml");
        state->serve();
    });
}

CallThread::~CallThread() {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    state_->queue.clear();
    state_->work.notify_all();
    state_->progress.notify_all();
    const bool ended = !state_->stuck() && !state_->hang() &&
                       state_->progress.wait_for(lock, kGrace, [this] { return state_->ended; });
    std::thread thread = std::move(state_->thread);
    lock.unlock();
    if (ended) {
        thread.join();
    } else {
        thread.detach();
    }
}

Result<CallThread::Begun> CallThread::begin(const std::string& what,
                                            std::chrono::milliseconds allowed,
                                            std::function<void()> job) {
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (state.stuck()) return state.stuck_error();
    if (state.queue.size() >= kQueueLimit) {
        return Error{ErrorCode::kUnavailable, what + ": " + std::to_string(kQueueLimit) +
                                                  " calls wait for the NVIDIA driver already; " +
                                                  state.running_text()};
    }
    const auto mine = std::make_shared<Job>();
    mine->what = what;
    mine->body = std::move(job);
    mine->allowed = allowed;
    mine->begun = SteadyClock::now();
    state.queue.push_back(mine);
    state.work.notify_one();
    return Begun(mine);
}

Result<Done> CallThread::wait(const Begun& begun, SteadyClock::time_point end) {
    State& state = *state_;
    const std::shared_ptr<Job>& mine = begun.job_;
    std::unique_lock lock(state.mutex);
    state.progress.wait_until(lock, end, [&state, &mine] {
        return mine->finished || state.stopping || (state.stuck() && state.running != mine);
    });
    if (mine->finished) return Done{};
    if (state.running == mine) {
        mine->left_behind = true;
        state.progress.notify_all();  // whoever waits behind it need not wait out its deadline
        return state.stuck_error();
    }
    std::erase(state.queue, mine);
    if (state.stuck()) return state.stuck_error();
    return Error{ErrorCode::kUnavailable, mine->what + ": the NVIDIA driver was busy for " +
                                              seconds_text(SteadyClock::now() - mine->begun) +
                                              ": " + state.running_text()};
}

Result<Done> CallThread::run(const std::string& what, std::chrono::milliseconds deadline,
                             std::function<void()> job) {
    const auto end = SteadyClock::now() + deadline;
    const auto begun = begin(what, deadline, std::move(job));
    if (!begun) return begun.error();
    return wait(*begun, end);
}

std::optional<Hang> CallThread::Monitor::hang() const {
    const auto state = state_.lock();
    if (!state) return std::nullopt;
    const std::lock_guard lock(state->mutex);
    return state->hang();
}

bool CallThread::stuck() const {
    const std::lock_guard lock(state_->mutex);
    return state_->stuck();
}

}  // namespace aliquot::nvml
