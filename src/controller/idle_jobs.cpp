// SPDX-License-Identifier: Apache-2.0
#include "controller/idle_jobs.h"

#include <condition_variable>

#include "base/log.h"
#include "base/time_text.h"
#include "cluster_jobs/sight.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "metrics/text.h"

namespace aliquot::controller {
namespace {

using document::make_mapping;
using document::text_at;
using document::Value;
using std::chrono::seconds;

constexpr seconds kBetweenIdleLooks{5};
constexpr std::size_t kMostOwners = 100'000;
constexpr char kIdleManager[] = "aliquot-controller";

Value idle_annotations(std::initializer_list<std::pair<const char*, Value>> all) {
    Value annotations = make_mapping();
    for (const auto& [name, value] : all) document::append(annotations, name, value);
    return make_mapping({{"metadata", make_mapping({{"annotations", std::move(annotations)}})}});
}

bool has_stopped(const Value& job) {
    for (const char* const name :
         {cluster_jobs::kCancelledAnnotation, cluster_jobs::kSuspendedAnnotation}) {
        if (!text_at(job, {"metadata", "annotations", name}).empty()) return true;
    }
    return text_at(job, {"spec", "suspend"}) == "true";
}

bool has_ended(const Value& pod) {
    const std::string phase = text_at(pod, {"status", "phase"});
    return phase == "Succeeded" || phase == "Failed";
}

/// By a list: rights of the controller's role. Nothing: it is not there, or nobody knows.
std::optional<kube_client::Object> find_one(kube_client::Api& api,
                                            const kube_client::Resource& resource,
                                            const kube_client::ObjectKey& key,
                                            const std::stop_token& stop) {
    auto found = api.list(
        resource,
        {.namespace_name = key.namespace_name, .field_selector = "metadata.name=" + key.name},
        {.stop = stop});
    if (!found || found->items.empty()) return std::nullopt;
    return std::move(found->items.front());
}

std::string minutes_of(seconds length) {
    constexpr std::int64_t kMinute = 60;
    return length.count() < kMinute ? std::to_string(length.count()) + "s"
                                    : std::to_string(length.count() / kMinute) + "m";
}

std::string words_of(seconds idle) { return "its GPUs were idle for " + minutes_of(idle); }

}  // namespace

IdleJobs::IdleJobs(PlacementWorld world, IdleOptions options)
    : world_(std::move(world)),
      options_(options),
      sight_(options.min_run),
      events_(world_.api,
              {.controller = "aliquot.dev/controller", .instance = "aliquot-controller"}) {}

IdleJobs::~IdleJobs() { stop(); }

Result<std::unique_ptr<IdleJobs>> IdleJobs::make(PlacementWorld world, IdleOptions options,
                                                 const PageOptions& agents) {
    auto gather = gathering(agents);
    if (!gather) return std::move(gather).error();
    std::unique_ptr<IdleJobs> made(new IdleJobs(std::move(world), options));
    auto gatherer = scaling::Gatherer::make(
        *std::move(gather), [jobs = made.get()](const telemetry::Snapshot& snapshot, auto) {
            jobs->sight_.take(snapshot, IdleSight::Steady::now());
        });
    if (!gatherer) return std::move(gatherer).error();
    made->gatherer_ = *std::move(gatherer);
    return made;
}

void IdleJobs::start() {
    gatherer_->start();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void IdleJobs::stop() { thread_ = {}; }

void IdleJobs::run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
        std::unique_lock lock(mutex);
        never.wait_for(lock, stop, kBetweenIdleLooks, [] { return false; });
        if (!stop.stop_requested() && world_.elector.leads()) look(stop);
    }
}

std::set<IdleJobs::Job> IdleJobs::jobs_with_idle_pods(const std::stop_token& stop) {
    std::set<Job> jobs;
    std::map<std::string, Job> owners;
    const auto now = IdleSight::Steady::now();
    for (const auto& pod : sight_.idle_for(options_.after, now)) {
        auto known = owners_.find(pod.uid);
        if (known == owners_.end() && owners_.size() < kMostOwners) {
            const auto object =
                find_one(world_.api, kube_client::resources::pods(), {pod.space, pod.name}, stop);
            if (!object || object->uid != pod.uid) continue;
            Job job;
            const auto value = document::parse_json(object->json);
            for (const Value& owner : document::items_at(*value, {"metadata", "ownerReferences"})) {
                if (text_at(owner, {"kind"}) == "Job")
                    job = {{pod.space, text_at(owner, {"name"})}, text_at(owner, {"uid"})};
            }
            known = owners_.emplace(pod.uid, job).first;
        }
        if (known == owners_.end()) continue;
        owners.insert(*known);
        if (!known->second.uid.empty()) jobs.insert(known->second);
    }
    owners_ = std::move(owners);
    return jobs;
}

/// All its pods that have not ended; nullopt: it has none, or one of them is not measured.
std::optional<seconds> IdleJobs::idle_of(const Job& job, const std::stop_token& stop) const {
    const auto pods =
        world_.api.list(kube_client::resources::pods(),
                        {.namespace_name = job.key.namespace_name,
                         .label_selector = "batch.kubernetes.io/controller-uid=" + job.uid},
                        {.stop = stop});
    if (!pods) return std::nullopt;
    std::set<std::string> uids;
    for (const auto& pod : pods->items) {
        const auto value = document::parse_json(pod.json);
        if (!value || !has_ended(*value)) uids.insert(pod.uid);
    }
    return sight_.idle_of(uids, IdleSight::Steady::now());
}

void IdleJobs::look(const std::stop_token& stop) {
    std::set<Job> idle;
    for (const Job& job : jobs_with_idle_pods(stop)) {
        if (stop.stop_requested()) return;
        const auto length = idle_of(job, stop);
        if (!length || *length < options_.after) continue;
        idle.insert(job);
        judge(job, *length, stop);
    }
    take_back(idle, stop);
}

void IdleJobs::judge(const Job& job, seconds idle, const std::stop_token& stop) {
    const auto object = find_one(world_.api, kube_client::resources::jobs(), job.key, stop);
    const auto value = object ? document::parse_json(object->json)
                              : Result<Value>(Error{ErrorCode::kNotFound, ""});
    if (!value || object->uid != job.uid || has_stopped(*value)) return;
    const auto note = document::parse_json(
        text_at(*value, {"metadata", "annotations", cluster_jobs::kIdleAnnotation}));
    const auto told = note ? parse_rfc3339(text_at(*note, {"told"})) : std::nullopt;
    const auto now = world_.now();
    // What was told of an earlier time without use does not count.
    if (!told || *told < now - idle) return tell(job, idle, stop);
    told_.insert(job);
    if (options_.ends && now - *told >= options_.grace) end(job, *value, idle, stop);
}

void IdleJobs::tell(const Job& job, seconds idle, const std::stop_token& stop) {
    const auto now = world_.now();
    const Value note = make_mapping({{"since", rfc3339(now - idle)}, {"told", rfc3339(now)}});
    if (!patch(job,
               idle_annotations({{cluster_jobs::kIdleAnnotation,
                                  document::make_string(document::to_json_line(note))}}),
               stop))
        return;
    told_.insert(job);
    ++told_count_;
    log::info("jobs.idle_told",
              {{"job", kube_client::to_text(job.key)}, {"seconds", idle.count()}});
    say(job, "GpusIdle",
        words_of(idle) + (options_.ends
                              ? "; it is ended when they still are in " + minutes_of(options_.grace)
                              : "; end it when it does not need them"));
}

void IdleJobs::end(const Job& job, const Value& object, seconds idle, const std::stop_token& stop) {
    Value change = idle_annotations(
        {{cluster_jobs::kCancelledAnnotation, document::make_string(rfc3339(world_.now()))},
         {cluster_jobs::kIdleEndAnnotation, document::make_string(words_of(idle))}});
    // In a queue the Workload is made inactive for it, see JobWork::follow_stops.
    if (text_at(object, {"metadata", "labels", cluster_jobs::kQueueLabel}).empty())
        document::append(change, "spec", make_mapping({{"suspend", true}}));
    if (!patch(job, change, stop)) return;
    told_.erase(job);
    ++ended_count_;
    log::info("jobs.idle_ended",
              {{"job", kube_client::to_text(job.key)}, {"seconds", idle.count()}});
    say(job, "EndedIdle", words_of(idle) + ": it is ended");
}

/// Those that were told and use their GPUs again.
void IdleJobs::take_back(const std::set<Job>& idle, const std::stop_token& stop) {
    for (auto at = told_.begin(); at != told_.end();) {
        const Job job = *at;
        if (idle.contains(job)) {
            ++at;
            continue;
        }
        const auto length = idle_of(job, stop);
        const auto object = find_one(world_.api, kube_client::resources::jobs(), job.key, stop);
        const bool is_gone = !object || object->uid != job.uid;
        if (!is_gone && (!length || *length >= options_.after)) {
            ++at;
            continue;
        }
        at = told_.erase(at);
        if (is_gone) continue;
        (void)patch(job, idle_annotations({{cluster_jobs::kIdleAnnotation, Value{}}}), stop);
        log::info("jobs.idle_over", {{"job", kube_client::to_text(job.key)}});
    }
}

bool IdleJobs::patch(const Job& job, const Value& patch, const std::stop_token& stop) {
    const auto call = world_.elector.call(stop);
    if (!call) return false;
    Value guarded = patch;
    for (auto& entry : guarded.entries) {
        if (entry.first.scalar == "metadata") document::append(entry.second, "uid", job.uid);
    }
    const auto done =
        world_.api.patch(kube_client::resources::jobs(), job.key, document::to_json_line(guarded),
                         {.kind = kube_client::PatchKind::kMerge,
                          .write = {.field_manager = kIdleManager, .call = *call}});
    if (!done) ++failures_;
    return done.ok();
}

void IdleJobs::say(const Job& job, const char* reason, std::string note) {
    events_.record({.regarding = {.api_version = "batch/v1",
                                  .kind = "Job",
                                  .namespace_name = job.key.namespace_name,
                                  .name = job.key.name,
                                  .uid = job.uid},
                    .warning = true,
                    .reason = reason,
                    .action = "IdleGpus",
                    .note = std::move(note)});
}

std::string IdleJobs::metrics() const {
    std::string out;
    metrics::Text text(out);
    text.single("aliquot_controller_jobs_idle_told_total", "Jobs that were told to be idle",
                "counter", told_count_);
    text.single("aliquot_controller_jobs_idle_ended_total", "Jobs that were ended as idle",
                "counter", ended_count_);
    text.single("aliquot_controller_jobs_idle_failures_total",
                "Writes to Jobs that were idle which failed", "counter", failures_);
    return out;
}

}  // namespace aliquot::controller
