// SPDX-License-Identifier: Apache-2.0
#include "http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "http/stream.h"

namespace aliquot::http {
namespace {

constexpr std::size_t kPortion = 16384;
constexpr std::size_t kLeastHeld = 4096;             // the socket's and our own bookkeeping
constexpr std::size_t kHeldByTls = 12U << 10U;       // a session that is idle
constexpr std::size_t kHeldByGreeting = 48U << 10U;  // one with its buffers
constexpr std::size_t kMostSent = 128U << 10U;       // in the kernel's buffer, on its way
constexpr std::size_t kMostDiscarded = 1U << 20U;

Progress after_failure(Progress wanted) {
    return errno == EAGAIN || errno == EINTR ? wanted : Progress::kClosed;
}

Progress receive(int socket, std::span<char> room, std::size_t& bytes) {
    const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
    if (got < 0) return after_failure(Progress::kWantsRead);
    bytes = static_cast<std::size_t>(got);
    return got == 0 ? Progress::kClosed : Progress::kDone;
}

}  // namespace

Connection::Connection(Descriptor socket, std::shared_ptr<const Auth> auth, Budget& budget,
                       const Peer& peer)
    : phase(auth->tls == nullptr ? Phase::kReading : Phase::kGreeting),
      hold(budget, peer),
      socket_(std::move(socket)),
      auth_(std::move(auth)) {
    // Head and body are two writes: the second must not wait until the first is acknowledged.
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (auth_->tls != nullptr) {
        tls_ = std::make_unique<TlsSession>(auth_->tls, socket_.get());
    }
}

Connection::~Connection() {
    if (reply_.stream != nullptr) reply_.stream->close();
}

Progress Connection::greet() {
    const Progress progress = tls_->greet();
    if (progress == Progress::kDone) {
        peer_name = tls_->peer_name();
        peer_groups = tls_->peer_groups();
        verified = !peer_name.empty();
    }
    return progress;
}

Progress Connection::fill() {
    std::array<char, kPortion> room;  // NOLINT(*member-init): 16 KiB that are written anyway
    std::size_t bytes = 0;
    const Progress progress =
        tls_ != nullptr ? tls_->read(room, bytes) : receive(socket_.get(), room, bytes);
    if (progress == Progress::kDone) input.append(room.data(), bytes);
    return progress;
}

std::size_t Connection::held_bytes() const {
    std::size_t bytes = kLeastHeld + input.size() + given_bytes;
    if (tls_ != nullptr) bytes += phase == Phase::kGreeting ? kHeldByGreeting : kHeldByTls;
    if (job != nullptr) bytes += job->request.body.size();
    const std::size_t answer =
        reply_.head.size() + (reply_.body == nullptr ? 0 : reply_.body->size());
    if (phase == Phase::kWriting) bytes += answer + std::min(answer, kMostSent);
    return bytes;
}

Progress Connection::write_some(std::string_view text, bool more, std::size_t& bytes) {
    if (tls_ != nullptr) return tls_->write(text, bytes);
    const ssize_t sent =
        ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (sent < 0) return after_failure(Progress::kWantsWrite);
    bytes = static_cast<std::size_t>(sent);
    return Progress::kDone;
}

void Connection::start_reply(Reply reply) {
    reply_ = std::move(reply);
    sent_ = 0;
}

Progress Connection::drain() {
    const std::string_view body = reply_.body == nullptr ? std::string_view{} : *reply_.body;
    while (sent_ < reply_.head.size() + body.size()) {
        const bool in_head = sent_ < reply_.head.size();
        const std::string_view rest = in_head ? std::string_view(reply_.head).substr(sent_)
                                              : body.substr(sent_ - reply_.head.size());
        std::size_t bytes = 0;
        const Progress progress = write_some(rest, in_head && !body.empty(), bytes);
        if (progress != Progress::kDone) return progress;
        sent_ += bytes;
        moved = std::chrono::steady_clock::now();
    }
    reply_.body.reset();
    sent_ = 0;
    return Progress::kDone;
}

Progress Connection::pump() {
    while (true) {
        if (sent_ == streamed_.size()) {
            streamed_.clear();
            sent_ = 0;
            const StreamPipe::State state = reply_.stream->take(streamed_);
            if (streamed_.empty()) {
                if (state == StreamPipe::State::kOpen) return Progress::kWantsRead;
                reply_.stream.reset();
                return state == StreamPipe::State::kEnded ? Progress::kDone : Progress::kClosed;
            }
        }
        std::size_t bytes = 0;
        const Progress progress =
            write_some(std::string_view(streamed_).substr(sent_), false, bytes);
        if (progress != Progress::kDone) {
            return progress == Progress::kClosed ? progress : Progress::kWantsWrite;
        }
        sent_ += bytes;
    }
}

void Connection::say(std::string_view text) {
    std::size_t bytes = 0;
    (void)write_some(text, false, bytes);
}

void Connection::say_plain(std::string_view text) const {
    (void)::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

void Connection::end_output() {
    if (tls_ != nullptr) tls_->close();
    ::shutdown(socket_.get(), SHUT_WR);
}

Progress Connection::discard() {
    std::array<char, kPortion> room;  // NOLINT(*member-init)
    while (discarded_ < kMostDiscarded) {
        std::size_t bytes = 0;
        const Progress progress = receive(socket_.get(), room, bytes);
        if (progress != Progress::kDone) return progress;
        discarded_ += bytes;
    }
    return Progress::kClosed;
}

}  // namespace aliquot::http
