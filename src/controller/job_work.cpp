// SPDX-License-Identifier: Apache-2.0
// What the role `jobs` follows, and its thread; admission checks. Gates, estimates and the rest: job_queue.cpp.
#include "controller/job_work.h"

#include <algorithm>

#include "base/log.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/time_text.h"
#include "cluster_jobs/cluster_jobs.h"
#include "controller/job_kueue.h"
#include "document/json.h"
#include "document/path.h"
#include "metrics/text.h"

namespace aliquot::controller {
namespace {

using cluster_jobs::CheckAnswer;
using document::Value;
using scheduling::GpuPod;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = scheduling::Decision::Kind;

constexpr seconds kLookForKueue{60};
constexpr milliseconds kBetweenRounds{200};
constexpr seconds kBetweenIdleRounds{15};
constexpr seconds kPromised{20};  // until pods of an admitted job are surely there
constexpr milliseconds kBooksPatience{2'000};
constexpr std::size_t kWritesAtOnce = 8;
constexpr std::size_t kWritesInARow = 32;  // before the next places are asked for
constexpr seconds kShortestRetry{15};
constexpr seconds kLongestRetry{600};
constexpr char kCheckManager[] = "aliquot.dev/placement";

kube_client::InformerOptions jobs_of_cluster() {
    return {.projection = kube_client::keep_fields({"metadata.creationTimestamp",
                                                    "metadata.annotations", "metadata.labels",
                                                    "spec.suspend", "spec.ttlSecondsAfterFinished",
                                                    "spec.activeDeadlineSeconds", "status"})};
}

kube_client::InformerOptions gpus_of_nodes() {
    return {.projection = kube_client::keep_fields(
                {"metadata.annotations", "spec.unschedulable", "status.allocatable"})};
}

}  // namespace

JobWork::JobWork(PlacementWorld world, JobOptions options, Ask ask)
    : world_(std::move(world)),
      options_(options),
      ask_(std::move(ask)),
      jobs_(world_.api, kube_client::resources::jobs(), jobs_of_cluster(),
            [this](const auto&, const auto&, const auto&) { wake(); }),
      nodes_(world_.api, kube_client::resources::nodes(), gpus_of_nodes()) {}

JobWork::~JobWork() = default;

void JobWork::start() {
    jobs_.start();
    nodes_.start();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void JobWork::stop() { thread_ = {}; }

void JobWork::wake() {
    {
        const std::scoped_lock lock(mutex_);
        look_ = true;
    }
    changed_.notify_all();
}

/// Looks now and then: Kueue may be installed later.
bool JobWork::has_kueue(const std::stop_token& stop) {
    if (kueue_ != nullptr) return true;
    const auto now = Steady::now();
    if (looked_for_kueue_ != Steady::time_point{} && now - looked_for_kueue_ < kLookForKueue)
        return false;
    looked_for_kueue_ = now;
    const auto found = world_.api.find_resource("kueue.x-k8s.io/v1beta2", "Workload",
                                                {.deadline = seconds(5), .stop = stop});
    if (!found) return false;
    kueue_ = std::make_unique<KueueCaches>(world_.api, [this] { wake(); });
    log::info("jobs.kueue_found");
    return true;
}

void JobWork::follow_kueue() {
    our_checks_.clear();
    flavors_.clear();
    for (const auto& check : kueue_->checks.store().all()) {
        const auto value = document::parse_json(check->json);
        if (value &&
            document::text_at(*value, {"spec", "controllerName"}) == cluster_jobs::kCheckController)
            our_checks_.push_back(check->name);
    }
    for (const auto& flavor : kueue_->flavors.store().all()) {
        if (auto value = document::parse_json(flavor->json)) flavors_[flavor->name] = *value;
    }
}

void JobWork::keep_checks(const std::stop_token& stop) {
    for (const std::string& name : our_checks_) {
        const auto check = kueue_->checks.store().find({"", name});
        const auto value = check ? document::parse_json(check->json)
                                 : Result<Value>(Error{ErrorCode::kNotFound, ""});
        const auto patch = value ? cluster_jobs::active_patch(*value, world_.now()) : std::nullopt;
        const auto call = world_.elector.call(stop);
        if (!patch || !call) continue;
        const auto done = world_.api.apply(
            cluster_jobs::admission_checks(), {"", name}, document::to_json_line(*patch), true,
            {.field_manager = kCheckManager, .subresource = "status", .call = *call});
        if (done) continue;
        ++failures_;
        log::warning("jobs.check_not_active",
                     {{"check", name}, {"reason", done.failure().message}});
    }
}

/// Its pods run or have run: the books know of them by themselves; or its Job is gone.
bool JobWork::has_come_true(const Promise& promise) const {
    if (promise.job.name.empty()) return false;
    const auto job = jobs_.store().find(promise.job);
    if (!job) return true;
    std::int64_t there = 0;
    for (const char* const which : {"/status/ready", "/status/succeeded", "/status/failed"})
        there += kube_client::integer_at(job->json, which).value_or(0);
    return there >= static_cast<std::int64_t>(promise.pods.size());
}

/// Nothing: not yet.
std::optional<CheckAnswer> JobWork::answer_of(const Value& workload, Steady::time_point now) {
    const std::string uid = document::text_at(workload, {"metadata", "uid"});
    const auto since = asked_.try_emplace(uid, now).first->second;
    const auto yes_anyway = [&](const std::string& why) {
        ++open_;
        return CheckAnswer{.message = "could not be checked: " + why};
    };
    if (!ask_) return yes_anyway("the controller runs without --placement");
    FitQuestion question{.name = document::text_at(workload, {"metadata", "name"})};
    for (const std::string& json : cluster_jobs::pods_of(workload, flavors_)) {
        auto pod = scheduling::read_gpu_pod(json);
        if (!pod) continue;
        pod->owner = job_of(workload, "uid");  // as those will say that it makes
        question.pods.push_back(*std::move(pod));
    }
    if (question.pods.empty()) return CheckAnswer{.message = "it has no pods"};
    for (const auto& [other, promise] : promised_) {
        if (other != uid)
            question.promised.insert(question.promised.end(), promise.pods.begin(),
                                     promise.pods.end());
    }
    const std::vector<GpuPod> pods = question.pods;
    auto told = ask_(std::move(question));
    const bool late = now - since > options_.patience;
    if (told.wait_for(kBooksPatience) != std::future_status::ready) {
        if (!late) return std::nullopt;
        return yes_anyway("the books did not answer");
    }
    const FitAnswer answer = told.get();
    switch (answer.kind) {
        case Kind::kNotServed:
            return CheckAnswer{.message =
                                   "no agent serves what it asks for: its place was not "
                                   "looked for"};
        case Kind::kPlaced:
            if (!answer.beside_promised) {
                if (!late) return std::nullopt;
                return CheckAnswer{.state = CheckAnswer::State::kRetry,
                                   .message =
                                       "the room that there is goes to jobs which were "
                                       "admitted just before",
                                   .again_after = kShortestRetry};
            }
            promised_[uid] = {
                .pods = pods,
                .until = now + kPromised,
                .job = {document::text_at(workload, {"metadata", "namespace"}), job_of(workload)}};
            return CheckAnswer{.message = "there is room on " + join(answer.nodes, ", ")};
        case Kind::kWaits:
        case Kind::kNever:
            break;
    }
    CheckAnswer retry{
        .state = CheckAnswer::State::kRetry, .message = answer.why, .again_after = kShortestRetry};
    const auto foreseen = latest_.find(uid);
    if (foreseen != latest_.end() && foreseen->second.p50) {
        const auto at = std::chrono::system_clock::time_point(milliseconds(*foreseen->second.p50));
        const auto wait = std::chrono::ceil<seconds>(at - world_.now());
        retry.again_after = std::clamp(wait, kShortestRetry, kLongestRetry);
        if (wait > kShortestRetry) retry.message += "; likely at " + rfc3339(at);
    } else if (answer.kind == Kind::kNever) {
        retry.again_after = seconds(300);
    }
    return retry;
}

std::vector<Value> JobWork::waiting_for_checks() const {
    std::vector<std::pair<std::string, Value>> found;
    for (const auto& object : kueue_->workloads.store().all()) {
        // Most of them: "Pending" alone is also why one has no quota yet.
        if (!object->json.contains("\"state\":\"Pending\"")) continue;
        auto value = document::parse_json(object->json);
        if (!value || cluster_jobs::checks_to_answer(*value, our_checks_).empty()) continue;
        std::string created = document::text_at(*value, {"metadata", "creationTimestamp"});
        found.emplace_back(std::move(created), *std::move(value));
    }
    std::ranges::stable_sort(found, {}, &std::pair<std::string, Value>::first);
    std::vector<Value> waiting;
    for (auto& [created, workload] : found) waiting.push_back(std::move(workload));
    return waiting;
}

void JobWork::write_answer(const CheckWrite& one, const std::stop_token& stop) {
    const auto call = world_.elector.call(stop);
    if (!call) return;
    const Value& workload = *one.workload;
    const std::string name = document::text_at(workload, {"metadata", "name"});
    const auto done = world_.api.apply(
        cluster_jobs::workloads(), {document::text_at(workload, {"metadata", "namespace"}), name},
        document::to_json_line(
            cluster_jobs::check_patch(workload, one.check, one.answer, world_.now())),
        true, {.field_manager = kCheckManager, .subresource = "status", .call = *call});
    const bool ready = one.answer.state == CheckAnswer::State::kReady;
    ++(!done ? failures_ : ready ? ready_ : retries_);
    log::info("jobs.check_answered", {{"workload", name},
                                      {"state", ready ? "Ready" : "Retry"},
                                      {"why", one.answer.message},
                                      {"failure", done ? std::string() : done.failure().message}});
}

/// Places are given one after the other, in the order of creation; what takes time is to write the answers, so some are
/// written at a time.
void JobWork::answer_checks(const std::stop_token& stop) {
    const auto now = Steady::now();
    std::erase_if(promised_, [&](const auto& one) {
        return one.second.until < now || has_come_true(one.second);
    });
    std::map<std::string, Steady::time_point> still;
    const std::vector<Value> waiting = waiting_for_checks();
    std::vector<CheckWrite> writes;
    const auto write = [&] {
        for_each_in_parallel(writes.size(), kWritesAtOnce,
                             [&](std::size_t i) { write_answer(writes[i], stop); });
        writes.clear();
    };
    for (const Value& workload : waiting) {
        if (stop.stop_requested()) return;
        const std::string uid = document::text_at(workload, {"metadata", "uid"});
        const auto answer = answer_of(workload, now);
        still[uid] = asked_[uid];
        if (!answer) continue;
        for (std::string& check : cluster_jobs::checks_to_answer(workload, our_checks_))
            writes.push_back({&workload, std::move(check), *answer});
        if (writes.size() >= kWritesInARow) write();
    }
    write();
    asked_ = std::move(still);
}

void JobWork::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        bool more = false;
        if (world_.elector.leads() && jobs_.state().synced) {
            start_after(stop);
            remove_cancelled(stop);
            if (has_kueue(stop) && kueue_->is_synced()) {
                follow_kueue();
                keep_checks(stop);
                more = follow_stops(stop);
                answer_checks(stop);
                foresee(stop);
                more = more || !asked_.empty();
            }
        }
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, more ? kBetweenRounds : milliseconds(kBetweenIdleRounds),
                          [this] { return look_; });
        look_ = false;
        lock.unlock();
        // News come in crowds: one look for all of them.
        std::unique_lock pause(mutex_);
        changed_.wait_for(pause, stop, kBetweenRounds, [] { return false; });
    }
}

std::string JobWork::metrics() const {
    std::string out;
    metrics::Text text(out);
    text.single("aliquot_controller_jobs_checks_ready_total",
                "Admission checks that were answered Ready", "counter", ready_);
    text.single("aliquot_controller_jobs_checks_retry_total",
                "Admission checks that were answered Retry", "counter", retries_);
    text.single("aliquot_controller_jobs_checks_open_total",
                "Admission checks that were answered Ready without looking", "counter", open_);
    text.single("aliquot_controller_jobs_released_total", "Gates of jobs that were opened",
                "counter", released_);
    text.single("aliquot_controller_jobs_failures_total", "Writes of the role jobs that failed",
                "counter", failures_);
    return out;
}

}  // namespace aliquot::controller
