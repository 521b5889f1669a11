// SPDX-License-Identifier: Apache-2.0
#include "http/server.h"

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <system_error>

#include "base/log.h"
#include "base/thread_pool.h"
#include "http/address.h"
#include "http/loop.h"
#include "http/reply.h"
#include "http/stream.h"
#include "os/root.h"

namespace aliquot::http {
namespace {

constexpr unsigned kOwnerOnly = 0600;  // as listen_on() makes a unix socket

Response ask(const Handler& handler, const Request& request) {
    try {
        return handler(request);
    } catch (const std::exception& problem) {
        log::error("web.handler_failed", {{"path", request.path}, {"reason", problem.what()}});
        return {.status = 500, .body = "internal error\n"};
    }
}

/// Where answers go that are given later: nowhere once the server has ended. Thread-safe.
class LateAnswers {
public:
    /// Renders and hands over while the server is there: it waits for those who do so at its end.
    void give(const std::function<void()>& hand_over) {
        const std::shared_lock lock(mutex_);
        if (!closed_) hand_over();
    }
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
    }

private:
    std::shared_mutex mutex_;  // guards what follows
    bool closed_ = false;
};

/// One answer that is given later: once, and at the latest with its end.
class LateAnswer {
public:
    LateAnswer(std::shared_ptr<LateAnswers> to, std::function<void(Response)> take)
        : to_(std::move(to)), take_(std::move(take)) {}
    ~LateAnswer() { give({.status = 500, .body = "internal error\n"}); }
    LateAnswer(const LateAnswer&) = delete;
    LateAnswer& operator=(const LateAnswer&) = delete;

    void give(Response response) {
        if (given_.exchange(true)) return;
        to_->give([&] { take_(std::move(response)); });
    }

private:
    const std::shared_ptr<LateAnswers> to_;
    const std::function<void(Response)> take_;
    std::atomic<bool> given_{false};
};

}  // namespace

class Server::Implementation {
public:
    Implementation(Descriptor listener, AuthWatch auth, ServerOptions options, Handler handler)
        : address_(options.address),
          compress_from_(options.compress_from),
          handler_(std::move(handler)),
          port_(port_of(listener)),
          loop_(std::move(listener), std::move(auth), options),
          streams_(options.most_streams),
          pool_(options.threads, "web-work") {}
    ~Implementation() {
        loop_.stop();
        late_->close();
        remove_socket_file(address_);
    }

    Result<Done> start() {
        if (loop_.problem() != 0) return os::error_from_errno(loop_.problem(), address_);
        loop_.start([this](Job job) { submit(std::move(job)); });
        return Done{};
    }
    void cut_connections() { loop_.cut(); }
    [[nodiscard]] unsigned port() const { return port_; }

private:
    /// Checking a password is slow by design: it never holds up those who are known.
    void submit(Job job) {
        const auto lane = job.unchecked ? ThreadPool::Lane::kSlow : ThreadPool::Lane::kQuick;
        pool_.submit(
            [this, job = std::move(job)] {
                if (auto reply = work(job)) loop_.answer(job.connection, *std::move(reply));
            },
            lane);
    }

    /// Nothing: it comes later.
    std::optional<Reply> work(const Job& job) {
        std::optional<bool> right;
        if (job.unchecked) {
            const auto given = read_basic(job.request.header("authorization"));
            right = given && job.auth->passwords.matches(*given);
        }
        Response answer = right.value_or(true) ? answer_to(job.request) : unauthorized();
        const bool head = job.request.method == "HEAD";
        if (answer.later) {
            // What it needs of the job; the body is not kept for it.
            const Job kept{.keep_alive = job.keep_alive,
                           .takes_chunks = job.takes_chunks,
                           .large = job.large,
                           .auth = job.auth};
            auto take = [this, kept, head, right, id = job.connection,
                         encoding =
                             std::string(job.request.header("accept-encoding"))](Response late) {
                loop_.answer(id, finish(kept, std::move(late), head, encoding, right));
            };
            auto one = std::make_shared<LateAnswer>(late_, std::move(take));
            try {
                answer.later([one](Response late) { one->give(std::move(late)); });
            } catch (const std::exception& problem) {
                log::error("web.handler_failed",
                           {{"path", job.request.path}, {"reason", problem.what()}});
            }
            return std::nullopt;
        }
        std::shared_ptr<StreamPipe> stream;
        if (answer.stream && !head) stream = start_stream(job, answer);
        Reply reply =
            finish(job, std::move(answer), head, job.request.header("accept-encoding"), right);
        reply.stream = std::move(stream);
        return reply;
    }

    Reply finish(const Job& job, Response answer, bool head, std::string_view encoding,
                 std::optional<bool> right) {
        Reply reply = render(std::move(answer),
                             {.keep_alive = job.keep_alive,
                              .without_body = head,
                              .takes_chunks = job.takes_chunks,
                              .accept_encoding = encoding,
                              .compress_from = compress_from_},
                             job.auth->access, bodies_);
        reply.password_right = right;
        reply.of_large_body = job.large;
        return reply;
    }

    /// Null: there is no room, and the answer says so.
    std::shared_ptr<StreamPipe> start_stream(const Job& job, Response& answer) {
        auto pipe = std::make_shared<StreamPipe>(job.takes_chunks,
                                                 [this, id = job.connection] { loop_.go_on(id); });
        if (streams_.start(pipe, answer.stream)) return pipe;
        answer = {.status = 503,
                  .body = "too many answers are being written; ask later\n",
                  .headers = {{"Retry-After", "1"}}};
        return nullptr;
    }

    Response answer_to(const Request& request) {
        if (request.method != "HEAD") return ask(handler_, request);
        Request as_get = request;
        as_get.method = "GET";
        return ask(handler_, as_get);
    }

    const std::string address_;
    const std::size_t compress_from_;
    const Handler handler_;
    const unsigned port_;
    CompressedBodies bodies_;
    Loop loop_;
    const std::shared_ptr<LateAnswers> late_ = std::make_shared<LateAnswers>();
    StreamThreads streams_;
    ThreadPool pool_;  // last: its threads use all the others
};

Server::Server(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Server::~Server() = default;
void Server::cut_connections() { implementation_->cut_connections(); }
unsigned Server::port() const { return implementation_->port(); }

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, Handler handler) {
    const std::string address = options.address;
    auto listener = listen_on(address);
    if (!listener) return std::move(listener).error();
    if (options.socket_mode != kOwnerOnly || options.socket_group) {
        auto opened = open_socket_file(address, options.socket_mode, options.socket_group);
        if (!opened) return std::move(opened).error();
    }
    return start(*std::move(listener), std::move(options), std::move(handler));
}

Result<std::unique_ptr<Server>> Server::take(Descriptor listener, ServerOptions options,
                                             Handler handler) {
    options.address = "the socket that was handed over";
    return start(std::move(listener), std::move(options), std::move(handler));
}

Result<std::unique_ptr<Server>> Server::start(Descriptor listener, ServerOptions options,
                                              Handler handler) {
    auto auth = AuthWatch::start(options.access);
    if (!auth) return std::move(auth).error();
    const std::string address = options.address;
    try {
        auto made = std::make_unique<Implementation>(std::move(listener), *std::move(auth),
                                                     std::move(options), std::move(handler));
        if (auto started = made->start(); !started) return std::move(started).error();
        return std::unique_ptr<Server>(new Server(std::move(made)));
    } catch (const std::system_error& problem) {
        return Error{ErrorCode::kUnavailable,
                     address + ": no thread can be started: " + problem.what()};
    }
}

}  // namespace aliquot::http
