// SPDX-License-Identifier: Apache-2.0
// Which Workloads wait for an answer, and the thread; the answers: job_answers.cpp.
#include "controller/job_checks.h"

#include <algorithm>

#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "controller/job_kueue.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "metrics/text.h"

namespace aliquot::controller {
namespace {

using cluster_jobs::ChecksAhead;
using document::text_at;
using document::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr unsigned kWritesAtOnce = 16;
constexpr milliseconds kBetweenCheckLooks{20};  // news come in crowds: one look for all of them
constexpr milliseconds kWhileSomeWait{200};
constexpr milliseconds kWhileSomeAhead{1'000};
constexpr seconds kIdleChecks{15};
constexpr milliseconds kBetweenFollows{1'000};
constexpr seconds kCrowd{2};
constexpr std::size_t kMostAhead = 512;
constexpr std::size_t kMostPodsAhead = 2'048;

std::pair<std::string, std::string> owner_job_of(const Value& workload) {
    for (const Value& owner : document::items_at(workload, {"metadata", "ownerReferences"})) {
        if (text_at(owner, {"kind"}) == "Job")
            return {text_at(owner, {"name"}), text_at(owner, {"uid"})};
    }
    return {};
}

std::string fed_queue_of(const Value& workload, const KueueCaches& kueue) {
    const auto queue = kueue.local_queues.store().find(
        {text_at(workload, {"metadata", "namespace"}), text_at(workload, {"spec", "queueName"})});
    return queue ? kube_client::string_at(queue->json, "/spec/clusterQueue").value_or("") : "";
}

}  // namespace

AdmissionChecks::AdmissionChecks(PlacementWorld world, Options options, Ask ask,
                                 const kube_client::Store& jobs)
    : world_(std::move(world)),
      options_(options),
      ask_(std::move(ask)),
      jobs_(jobs),
      writers_(kWritesAtOnce, "checks") {}

AdmissionChecks::~AdmissionChecks() = default;

void AdmissionChecks::start(const KueueCaches& kueue) {
    kueue_ = &kueue;
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void AdmissionChecks::stop() { thread_ = {}; }

void AdmissionChecks::note(const kube_client::ObjectKey& workload) {
    {
        const std::scoped_lock lock(mutex_);
        news_.insert(workload);
    }
    changed_.notify_all();
}

void AdmissionChecks::expect(std::map<std::string, std::chrono::system_clock::time_point> likely) {
    const std::scoped_lock lock(mutex_);
    likely_ = std::move(likely);
}

bool AdmissionChecks::is_crowded() const { return Steady::now() - admitted_at_.load() < kCrowd; }

/// Our checks, and the flavours that quota is in. Other ones than before: every Workload is looked at anew.
void AdmissionChecks::follow_kueue(const std::stop_token& stop) {
    const auto now = Steady::now();
    if (now - followed_ < kBetweenFollows) return;
    followed_ = now;
    std::string seen;
    our_checks_.clear();
    for (const auto& check : kueue_->checks.store().all()) {
        if (kube_client::string_at(check->json, "/spec/controllerName") !=
            cluster_jobs::kCheckController)
            continue;
        our_checks_.push_back(check->name);
        seen += check->name + "\n";
    }
    flavors_.clear();
    for (const auto& flavor : kueue_->flavors.store().all()) {
        if (auto value = document::parse_json(flavor->json)) flavors_[flavor->name] = *value;
        seen += flavor->json + "\n";
    }
    only_flavors_.clear();
    for (const auto& queue : kueue_->cluster_queues.store().all()) {
        const auto value = document::parse_json(queue->json);
        auto only = value ? cluster_jobs::only_flavors(*value) : std::nullopt;
        if (!only) continue;
        seen += queue->name + " " + join(*only, ",") + "\n";
        only_flavors_[queue->name] = *std::move(only);
    }
    knows_all_ = knows_all_ && seen == followed_text_;
    followed_text_ = std::move(seen);
    keep_active(stop);
}

void AdmissionChecks::keep_active(const std::stop_token& stop) {
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

void AdmissionChecks::fill(Waiting& one, const Value& workload,
                           const std::vector<std::string>& likely) const {
    const auto& [job, job_uid] = owner_job_of(workload);
    one.job = {text_at(workload, {"metadata", "namespace"}), job};
    one.question.name = text_at(workload, {"metadata", "name"});
    for (const std::string& json : cluster_jobs::pods_of(workload, flavors_, likely)) {
        auto pod = scheduling::read_gpu_pod(json);
        if (!pod) continue;
        pod->owner = job_uid;  // as those will say that it makes
        one.question.pods.push_back(*std::move(pod));
    }
}

/// By priority and age. Of large gangs fewer: what is asked in one go is limited.
std::vector<AdmissionChecks::ByKey::value_type*> AdmissionChecks::first_ahead() {
    std::vector<ByKey::value_type*> order;
    for (auto& one : ahead_) order.push_back(&one);
    std::ranges::stable_sort(order, {}, [](const auto* one) {
        return std::tuple(-std::int64_t{one->second.priority},
                          std::string_view(one->second.created));
    });
    std::vector<ByKey::value_type*> first;
    std::size_t pods = 0;
    for (auto* const at : order) {
        auto& [key, one] = *at;
        if (first.size() == kMostAhead || pods >= kMostPodsAhead) {
            one.question = {};
            continue;
        }
        if (one.question.pods.empty()) {
            const auto object = kueue_->workloads.store().find(key);
            const auto value = object ? document::parse_json(object->json)
                                      : Result<Value>(Error{ErrorCode::kNotFound, ""});
            const auto only =
                value ? only_flavors_.find(fed_queue_of(*value, *kueue_)) : only_flavors_.end();
            if (only == only_flavors_.end() || object->uid != one.uid) continue;
            fill(one, *value, only->second);
        }
        pods += one.question.pods.size();
        first.push_back(at);
    }
    return first;
}

AdmissionChecks::Waiting AdmissionChecks::head_of(const Value& workload) {
    Waiting made{
        .uid = text_at(workload, {"metadata", "uid"}),
        .created = text_at(workload, {"metadata", "creationTimestamp"}),
        .priority =
            parse_number<std::int32_t>(text_at(workload, {"spec", "priority"})).value_or(0)};
    made.head = document::make_mapping(
        {{"metadata",
          document::make_mapping({{"name", text_at(workload, {"metadata", "name"})},
                                  {"namespace", text_at(workload, {"metadata", "namespace"})},
                                  {"uid", made.uid}})}});
    return made;
}

/// Sets `made` in the list, with what is remembered of it there.
AdmissionChecks::Waiting& AdmissionChecks::keep(ByKey& list, const kube_client::ObjectKey& key,
                                                Waiting made, Steady::time_point now) {
    const auto [found, is_new] = list.try_emplace(key);
    const bool is_same = !is_new && found->second.uid == made.uid;
    made.since = is_same ? found->second.since : now;
    made.not_before = is_same ? found->second.not_before : Steady::time_point{};
    made.is_ready = is_same && found->second.is_ready;
    if (is_same && made.question.pods.empty()) {
        made.question = std::move(found->second.question);
        made.job = found->second.job;
    }
    found->second = std::move(made);
    return found->second;
}

void AdmissionChecks::take(const kube_client::ObjectKey& key) {
    const auto now = Steady::now();
    const auto object = kueue_->workloads.store().find(key);
    // Most of them: no check of anybody, or all is said.
    const bool may_wait = object && object->json.contains("\"admissionChecks\"");
    const auto value = may_wait ? document::parse_json(object->json)
                                : Result<Value>(Error{ErrorCode::kNotFound, ""});
    const auto checks =
        value ? cluster_jobs::checks_to_answer(*value, our_checks_) : std::vector<std::string>{};
    ChecksAhead ahead = value ? cluster_jobs::checks_ahead(*value, our_checks_) : ChecksAhead{};
    const auto only = ahead.names.empty() ? only_flavors_.end()
                                          : only_flavors_.find(fed_queue_of(*value, *kueue_));
    const auto before = ahead_.find(key);
    if (value && ahead.names.empty() && checks.empty() && before != ahead_.end() &&
        before->second.is_ready && cluster_jobs::has_quota(*value)) {
        promise(key, before->second, now);  // admitted by what was answered ahead
        admitted_at_ = now;
    }
    if (checks.empty()) {
        reserved_.erase(key);
    } else {
        Waiting one = head_of(*value);
        fill(one, *value, {});
        keep(reserved_, key, std::move(one), now).checks = checks;
    }
    if (only == only_flavors_.end()) {
        ahead_.erase(key);
    } else {
        Waiting& one = keep(ahead_, key, head_of(*value), now);
        if (one.is_ready == ahead.are_ready) one.not_before = {};  // what was written is seen
        one.is_ready = ahead.are_ready;
        one.checks = std::move(ahead.names);
    }
}

void AdmissionChecks::take_all() {
    std::set<kube_client::ObjectKey> there;
    for (const auto& key : kueue_->workloads.store().keys()) there.insert(key);
    for (ByKey* const list : {&reserved_, &ahead_})
        std::erase_if(*list, [&](const auto& one) { return !there.contains(one.first); });
    for (auto& [key, one] : ahead_) one.question = {};
    for (const auto& key : there) take(key);
    knows_all_ = true;
}

std::set<kube_client::ObjectKey> AdmissionChecks::wait_for_news(const std::stop_token& stop) {
    const milliseconds most = !knows_all_ || !reserved_.empty() ? kWhileSomeWait
                              : !ahead_.empty()                 ? kWhileSomeAhead
                                                                : milliseconds(kIdleChecks);
    std::set<kube_client::ObjectKey> news;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, most, [this] { return !news_.empty(); });
    changed_.wait_for(lock, stop, kBetweenCheckLooks, [] { return false; });
    news.swap(news_);
    return news;
}

void AdmissionChecks::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const auto news = wait_for_news(stop);
        if (!world_.elector.leads() || !kueue_->is_synced()) {
            knows_all_ = false;
            continue;
        }
        follow_kueue(stop);
        if (!knows_all_) take_all();
        for (const auto& key : news) take(key);
        const auto now = Steady::now();
        drop_old_promises(now);
        answer_reserved(now, stop);
        answer_ahead(now, stop);
    }
}

std::string AdmissionChecks::metrics() const {
    std::string out;
    metrics::Text text(out);
    text.single("aliquot_controller_jobs_checks_ready_total",
                "Admission checks that were answered Ready", "counter", ready_);
    text.single("aliquot_controller_jobs_checks_ahead_total",
                "Admission checks of jobs without quota that were answered Ready ahead", "counter",
                ready_ahead_);
    text.single("aliquot_controller_jobs_checks_retry_total",
                "Admission checks that were answered Retry", "counter", retries_);
    text.single("aliquot_controller_jobs_checks_open_total",
                "Admission checks that were answered Ready without looking", "counter", open_);
    text.single("aliquot_controller_jobs_check_failures_total",
                "Writes of admission checks that failed", "counter", failures_);
    return out;
}

}  // namespace aliquot::controller
