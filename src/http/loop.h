// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/wake.h"
#include "http/auth.h"
#include "http/budget.h"
#include "http/check_order.h"
#include "http/connection.h"
#include "http/job.h"
#include "http/message.h"
#include "http/options.h"

namespace aliquot::http {

/// The one thread that waits for all connections of a server. It reads whole requests, gives them
/// away as jobs, and writes the replies. Nothing is kept of a request that will be refused, peers
/// take turns with the workers, and who is missed least gives way when there is no room.
class Loop {
public:
    Loop(Descriptor listener, AuthWatch auth, const ServerOptions& options);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Why it could not hear of anything, as an errno; 0: it can, and may be started.
    [[nodiscard]] int problem() const { return problem_; }
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
    void wait();
    void accept_some();
    void take_in(Descriptor socket, const Peer& peer);
    enum class Scarce : std::uint8_t { kConnections, kBytes };
    /// Closes the connection that is missed least; false: there is none. `but` stays.
    bool make_room(Scarce scarce, const Connection* but);
    void keep_within_budget(std::uint64_t id, Connection& connection);
    void take_answers();
    void drop_late();
    void begin_end();
    void advance(std::uint64_t id, Connection& connection);
    /// Whether there is more to do at once.
    bool step(std::uint64_t id, Connection& connection);
    bool read_request(std::uint64_t id, Connection& connection);
    /// What is answered without its body and without a worker.
    [[nodiscard]] std::optional<Response> answer_at_once(const Head& head, const Auth& auth) const;
    bool say_at_once(Connection& connection, Response answer);
    bool give_away(std::uint64_t id, Connection& connection);
    void start(Connection& connection);
    void start_waiting();
    Connection* next_waiting();
    Connection* next_check();
    void line_up(Connection& connection);
    void start_check(Connection& connection);
    void note_checked(bool right);
    bool refuse(Connection& connection, int status, std::string_view reason);
    bool pump(std::uint64_t id, Connection& connection);
    bool finish_reply(Connection& connection);
    bool linger(Connection& connection);
    /// Acts on what did not come to an end; always false.
    bool pause(std::uint64_t id, Connection& connection, Progress progress);
    void enter(Connection& connection, Connection::Phase phase, std::chrono::milliseconds limit);
    void arm(int descriptor, std::uint64_t id, std::uint32_t events);
    [[nodiscard]] int patience() const;
    [[nodiscard]] unsigned most_running() const {
        return options_.most_requests == 0 ? options_.threads : options_.most_requests;
    }
    [[nodiscard]] bool may_run(const Job& job) const {
        return !job.large || large_run_ < options_.most_large_bodies;
    }

    const ServerOptions options_;
    Descriptor listener_;
    Descriptor poll_;
    Wake wake_;
    int problem_ = 0;
    AuthWatch auth_;
    std::function<void(Job)> submit_;
    std::size_t most_connections_;
    Budget budget_;  // outlives the connections
    std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
    std::vector<std::uint64_t> done_;  // to be dropped after the step
    std::uint64_t next_id_ = 2;        // 0 is the listener, 1 the wake
    SteadyTime accept_again_{};        // when there were no descriptors left
    bool accepting_ = true;
    SteadyTime end_by_{};
    unsigned running_ = 0;    // jobs that workers have
    unsigned large_run_ = 0;  // of them, with a large body
    bool some_wait_ = false;  // for a worker
    CheckOrder checks_;
    struct Check {
        Peer peer;
        Passwords::Digest credentials{};
        std::shared_ptr<const Auth> auth;
        SteadyTime began;
    };
    std::optional<Check> check_;                  // that runs
    SteadyTime check_again_ = SteadyTime::max();  // when there is none, and some wait for it

    std::atomic<bool> stopping_{false};
    std::atomic<bool> cutting_{false};
    std::mutex mutex_;  // guards what follows
    std::vector<std::pair<std::uint64_t, Reply>> replies_;
    std::vector<std::uint64_t> streaming_;  // connections whose stream goes on
    std::jthread thread_;                   // last: it uses all the others
};

}  // namespace aliquot::http
