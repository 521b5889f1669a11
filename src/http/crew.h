// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "http/admission.h"
#include "http/connection.h"
#include "http/server.h"

namespace aliquot::http {

/// A whole request, to be answered.
struct Job {
    std::uint64_t connection = 0;
    Request request;
    bool keep_alive = false;
    std::shared_ptr<const Admission> admission;
};

/// Threads that answer jobs; a further one starts when all are busy. Two lanes: a job that turns
/// out to be slow by design (a password to check) goes to the second one, which has one thread at
/// most at a time, so that guessing passwords does not stop those who are known.
class Crew {
public:
    /// slow   whether the job may be slow now; no value: it has to be, ask again in the slow lane
    using Work = std::function<std::optional<Reply>(const Job& job, bool slow)>;
    using Done = std::function<void(std::uint64_t connection, Reply reply)>;

    /// Throws std::system_error when not one thread can be started.
    Crew(unsigned threads, Work work, Done done);
    ~Crew();  // ends what runs, forgets what waits
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    void submit(Job job);  // by one thread only

private:
    void add_thread();
    void run(const std::stop_token& stop);

    const unsigned most_threads_;
    const Work work_;
    const Done done_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Job> quick_;
    std::deque<Job> slow_;
    bool slow_busy_ = false;
    unsigned waiting_ = 0;
    std::vector<std::jthread> threads_;  // last: they use all the others
};

}  // namespace aliquot::http
