// SPDX-License-Identifier: Apache-2.0
#include "http/loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/log.h"
#include "http/reply.h"
#include "http/stream.h"

namespace aliquot::http {
namespace {

using Phase = Connection::Phase;
using std::chrono::milliseconds;

constexpr std::uint64_t kListener = 0;
constexpr std::uint64_t kWake = 1;
constexpr milliseconds kLingerLimit{1000};
constexpr int kMostAccepted = 64;          // at once
constexpr milliseconds kAcceptPause{100};  // when there are no descriptors left
constexpr milliseconds kLongWait{60'000};

/// The rest is for all else that the process does.
std::size_t a_quarter_of_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return SIZE_MAX;
    constexpr rlim_t kLeast = 8;
    return std::max(limit.rlim_cur / 4, kLeast);
}

}  // namespace

Loop::Loop(Descriptor listener, AuthWatch auth, const ServerOptions& options)
    : options_(options),
      listener_(std::move(listener)),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      auth_(std::move(auth)),
      most_connections_(std::min(options.most_connections, a_quarter_of_descriptors())) {
    if (!poll_ || wake_.descriptor() < 0) {
        problem_ = errno;
        return;
    }
    for (const auto& [descriptor, id] :
         {std::pair{listener_.get(), kListener}, {wake_.descriptor(), kWake}}) {
        epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
        if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) problem_ = errno;
    }
}

Loop::~Loop() { stop(); }

void Loop::start(std::function<void(Job)> submit) {
    submit_ = std::move(submit);
    thread_ = std::jthread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "web-loop");
}

void Loop::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    wake_.notify();
    thread_.join();
}

void Loop::cut() {
    cutting_ = true;
    wake_.notify();
}

void Loop::go_on(std::uint64_t connection) {
    {
        const std::scoped_lock lock(mutex_);
        streaming_.push_back(connection);
    }
    wake_.notify();
}

void Loop::answer(std::uint64_t connection, Reply reply) {
    {
        const std::scoped_lock lock(mutex_);
        replies_.emplace_back(connection, std::move(reply));
    }
    wake_.notify();
}

void Loop::run() {
    while (true) {
        if (stopping_ && end_by_ == SteadyTime{}) begin_end();
        if (end_by_ != SteadyTime{} && (connections_.empty() || now() >= end_by_)) break;
        wait();
        if (cutting_.exchange(false)) connections_.clear();
        take_answers();
        drop_late();
        if (some_wait_ && running_ < most_running()) start_waiting();
        if (!check_ && now() >= check_again_) {
            if (Connection* const next = next_check()) start_check(*next);
        }
    }
    connections_.clear();
}

/// Who waits for an answer gets it, within the limit; the others go at once.
void Loop::begin_end() {
    end_by_ = now() + options_.request_limit;
    accepting_ = false;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    listener_ = Descriptor();
    std::erase_if(connections_, [](const auto& entry) {
        const Phase phase = entry.second->phase;
        return phase != Phase::kWaiting && phase != Phase::kWorking && phase != Phase::kWriting;
    });
}

/// Milliseconds until something is late.
int Loop::patience() const {
    SteadyTime first = now() + kLongWait;
    for (const auto& [id, connection] : connections_) {
        if (connection->phase != Phase::kWorking) first = std::min(first, connection->deadline);
    }
    if (!check_) first = std::min(first, check_again_);
    if (!accepting_ && end_by_ == SteadyTime{}) first = std::min(first, accept_again_);
    if (end_by_ != SteadyTime{}) first = std::min(first, end_by_);
    const auto left = std::chrono::ceil<milliseconds>(first - now());
    return static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
}

void Loop::wait() {
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), patience());
    for (int i = 0; i < count; ++i) {
        const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
        if (id == kListener) {
            accept_some();
        } else if (id == kWake) {
            wake_.clear();
        } else if (const auto found = connections_.find(id); found != connections_.end()) {
            constexpr std::uint32_t kGone = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
            const bool gone = (events[static_cast<std::size_t>(i)].events & kGone) != 0;
            if (gone && found->second->phase == Phase::kStreaming) {
                connections_.erase(found);
            } else {
                advance(id, *found->second);
            }
        }
    }
    if (!accepting_ && end_by_ == SteadyTime{} && now() >= accept_again_) {
        accepting_ = true;
        arm(listener_.get(), kListener, EPOLLIN);
    }
}

void Loop::accept_some() {
    for (int i = 0; i < kMostAccepted; ++i) {  // then those who are here have their turn
        sockaddr_storage from{};
        socklen_t size = sizeof from;
        Descriptor socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &size,
                                    SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket) {
            take_in(std::move(socket), peer_of(from));
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            if (make_room(Scarce::kConnections, nullptr)) continue;
            accepting_ = false;
            accept_again_ = now() + kAcceptPause;
            arm(listener_.get(), kListener, 0);
        }
        return;
    }
}

void Loop::take_in(Descriptor socket, const Peer& peer) {
    if (connections_.size() >= most_connections_ && !make_room(Scarce::kConnections, nullptr)) {
        return;
    }
    const std::uint64_t id = next_id_++;
    const int descriptor = socket.get();
    auto made = std::make_unique<Connection>(std::move(socket), auth_.current(), budget_, peer);
    enter(*made, made->phase, options_.request_limit);
    made->began = made->since;
    epoll_event event{.events = EPOLLONESHOT, .data = {.u64 = id}};
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return;
    Connection& connection = *connections_.emplace(id, std::move(made)).first->second;
    advance(id, connection);
}

void Loop::take_answers() {
    std::vector<std::pair<std::uint64_t, Reply>> replies;
    std::vector<std::uint64_t> streaming;
    {
        const std::scoped_lock lock(mutex_);
        replies.swap(replies_);
        streaming.swap(streaming_);
    }
    for (auto& [id, reply] : replies) {
        if (!reply.password_right) --running_;
        if (reply.of_large_body) --large_run_;
        if (reply.password_right) note_checked(*reply.password_right);
        const auto found = connections_.find(id);
        if (found == connections_.end()) {
            if (reply.stream != nullptr) reply.stream->close();
            continue;
        }
        Connection& connection = *found->second;
        connection.verified = connection.verified || reply.password_right.value_or(false);
        connection.given_bytes = 0;
        connection.start_reply(std::move(reply));
        enter(connection, Phase::kWriting, options_.request_limit);
        advance(id, connection);
    }
    for (const std::uint64_t id : streaming) {
        const auto found = connections_.find(id);
        if (found == connections_.end() || found->second->phase != Phase::kStreaming) continue;
        advance(id, *found->second);
    }
}

void Loop::drop_late() {
    const SteadyTime at = now();
    std::erase_if(connections_, [&](const auto& entry) {
        return entry.second->phase != Phase::kWorking && entry.second->deadline <= at;
    });
}

void Loop::enter(Connection& connection, Phase phase, milliseconds limit) {
    connection.phase = phase;
    connection.since = now();
    connection.deadline = connection.since + limit;
}

void Loop::arm(int descriptor, std::uint64_t id, std::uint32_t events) {
    // Once: a connection that waits for its handler would tell of its end again and again.
    const std::uint32_t once = id == kListener ? 0U : static_cast<std::uint32_t>(EPOLLONESHOT);
    epoll_event event{.events = events | once, .data = {.u64 = id}};
    ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void Loop::advance(std::uint64_t id, Connection& connection) {
    while (step(id, connection)) {
    }
    keep_within_budget(id, connection);
    for (const std::uint64_t gone : done_) connections_.erase(gone);
    done_.clear();
}

bool Loop::pause(std::uint64_t id, Connection& connection, Progress progress) {
    if (progress == Progress::kWantsRead) {
        arm(connection.socket(), id, EPOLLIN);
    } else if (progress == Progress::kWantsWrite) {
        arm(connection.socket(), id, EPOLLOUT);
    } else {
        done_.push_back(id);
    }
    return false;
}

bool Loop::step(std::uint64_t id, Connection& connection) {
    switch (connection.phase) {
        case Phase::kGreeting: {
            const Progress progress = connection.greet();
            if (progress == Progress::kDone) {
                connection.phase = Phase::kReading;  // within the same limit
                return true;
            }
            if (progress == Progress::kPlainHttp) {
                const Reply reply = refusal(400, "this is an HTTPS server: ask with https://");
                connection.say_plain(reply.head + *reply.body);
                return linger(connection);
            }
            return pause(id, connection, progress);
        }
        case Phase::kReading:
            return read_request(id, connection);
        case Phase::kWaiting:
        case Phase::kWorking:
            return false;
        case Phase::kWriting: {
            const Progress progress = connection.drain();
            if (progress != Progress::kDone) return pause(id, connection, progress);
            if (!connection.has_stream()) return finish_reply(connection);
            connection.phase = Phase::kStreaming;
            return true;
        }
        case Phase::kStreaming:
            return pump(id, connection);
        case Phase::kLingering:
            return pause(id, connection, connection.discard());
    }
    return false;
}

bool Loop::pump(std::uint64_t id, Connection& connection) {
    const Progress progress = stopping_ ? Progress::kClosed : connection.pump();
    if (progress == Progress::kDone) return finish_reply(connection);
    if (progress == Progress::kClosed) {
        done_.push_back(id);
        return false;
    }
    // The writer may take its time, the reader may not.
    const bool reader = progress == Progress::kWantsWrite;
    connection.deadline = reader ? now() + options_.request_limit : SteadyTime::max();
    arm(connection.socket(), id, reader ? EPOLLOUT | EPOLLRDHUP : EPOLLRDHUP);
    return false;
}

bool Loop::finish_reply(Connection& connection) {
    ++connection.requests;
    if (connection.reply_closes() || stopping_) return linger(connection);
    enter(connection, Phase::kReading,
          connection.input.empty() ? options_.idle_limit : options_.request_limit);
    connection.began = connection.since;
    return true;
}

bool Loop::linger(Connection& connection) {
    connection.end_output();
    enter(connection, Phase::kLingering, kLingerLimit);
    return true;
}

}  // namespace aliquot::http
