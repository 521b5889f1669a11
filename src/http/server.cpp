// SPDX-License-Identifier: Apache-2.0
#include "http/server.h"

#include <algorithm>
#include <exception>
#include <system_error>

#include "base/log.h"
#include "base/thread_pool.h"
#include "http/address.h"
#include "http/loop.h"
#include "http/reply.h"
#include "http/stream.h"

namespace aliquot::http {
namespace {

Answer ask(const Handler& handler, const Request& request) {
    try {
        return handler(request);
    } catch (const std::exception& problem) {
        log::error("web.handler_failed", {{"path", request.path}, {"reason", problem.what()}});
        return {.status = 500, .body = "internal error\n"};
    }
}

Answer unauthorized() {
    return {.status = 401,
            .body = "a name and a password are needed\n",
            .headers = {{"WWW-Authenticate", "Basic realm=\"aliquot\", charset=\"UTF-8\""}}};
}

}  // namespace

class Server::Implementation {
public:
    Implementation(Descriptor listener, AuthWatch auth, ServerOptions options, Handler handler)
        : address_(options.address),
          methods_(options.methods),
          compress_from_(options.compress_from),
          handler_(std::move(handler)),
          port_(port_of(listener)),
          loop_(std::move(listener), std::move(auth), options),
          streams_(options.most_streams),
          pool_(options.threads, "web-work") {
        loop_.start([this](Job job) { submit(std::move(job), ThreadPool::Lane::kQuick); });
    }
    ~Implementation() {
        loop_.stop();
        remove_socket_file(address_);
    }

    void cut_connections() { loop_.cut(); }
    [[nodiscard]] unsigned port() const { return port_; }

private:
    enum class Entry : std::uint8_t { kGranted, kRefused, kNotKnownYet };

    static Entry enter(const Job& job, bool slow) {
        Passwords& passwords = job.auth->passwords;
        if (passwords.empty()) return Entry::kGranted;
        const auto given = read_basic(job.request.header("authorization"));
        if (!given) return Entry::kRefused;
        if (passwords.is_known(*given)) return Entry::kGranted;
        if (!slow) return Entry::kNotKnownYet;
        return passwords.matches(*given) ? Entry::kGranted : Entry::kRefused;
    }

    /// Checking a password is slow by design: in the slow lane, guessing some does not stop those
    /// who are known.
    void submit(Job job, ThreadPool::Lane lane) {
        auto task = [this, lane, job = std::move(job)]() mutable {
            auto reply = work(job, lane == ThreadPool::Lane::kSlow);
            if (reply) return loop_.answer(job.connection, *std::move(reply));
            submit(std::move(job), ThreadPool::Lane::kSlow);
        };
        pool_.submit(std::move(task), lane);
    }

    /// No value: it takes long, ask again in the slow lane.
    std::optional<Reply> work(const Job& job, bool slow) {
        const Entry entry = enter(job, slow);
        if (entry == Entry::kNotKnownYet) return std::nullopt;
        Answer answer = entry == Entry::kGranted ? answer_to(job.request) : unauthorized();
        const bool head = job.request.method == "HEAD";
        std::shared_ptr<StreamPipe> stream;
        if (answer.stream && !head) stream = start_stream(job, answer);
        Reply reply = render(std::move(answer),
                             {.keep_alive = job.keep_alive,
                              .without_body = head,
                              .takes_chunks = job.takes_chunks,
                              .accept_encoding = job.request.header("accept-encoding"),
                              .compress_from = compress_from_},
                             job.auth->access, bodies_);
        reply.stream = std::move(stream);
        return reply;
    }

    /// Null: there is no room, and the answer says so.
    std::shared_ptr<StreamPipe> start_stream(const Job& job, Answer& answer) {
        auto pipe = std::make_shared<StreamPipe>(job.takes_chunks,
                                                 [this, id = job.connection] { loop_.go_on(id); });
        if (streams_.start(pipe, answer.stream)) return pipe;
        answer = {.status = 503,
                  .body = "too many answers are being written; ask later\n",
                  .headers = {{"Retry-After", "1"}}};
        return nullptr;
    }

    Answer answer_to(const Request& request) {
        const bool head = request.method == "HEAD";
        const std::string_view method = head ? "GET" : std::string_view(request.method);
        if (!methods_.empty() &&
            std::find(methods_.begin(), methods_.end(), method) == methods_.end()) {
            std::string allowed;
            for (const std::string& name : methods_) {
                allowed += (allowed.empty() ? "" : ", ") + name;
                if (name == "GET") allowed += ", HEAD";
            }
            return {
                .status = 405, .body = "only " + allowed + "\n", .headers = {{"Allow", allowed}}};
        }
        if (!head) return ask(handler_, request);
        Request as_get = request;
        as_get.method = "GET";
        return ask(handler_, as_get);
    }

    const std::string address_;
    const std::vector<std::string> methods_;
    const std::size_t compress_from_;
    const Handler handler_;
    const unsigned port_;
    CompressedBodies bodies_;
    Loop loop_;
    StreamThreads streams_;
    ThreadPool pool_;  // last: its threads use all the others
};

Server::Server(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Server::~Server() = default;
void Server::cut_connections() { implementation_->cut_connections(); }
unsigned Server::port() const { return implementation_->port(); }

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, Handler handler) {
    auto auth = AuthWatch::start(options.access);
    if (!auth) return std::move(auth).error();
    const std::string address = options.address;
    auto listener = listen_on(address);
    if (!listener) return std::move(listener).error();
    try {
        return std::unique_ptr<Server>(new Server(std::make_unique<Implementation>(
            *std::move(listener), *std::move(auth), std::move(options), std::move(handler))));
    } catch (const std::system_error& problem) {
        return Error{ErrorCode::kUnavailable,
                     address + ": no thread can be started: " + problem.what()};
    }
}

}  // namespace aliquot::http
