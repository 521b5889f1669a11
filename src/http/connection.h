// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "http/auth.h"
#include "http/budget.h"
#include "http/job.h"
#include "http/tls.h"

namespace aliquot::http {

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime now() { return std::chrono::steady_clock::now(); }

class StreamPipe;

/// An answer as bytes.
struct Reply {
    std::optional<bool> password_right;       // when that was the question
    bool of_large_body = false;               // the request's
    std::string head;                         // empty: no answer, just the end
    std::shared_ptr<const std::string> body;  // may be null
    bool close = false;
    std::shared_ptr<StreamPipe> stream;  // what follows; may be null
};

/// One client's socket, and what came in and is to go out. Used by the loop's thread only.
class Connection {
public:
    enum class Phase : std::uint8_t {
        kGreeting,   // TLS
        kReading,    // a request, or the wait for one
        kWaiting,    // a whole request, until a worker is free for it
        kWorking,    // the handler runs
        kWriting,    // the answer
        kStreaming,  // the answer goes on as long as its writer likes
        kLingering,  // the answer is out: the other side has a moment to read it before we close
    };

    Connection(Descriptor socket, std::shared_ptr<const Auth> auth, Budget& budget,
               const Peer& peer);
    ~Connection();  // tells the writer of a stream
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] int socket() const { return socket_.get(); }
    [[nodiscard]] const std::shared_ptr<const Auth>& auth() const { return auth_; }
    [[nodiscard]] bool is_idle() const {
        return phase == Phase::kReading && input.empty() && requests > 0;
    }

    Progress greet();
    /// Appends what there is to `input`, at most one portion.
    Progress fill();
    /// Writes what is left of the reply. kDone: all is out.
    Progress drain();
    /// Writes what there is of a stream. kWantsRead: all is out, more may come; kDone: it has
    /// ended; kClosed: its writer broke it off, or the other side is gone.
    Progress pump();
    void start_reply(Reply reply);
    [[nodiscard]] bool has_stream() const { return reply_.stream != nullptr; }
    /// Sends a few bytes that must not wait for anything else.
    void say(std::string_view text);
    /// Sends bytes past TLS: for who does not speak it.
    void say_plain(std::string_view text) const;
    /// No more goes out.
    void end_output();
    /// Throws away what comes in. kClosed: the other side is done, or has sent too much.
    Progress discard();
    [[nodiscard]] bool reply_closes() const { return reply_.close; }
    /// About what it costs in memory, the kernel's buffers included.
    [[nodiscard]] std::size_t held_bytes() const;

    Phase phase;
    SteadyTime deadline;
    SteadyTime since;   // begin of the phase
    SteadyTime began;   // of the request, or of the wait for it
    std::string input;  // not yet used
    std::string peer_name;
    std::vector<std::string> peer_groups;
    std::unique_ptr<Head> head;  // of the request that is being read, once it is whole
    std::unique_ptr<Job> job;    // that waits
    Budget::Hold hold;
    SteadyTime moved;       // when bytes of the answer last went out
    unsigned requests = 0;  // answered
    bool told_continue = false;
    bool verified = false;        // by a password or a client's certificate
    std::size_t given_bytes = 0;  // of the request that a worker has

private:
    /// more   further bytes follow at once
    Progress write_some(std::string_view text, bool more, std::size_t& bytes);

    Descriptor socket_;
    std::shared_ptr<const Auth> auth_;
    std::unique_ptr<TlsSession> tls_;
    Reply reply_;
    std::string streamed_;
    std::size_t sent_ = 0;  // of head and body, or of streamed_
    std::size_t discarded_ = 0;
};

}  // namespace aliquot::http
