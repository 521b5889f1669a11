// SPDX-License-Identifier: Apache-2.0
// What the loop does with what came in: refuses, keeps waiting, gives away, makes room.
#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "http/loop.h"
#include "http/reply.h"

namespace aliquot::http {
namespace {

using Phase = Connection::Phase;
using std::chrono::milliseconds;

/// A connection so young is closed only when all are.
constexpr milliseconds kYoung{100};
/// What closing a connection gives back must be worth it.
constexpr std::size_t kSmall = std::size_t{16} << 10U;
/// What a handler makes of a large body is several times as large.
constexpr std::size_t kLargeBody = std::size_t{256} << 10U;

Response not_allowed(const std::vector<std::string>& methods) {
    std::string allowed;
    for (const std::string& name : methods) {
        allowed += (allowed.empty() ? "" : ", ") + name;
        if (name == "GET") allowed += ", HEAD";
    }
    return {.status = 405, .body = "only " + allowed + "\n", .headers = {{"Allow", allowed}}};
}

Response too_long(std::size_t most) {
    const std::string why = most == 0 ? "no body is taken here"
                                      : "the body has more than " + std::to_string(most) + " bytes";
    return {.status = 413, .body = why + "\n"};
}

std::optional<LocalUser> local_user_of(int socket) {
    ucred who{};
    socklen_t size = sizeof who;
    int family = 0;
    socklen_t family_size = sizeof family;
    if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &family_size) != 0 ||
        family != AF_UNIX || ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
        return std::nullopt;
    }
    return LocalUser{.uid = who.uid, .gid = who.gid};
}

bool has(const std::vector<std::string>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

bool Loop::read_request(std::uint64_t id, Connection& connection) {
    if (connection.head == nullptr) {
        Reading reading = read_head(connection.input);
        if (reading.state == Reading::State::kRefused) {
            return refuse(connection, reading.status, reading.reason);
        }
        if (reading.state == Reading::State::kComplete) {
            connection.head = std::make_unique<Head>(std::move(reading.head));
            const Head& head = *connection.head;
            if (auto answer = answer_at_once(head, *auth_.current())) {
                return say_at_once(connection, *std::move(answer));
            }
            if (head.body_bytes > 0) connection.input.reserve(head.head_bytes + head.body_bytes);
        }
    }
    if (connection.head != nullptr) {
        const Head& head = *connection.head;
        if (connection.input.size() - head.head_bytes >= head.body_bytes) {
            return give_away(id, connection);
        }
        if (head.expects_continue && !std::exchange(connection.told_continue, true)) {
            connection.say("HTTP/1.1 100 Continue\r\n\r\n");
        }
    }
    const bool first = connection.input.empty();
    const Progress progress = connection.fill();
    if (progress != Progress::kDone) return pause(id, connection, progress);
    if (first && connection.requests > 0) {
        enter(connection, Phase::kReading, options_.request_limit);
        connection.began = connection.since;
    }
    return true;
}

std::optional<Response> Loop::answer_at_once(const Head& head, const Auth& auth) const {
    const Request& request = head.request;
    const std::string_view method =
        request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
    if (!options_.methods.empty() && !has(options_.methods, method)) {
        return not_allowed(options_.methods);
    }
    const bool takes_body = auth.passwords.empty() &&
                            (options_.body_paths.empty() || has(options_.body_paths, request.path));
    const std::size_t most = takes_body ? options_.most_body_bytes : 0;
    if (head.body_bytes > most) return too_long(most);
    if (auth.passwords.empty()) return std::nullopt;
    const auto given = read_basic(request.header("authorization"));
    if (!given) return unauthorized();
    const auto verdict = auth.passwords.remembered(*given, auth.passwords.digest(*given));
    if (verdict == Passwords::Verdict::kWrong) return unauthorized();
    return std::nullopt;
}

/// What follows the head of one with a body is not waited for: the connection ends.
bool Loop::say_at_once(Connection& connection, Response answer) {
    const Head& head = *connection.head;
    const auto& auth = auth_.current();
    CompressedBodies none;
    const bool keep = head.keep_alive && head.body_bytes == 0 && !stopping_;
    connection.start_reply(render(std::move(answer),
                                  {.keep_alive = keep,
                                   .without_body = head.request.method == "HEAD",
                                   .compress_from = std::numeric_limits<std::size_t>::max()},
                                  auth->access, none));
    connection.input.erase(0, keep ? head.head_bytes : std::string::npos);
    connection.head.reset();
    enter(connection, Phase::kWriting, options_.request_limit);
    return true;
}

bool Loop::give_away(std::uint64_t id, Connection& connection) {
    const std::unique_ptr<Head> head = std::move(connection.head);
    auto job = std::make_unique<Job>();
    job->connection = id;
    job->request = std::move(head->request);
    std::string& input = connection.input;
    input.erase(0, head->head_bytes);
    if (input.size() == head->body_bytes) {
        job->request.body = std::exchange(input, {});
    } else {
        job->request.body = input.substr(0, head->body_bytes);
        input.erase(0, head->body_bytes);
    }
    job->request.peer_name = connection.peer_name;
    job->request.peer_groups = connection.peer_groups;
    job->request.local_user = local_user_of(connection.socket());
    job->takes_chunks = head->takes_chunks;
    job->large = job->request.body.size() > kLargeBody;
    connection.told_continue = false;
    job->auth = auth_.current();
    // With new certificates a connection starts anew.
    const bool outdated = job->auth != connection.auth() &&
                          (job->auth->tls != nullptr || connection.auth()->tls != nullptr);
    job->keep_alive = head->keep_alive && !stopping_ && !outdated;
    if (const Passwords& passwords = job->auth->passwords; !passwords.empty()) {
        const auto given = read_basic(job->request.header("authorization"));
        job->credentials = passwords.digest(given.value_or(Credentials{}));
        job->unchecked =
            !given || passwords.remembered(*given, job->credentials) != Passwords::Verdict::kRight;
        connection.verified = connection.verified || !job->unchecked;
    }
    connection.job = std::move(job);
    enter(connection, Phase::kWaiting, options_.request_limit);
    line_up(connection);
    return false;
}

/// Starts what can be started at once: if it can be, nobody else waits for the same.
void Loop::line_up(Connection& connection) {
    const Job& job = *connection.job;
    if (job.unchecked) {
        const SteadyTime earliest = checks_.earliest(connection.hold.peer());
        if (!check_ && earliest <= now()) return start_check(connection);
        check_again_ = std::min(check_again_, earliest);
    } else if (running_ < most_running() && may_run(job)) {
        start(connection);
    } else {
        some_wait_ = true;
    }
}

void Loop::start(Connection& connection) {
    if (!connection.job->unchecked) ++running_;
    if (connection.job->large) ++large_run_;
    connection.given_bytes = connection.job->request.body.size();
    connection.hold.take_turn();
    enter(connection, Phase::kWorking, options_.request_limit);
    submit_(std::move(*std::exchange(connection.job, nullptr)));
}

/// The peer that has had no turn for longest is next, and of its requests the first.
Connection* Loop::next_waiting() {
    Connection* best = nullptr;
    const auto rank = [](const Connection& of) {
        return std::tuple(!of.verified, of.hold.share().turn, of.since);
    };
    for (const auto& [id, entry] : connections_) {
        Connection& one = *entry;
        if (one.phase != Phase::kWaiting || one.job->unchecked) continue;
        some_wait_ = true;
        if (!may_run(*one.job)) continue;
        if (best == nullptr || rank(one) < rank(*best)) best = &one;
    }
    return best;
}

void Loop::start_waiting() {
    some_wait_ = false;
    while (running_ < most_running()) {
        Connection* const next = next_waiting();
        if (next == nullptr) return;
        start(*next);
    }
    some_wait_ = true;
}

Connection* Loop::next_check() {
    Connection* best = nullptr;
    const SteadyTime at = now();
    check_again_ = SteadyTime::max();
    for (const auto& [id, entry] : connections_) {
        Connection& one = *entry;
        if (one.phase != Phase::kWaiting || !one.job->unchecked) continue;
        const SteadyTime earliest = checks_.earliest(one.hold.peer());
        if (earliest > at) {
            check_again_ = std::min(check_again_, earliest);
        } else if (best == nullptr || checks_.rank(one.hold.peer(), one.since) <
                                          checks_.rank(best->hold.peer(), best->since)) {
            best = &one;
        }
    }
    return best;
}

void Loop::start_check(Connection& connection) {
    check_ = Check{.peer = connection.hold.peer(),
                   .credentials = connection.job->credentials,
                   .auth = connection.job->auth,
                   .began = now()};
    start(connection);
}

/// What was found out is said to all who wait with the same words.
void Loop::note_checked(bool right) {
    const Check check = *std::exchange(check_, std::nullopt);
    checks_.note(check.peer, right, check.began, now());
    check_again_ = SteadyTime{};
    std::vector<std::uint64_t> same;
    for (const auto& [id, entry] : connections_) {
        if (entry->phase == Phase::kWaiting && entry->job->unchecked &&
            entry->job->auth == check.auth && entry->job->credentials == check.credentials) {
            same.push_back(id);
        }
    }
    for (const std::uint64_t id : same) {
        const auto found = connections_.find(id);
        if (found == connections_.end()) continue;
        Connection& connection = *found->second;
        if (right) {
            connection.verified = true;
            connection.job->unchecked = false;
            line_up(connection);
            continue;
        }
        const std::unique_ptr<Job> job = std::move(connection.job);
        CompressedBodies none;
        connection.start_reply(render(unauthorized(),
                                      {.keep_alive = job->keep_alive,
                                       .without_body = job->request.method == "HEAD",
                                       .compress_from = std::numeric_limits<std::size_t>::max()},
                                      job->auth->access, none));
        enter(connection, Phase::kWriting, options_.request_limit);
        advance(id, connection);
    }
}

bool Loop::refuse(Connection& connection, int status, std::string_view reason) {
    connection.input.clear();
    connection.input.shrink_to_fit();
    connection.head.reset();
    connection.start_reply(refusal(status, reason));
    enter(connection, Phase::kWriting, options_.request_limit);
    return true;
}

bool Loop::make_room(Scarce scarce, const Connection* but) {
    const SteadyTime at = now();
    const auto rank = [&](const Connection& of) {
        const Budget::Share& share = of.hold.share();
        const std::size_t held = scarce == Scarce::kBytes ? share.bytes : share.connections;
        const bool is_lively = of.phase == Phase::kWriting && at - of.moved < kYoung;
        const unsigned kind = at - of.began < kYoung || is_lively ? 2 : of.is_idle() ? 1 : 0;
        const bool helps =
            scarce == Scarce::kBytes ? of.hold.bytes() > kSmall : of.phase == Phase::kLingering;
        return std::tuple(of.verified, !helps, std::numeric_limits<std::size_t>::max() - held, kind,
                          of.began);
    };
    auto best = connections_.end();
    for (auto entry = connections_.begin(); entry != connections_.end(); ++entry) {
        const Connection& one = *entry->second;
        const bool busy = one.phase == Phase::kWorking || one.phase == Phase::kStreaming;
        if (busy || &one == but) continue;
        if (best == connections_.end() || rank(one) < rank(*best->second)) best = entry;
    }
    if (best == connections_.end()) return false;
    connections_.erase(best);
    return true;
}

void Loop::keep_within_budget(std::uint64_t id, Connection& connection) {
    connection.hold.set(connection.held_bytes());
    while (budget_.bytes() > options_.most_bytes) {
        // Who holds most of it may be this one.
        const bool greedy = connection.phase == Phase::kReading &&
                            connection.hold.bytes() > options_.most_bytes / 4;
        if (!greedy && make_room(Scarce::kBytes, &connection)) continue;
        if (connection.phase == Phase::kReading) done_.push_back(id);
        return;
    }
}

}  // namespace aliquot::http
