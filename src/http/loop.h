// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "http/auth.h"
#include "http/connection.h"
#include "http/message.h"
#include "http/options.h"

namespace aliquot::http {

/// A whole request, to be answered.
struct Job {
    std::uint64_t connection = 0;
    Request request;
    bool keep_alive = false;
    bool takes_chunks = false;
    std::shared_ptr<const Auth> auth;
};

/// The one thread that waits for all connections of a server. It reads whole requests, gives them
/// away as jobs, and writes the replies.
class Loop {
public:
    Loop(Descriptor listener, AuthWatch auth, const ServerOptions& options);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void start(std::function<void(Job)> submit);
    /// Takes no more connections, ends those that are open within the request limit. Blocks.
    void stop();
    /// The reply to a job. Thread-safe; of a connection that is gone it is dropped.
    void answer(std::uint64_t connection, Reply reply);
    /// There is something to take from a reply's stream. Thread-safe.
    void go_on(std::uint64_t connection);
    /// Closes all connections as they are. Thread-safe.
    void cut();

private:
    void run();
    void wake();
    void wait();
    void accept_all();
    bool make_room();
    void take_answers();
    void drop_late();
    void begin_end();
    void advance(std::uint64_t id, Connection& connection);
    /// Whether there is more to do at once.
    bool step(std::uint64_t id, Connection& connection);
    bool read_request(std::uint64_t id, Connection& connection);
    bool give_away(std::uint64_t id, Connection& connection, Head head);
    bool refuse(Connection& connection, int status, std::string_view reason);
    bool pump(std::uint64_t id, Connection& connection);
    bool finish_reply(Connection& connection);
    bool linger(Connection& connection);
    /// Acts on what did not come to an end; always false.
    bool pause(std::uint64_t id, Connection& connection, Progress progress);
    void enter(Connection& connection, Connection::Phase phase, std::chrono::milliseconds limit);
    void arm(int descriptor, std::uint64_t id, std::uint32_t events);
    [[nodiscard]] int patience() const;

    const ServerOptions options_;
    Descriptor listener_;
    Descriptor poll_;
    Descriptor wake_;
    AuthWatch auth_;
    std::function<void(Job)> submit_;
    std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
    std::vector<std::uint64_t> done_;  // to be dropped after the step
    std::uint64_t next_id_ = 2;        // 0 is the listener, 1 the wake
    SteadyTime accept_again_{};        // when there were no descriptors left
    bool accepting_ = true;
    SteadyTime end_by_{};

    std::atomic<bool> stopping_{false};
    std::atomic<bool> cutting_{false};
    std::mutex mutex_;  // guards what follows
    std::vector<std::pair<std::uint64_t, Reply>> replies_;
    std::vector<std::uint64_t> streaming_;  // connections whose stream goes on
    std::jthread thread_;                   // last: it uses all the others
};

}  // namespace aliquot::http
