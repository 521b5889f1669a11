// SPDX-License-Identifier: Apache-2.0
#include "node_groups/relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>

namespace aliquot::node_groups {
namespace {

using Clock = std::chrono::steady_clock;
using http::Progress;

constexpr std::chrono::seconds kGreeting{10};
constexpr int kPollMs = 200;  // a stop is noticed within
constexpr std::size_t kMostBytes = 64 << 10;

short wanted(Progress progress) { return progress == Progress::kWantsWrite ? POLLOUT : POLLIN; }

bool greet(http::TlsSession& session, int socket, const std::stop_token& stop) {
    const auto until = Clock::now() + kGreeting;
    while (!stop.stop_requested() && Clock::now() < until) {
        const Progress progress = session.greet();
        if (progress == Progress::kDone) return true;
        if (progress == Progress::kClosed || progress == Progress::kPlainHttp) return false;
        pollfd wait{socket, wanted(progress), 0};
        ::poll(&wait, 1, kPollMs);
    }
    return false;
}

/// Both ways of one connection.
class Pipe {
public:
    Pipe(http::TlsSession& session, int inside) : session_(session), inside_(inside) {}

    /// False: it is over.
    bool move() {
        moved_ = false;
        outside_wants_ = 0;
        return read_outside() && write_inside() && read_inside() && write_outside();
    }
    [[nodiscard]] bool moved() const { return moved_; }
    [[nodiscard]] short outside_events() const {
        const bool room = in_.size() < kMostBytes;
        return static_cast<short>((room ? POLLIN : 0) | outside_wants_);
    }
    [[nodiscard]] short inside_events() const {
        return static_cast<short>((out_.size() < kMostBytes ? POLLIN : 0) |
                                  (in_.empty() ? 0 : POLLOUT));
    }

private:
    bool read_outside() {
        while (in_.size() < kMostBytes) {
            std::size_t count = 0;
            const Progress progress = session_.read(buffer_, count);
            if (progress == Progress::kDone) {
                in_.append(buffer_.data(), count);
                moved_ = true;
                continue;
            }
            if (progress == Progress::kWantsWrite) outside_wants_ = POLLOUT;
            return progress == Progress::kWantsRead || progress == Progress::kWantsWrite;
        }
        return true;
    }
    bool write_inside() {
        if (in_.empty()) return true;
        const auto sent = ::send(inside_, in_.data(), in_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        in_.erase(0, static_cast<std::size_t>(sent));
        moved_ = moved_ || sent > 0;
        return true;
    }
    bool read_inside() {
        if (out_.size() >= kMostBytes) return true;
        const auto got = ::recv(inside_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        out_.append(buffer_.data(), static_cast<std::size_t>(got));
        moved_ = true;
        return true;
    }
    bool write_outside() {
        while (!out_.empty()) {
            std::size_t count = 0;
            const Progress progress = session_.write(out_, count);
            if (progress == Progress::kDone) {
                out_.erase(0, count);
                moved_ = true;
                continue;
            }
            if (progress == Progress::kWantsWrite) outside_wants_ = POLLOUT;
            return progress == Progress::kWantsRead || progress == Progress::kWantsWrite;
        }
        return true;
    }

    http::TlsSession& session_;
    int inside_;
    std::array<char, 16 << 10> buffer_{};
    std::string in_;   // to the inside
    std::string out_;  // to the outside
    short outside_wants_ = 0;
    bool moved_ = false;
};

}  // namespace

void relay(Descriptor outside, Descriptor inside, std::shared_ptr<const http::TlsContext> tls,
           std::atomic<bool>& greeted, const std::stop_token& stop) {
    http::TlsSession session(std::move(tls), outside.get());
    if (!greet(session, outside.get(), stop)) return;
    greeted = true;
    Pipe pipe(session, inside.get());
    while (!stop.stop_requested() && pipe.move()) {
        if (pipe.moved()) continue;
        std::array<pollfd, 2> waits{
            {{outside.get(), pipe.outside_events(), 0}, {inside.get(), pipe.inside_events(), 0}}};
        ::poll(waits.data(), waits.size(), kPollMs);
    }
    session.close();
}

}  // namespace aliquot::node_groups
