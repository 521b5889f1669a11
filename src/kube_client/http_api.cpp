// SPDX-License-Identifier: Apache-2.0
#include "kube_client/http_api.h"

#include "base/log.h"

namespace aliquot::kube_client {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::uint64_t seed() {
    return static_cast<std::uint64_t>(SteadyClock::now().time_since_epoch().count());
}

bool is_server_trouble(int status) {
    return status == 500 || status == 502 || status == 503 || status == 504;
}

Failure given_up(const Request& request) {
    const bool stopped = request.call.stop.stop_requested();
    return {.reason = stopped ? Reason::kStopped : Reason::kDeadline,
            .message = request.what + (stopped ? ": stopped" : ": not done in time")};
}

}  // namespace

/// What one try brought: an answer, a stream, or nothing.
struct HttpApi::Try {
    HttpResponse answer;
    std::unique_ptr<ByteStream> stream;
    std::optional<TransportError> transport_error;
    std::shared_ptr<const Identity> shown;
    std::shared_ptr<BodySink> sink;  // that took the answer's body, if that was a success

    [[nodiscard]] bool succeeded() const {
        return stream || (!transport_error && answer.status >= 200 && answer.status < 300);
    }
};

struct HttpApi::Attempt {
    Transport::Time until;
    std::stop_token stop;
    unsigned tries = 0;
    bool renewed = false;  // the credentials, after a 401
    std::chrono::milliseconds next_wait{};

    /// How long to wait before another try; empty: this was the last.
    std::optional<std::chrono::milliseconds> pause(const Request& request, const Try& last) const {
        if (tries >= request.most_tries) return {};
        if (last.transport_error) {
            const auto& lost = *last.transport_error;
            if (lost.hopeless || !lost.failure.is(Reason::kUnreachable)) return {};
            if (lost.sent && !request.repeatable) return {};
            return next_wait;
        }
        const int status = last.answer.status;
        if (status == 429) return last.answer.retry_after.value_or(next_wait);
        if (status >= 500 && last.answer.retry_after) return last.answer.retry_after;
        if (is_server_trouble(status) && request.repeatable) return next_wait;
        return {};
    }
};

HttpApi::HttpApi(Destination destination, std::unique_ptr<Credentials> credentials,
                 HttpApiOptions options)
    : Api(options.transport.limits),
      options_(std::move(options)),
      server_(destination.url),
      credentials_(std::move(credentials)),
      limiter_(options_.burst, options_.per_second),
      jitter_(seed()),
      transport_(std::move(destination), options_.transport) {}

HttpApi::~HttpApi() = default;

bool HttpApi::wait(std::chrono::nanoseconds duration, const Attempt& attempt) {
    const auto end = SteadyClock::now() + duration;
    if (end > attempt.until) return false;
    std::unique_lock lock(mutex_);
    never_.wait_until(lock, attempt.stop, end, [] { return false; });
    return !attempt.stop.stop_requested();
}

void HttpApi::tell(const std::vector<std::string>& warnings) {
    constexpr std::size_t kMost = 1000;
    for (const auto& warning : warnings) {
        {
            const std::scoped_lock lock(mutex_);
            if (told_.size() >= kMost || !told_.insert(warning).second) continue;
        }
        log::warning("kube.warning", {{"server", server_}, {"text", warning}});
    }
}

Outcome<HttpApi::Try> HttpApi::try_once(const Request& request, Attempt& attempt, bool stream) {
    const auto now = SteadyClock::now();
    const auto place = limiter_.take(now, attempt.until - now);
    if (!wait(place, attempt)) return given_up(request);
    auto identity = credentials_->current(attempt.stop);
    if (!identity) {
        return Failure{.reason = Reason::kCredentials,
                       .message = request.what + ": " + identity.error().message};
    }
    HttpRequest http_request{
        .method = request.method,
        .path = request.path,
        .headers = {{"Accept", request.accept}, {"User-Agent", options_.user_agent}},
        .body = request.body,
        .identity = *identity,
        .what = request.what,
        .sink = request.make_sink && !stream ? request.make_sink() : nullptr};
    if (!request.content_type.empty()) {
        http_request.headers.emplace_back("Content-Type", request.content_type);
    }
    http_request.headers.insert(http_request.headers.end(), options_.headers.begin(),
                                options_.headers.end());
    Try made{.shown = *std::move(identity), .sink = http_request.sink};
    if (stream) {
        auto opened = transport_.open(std::move(http_request), attempt.until, attempt.stop);
        if (auto* lost = std::get_if<TransportError>(&opened)) {
            made.transport_error = std::move(*lost);
        } else {
            made.stream = std::move(std::get<0>(opened).stream);
            made.answer = std::move(std::get<0>(opened).refusal);
        }
    } else {
        auto answer = transport_.send(std::move(http_request), attempt.until, attempt.stop);
        if (auto* lost = std::get_if<TransportError>(&answer)) {
            made.transport_error = std::move(*lost);
        } else {
            made.answer = std::move(std::get<0>(answer));
        }
    }
    ++attempt.tries;
    tell(made.answer.warnings);
    return made;
}

Outcome<HttpApi::Try> HttpApi::persist(const Request& request, bool stream) {
    Attempt attempt{.until = SteadyClock::now() + request.call.deadline,
                    .stop = request.call.stop,
                    .next_wait = options_.first_wait};
    while (true) {
        auto made = try_once(request, attempt, stream);
        if (!made || made->succeeded()) return made;
        if (!made->transport_error && made->answer.status == 401 && !attempt.renewed) {
            attempt.renewed = true;
            if (credentials_->refused(made->shown)) continue;
        }
        const auto pause = attempt.pause(request, *made);
        if (!pause) return made;
        std::chrono::milliseconds spread{};
        {
            const std::scoped_lock lock(mutex_);
            spread = jitter_.around(*pause);
        }
        // Never earlier than the server said.
        if (made->answer.retry_after) spread = std::max(spread, *made->answer.retry_after);
        log::debug("kube.retry", {{"request", request.what},
                                  {"status", made->answer.status},
                                  {"wait_ms", spread.count()}});
        if (!wait(spread, attempt)) {
            if (request.call.stop.stop_requested()) return given_up(request);
            return made;  // no time for another: what is known is more than "too late"
        }
        attempt.next_wait = std::min(attempt.next_wait * 2, options_.longest_wait);
    }
}

Outcome<Reply> HttpApi::exchange(const Request& request) {
    auto made = persist(request, false);
    if (!made) return std::move(made).failure();
    if (made->transport_error) return std::move(made->transport_error->failure);
    return Reply{.status = made->answer.status,
                 .body = std::move(made->answer.body),
                 .retry_after = made->answer.retry_after,
                 .sink = made->succeeded() ? std::move(made->sink) : nullptr};
}

Outcome<std::unique_ptr<ByteStream>> HttpApi::open(const Request& request) {
    auto made = persist(request, true);
    if (!made) return std::move(made).failure();
    if (made->transport_error) return std::move(made->transport_error->failure);
    if (made->stream) return std::move(made->stream);
    Failure failure = failure_of(made->answer.status, made->answer.body, request.what);
    if (made->answer.retry_after) failure.retry_after = made->answer.retry_after;
    return failure;
}

}  // namespace aliquot::kube_client
