// SPDX-License-Identifier: Apache-2.0
// What is answered to admission checks, and how it is written.
#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cluster_jobs/cluster_jobs.h"
#include "controller/job_checks.h"
#include "controller/job_kueue.h"
#include "document/json.h"

namespace aliquot::controller {
namespace {

using cluster_jobs::CheckAnswer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using State = CheckAnswer::State;
using Kind = scheduling::Decision::Kind;

constexpr seconds kPromised{20};  // until pods of an admitted job are surely there
constexpr milliseconds kBetweenDrops{200};
constexpr milliseconds kBooksPatience{2'000};
constexpr milliseconds kBetweenAhead{1'000};
constexpr std::size_t kMostAtOnce = 64;  // others want the books, too
constexpr seconds kUntilAnswerSeen{5};   // until the watch surely shows what was written
constexpr seconds kShortestRetry{15};
constexpr seconds kLongestRetry{600};
constexpr seconds kRetryOfNever{300};

bool has_room_beside(const FitAnswer& answer) {
    return answer.kind == Kind::kNotServed ||
           (answer.kind == Kind::kPlaced && answer.beside_promised);
}

CheckAnswer ready_answer(const FitAnswer& answer) {
    if (answer.kind == Kind::kNotServed) {
        return {.message = "no agent serves what it asks for: its place was not looked for"};
    }
    return {.message = "there is room on " + join(answer.nodes, ", ")};
}

const char* state_word(State state) {
    return state == State::kReady ? "Ready" : state == State::kRetry ? "Retry" : "Pending";
}

}  // namespace

/// Its pods run or have run: the books know of them by themselves; or its Job is gone.
bool AdmissionChecks::has_come_true(const Promise& promise) const {
    if (promise.job.name.empty()) return false;
    const auto job = jobs_.find(promise.job);
    if (!job) return true;
    std::int64_t there = 0;
    for (const char* const which : {"/status/ready", "/status/succeeded", "/status/failed"})
        there += kube_client::integer_at(job->json, which).value_or(0);
    return there >= static_cast<std::int64_t>(promise.question.pods.size());
}

void AdmissionChecks::drop_old_promises(Steady::time_point now) {
    if (now - dropped_ < kBetweenDrops) return;
    dropped_ = now;
    std::erase_if(promised_, [&](const auto& one) {
        return one.second.until < now || has_come_true(one.second);
    });
}

void AdmissionChecks::promise(const kube_client::ObjectKey& key, const Waiting& one,
                              Steady::time_point now) {
    promised_[key] = {.question = one.question, .until = now + kPromised, .job = one.job};
}

/// What is promised to others than these.
FitInquiry AdmissionChecks::beside_promises(const std::vector<ByKey::value_type*>& some) const {
    FitInquiry inquiry;
    std::set<kube_client::ObjectKey> asked;
    for (const auto* const one : some) asked.insert(one->first);
    for (const auto& [key, promise] : promised_) {
        if (!asked.contains(key)) inquiry.promised.push_back(promise.question);
    }
    for (const auto* const one : some) inquiry.questions.push_back(one->second.question);
    return inquiry;
}

CheckAnswer AdmissionChecks::again_later(const Waiting& one, const FitAnswer& answer) {
    CheckAnswer retry{.state = State::kRetry, .message = answer.why, .again_after = kShortestRetry};
    if (answer.kind == Kind::kPlaced) {
        retry.message = "the room that there is goes to jobs which were admitted just before";
        return retry;
    }
    const std::scoped_lock lock(mutex_);
    const auto likely = likely_.find(one.uid);
    if (likely != likely_.end()) {
        const auto wait = std::chrono::ceil<seconds>(likely->second - world_.now());
        retry.again_after = std::clamp(wait, kShortestRetry, kLongestRetry);
        if (wait > kShortestRetry) retry.message += "; likely at " + rfc3339(likely->second);
    } else if (answer.kind == Kind::kNever) {
        retry.again_after = kRetryOfNever;
    }
    return retry;
}

/// Nothing: not yet.
/// answer   nullptr: the books did not know
std::optional<CheckAnswer> AdmissionChecks::judge(const Waiting& one, const FitAnswer* answer,
                                                  Steady::time_point now) {
    const bool late = now - one.since > options_.patience;
    if (one.question.pods.empty()) return CheckAnswer{.message = "it has no pods"};
    if (!ask_ || answer == nullptr) {
        if (ask_ && !late) return std::nullopt;
        ++open_;
        return CheckAnswer{.message = std::string("could not be checked: ") +
                                      (ask_ ? "the books did not answer"
                                            : "the controller runs without --placement")};
    }
    if (has_room_beside(*answer)) return ready_answer(*answer);
    if (answer->kind == Kind::kPlaced && !late) return std::nullopt;
    return again_later(one, *answer);
}

void AdmissionChecks::answer_some(const std::vector<ByKey::value_type*>& some,
                                  Steady::time_point now, const std::stop_token& stop) {
    const auto told = ask_ ? ask_(beside_promises(some), kBooksPatience) : std::nullopt;
    for (std::size_t i = 0; i < some.size(); ++i) {
        auto& [key, one] = *some[i];
        const FitAnswer* const fit = told ? &told->at(i) : nullptr;
        const auto answer = judge(one, fit, now);
        if (!answer) continue;
        if (fit != nullptr && fit->kind == Kind::kPlaced && answer->state == State::kReady)
            promise(key, one, now);
        admitted_at_ = now;
        write(key, one, *answer, now, stop);
    }
}

/// Those that have quota, the first one made first.
void AdmissionChecks::answer_reserved(Steady::time_point now, const std::stop_token& stop) {
    std::vector<ByKey::value_type*> due;
    for (auto& one : reserved_) {
        if (one.second.not_before <= now) due.push_back(&one);
    }
    std::ranges::stable_sort(due, {}, [](const auto* one) { return one->second.created; });
    for (std::size_t from = 0; from < due.size(); from += kMostAtOnce) {
        if (stop.stop_requested()) return;
        const auto begin = due.begin() + static_cast<std::ptrdiff_t>(from);
        const auto end =
            due.begin() + static_cast<std::ptrdiff_t>(std::min(due.size(), from + kMostAtOnce));
        answer_some({begin, end}, now, stop);
    }
}

/// Those that wait for quota, by priority and age, behind all that have some: Ready where there is room beside all before
/// it, and no longer once that is taken.
void AdmissionChecks::answer_ahead(Steady::time_point now, const std::stop_token& stop) {
    if (ahead_.empty() || !ask_ || now - answered_ahead_ < kBetweenAhead) return;
    answered_ahead_ = now;
    const std::vector<ByKey::value_type*> some = first_ahead();
    const std::size_t ahead_from = reserved_.size();
    std::vector<ByKey::value_type*> all;
    for (auto& one : reserved_) all.push_back(&one);
    all.insert(all.end(), some.begin(), some.end());
    const auto told = ask_(beside_promises(all), kBooksPatience);
    if (!told) return;
    const auto say = [&](const kube_client::ObjectKey& key, Waiting& one, const FitAnswer* room) {
        if ((room != nullptr) == one.is_ready || one.not_before > now) return;
        one.is_ready = room != nullptr;
        ready_ahead_ += one.is_ready ? 1 : 0;
        const CheckAnswer none{.state = State::kPending, .message = "there is no room for it now"};
        write(key, one, room != nullptr ? ready_answer(*room) : none, now, stop);
    };
    std::set<kube_client::ObjectKey> asked;
    for (std::size_t i = ahead_from; i < all.size(); ++i) {
        auto& [key, one] = *all[i];
        asked.insert(key);
        const bool fits = has_room_beside(told->at(i)) && !one.question.pods.empty();
        say(key, one, fits ? &told->at(i) : nullptr);
    }
    for (auto& [key, one] : ahead_) {
        if (one.is_ready && !asked.contains(key)) say(key, one, nullptr);  // others went before it
    }
}

void AdmissionChecks::write(const kube_client::ObjectKey& key, Waiting& one,
                            const CheckAnswer& answer, Steady::time_point now,
                            const std::stop_token& stop) {
    one.not_before = now + kUntilAnswerSeen;
    for (const std::string& check : one.checks) {
        writers_.submit([this, key, check, answer, stop,
                         patch = cluster_jobs::check_patch(one.head, check, answer, world_.now())] {
            const auto call = world_.elector.call(stop);
            if (!call) return;
            const auto done = world_.api.apply(
                cluster_jobs::workloads(), key, document::to_json_line(patch), true,
                {.field_manager = kCheckManager, .subresource = "status", .call = *call});
            if (!done)
                ++failures_;
            else if (answer.state == State::kReady)
                ++ready_;
            else if (answer.state == State::kRetry)
                ++retries_;
            log::info("jobs.check_answered",
                      {{"workload", kube_client::to_text(key)},
                       {"state", state_word(answer.state)},
                       {"why", answer.message},
                       {"failure", done ? std::string() : done.failure().message}});
        });
    }
}

}  // namespace aliquot::controller
