// SPDX-License-Identifier: Apache-2.0
#include "http/crew.h"

#include <pthread.h>

#include <system_error>

#include "base/log.h"

namespace aliquot::http {

Crew::Crew(unsigned threads, Work work, Done done)
    : most_threads_(threads == 0 ? 1 : threads), work_(std::move(work)), done_(std::move(done)) {
    add_thread();
}

Crew::~Crew() {
    for (std::jthread& thread : threads_) thread.request_stop();
}

void Crew::add_thread() {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    ::pthread_setname_np(threads_.back().native_handle(), "web-work");
}

void Crew::submit(Job job) {
    bool more = false;
    {
        const std::scoped_lock lock(mutex_);
        quick_.push_back(std::move(job));
        more = quick_.size() > waiting_ && threads_.size() < most_threads_;
    }
    changed_.notify_one();
    if (!more) return;
    try {
        add_thread();
    } catch (const std::system_error& problem) {
        log::warning("web.thread_refused", {{"reason", problem.what()}});
    }
}

void Crew::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        ++waiting_;
        const bool work = changed_.wait(
            lock, stop, [this] { return !quick_.empty() || (!slow_.empty() && !slow_busy_); });
        --waiting_;
        if (!work || stop.stop_requested()) return;
        const bool slow = quick_.empty();
        std::deque<Job>& lane = slow ? slow_ : quick_;
        Job job = std::move(lane.front());
        lane.pop_front();
        if (slow) slow_busy_ = true;
        lock.unlock();
        auto reply = work_(job, slow);
        if (reply) done_(job.connection, *std::move(reply));
        lock.lock();
        if (slow) slow_busy_ = false;
        if (!reply) slow_.push_back(std::move(job));
        if (!slow_.empty()) changed_.notify_one();
    }
}

}  // namespace aliquot::http
