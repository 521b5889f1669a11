// SPDX-License-Identifier: Apache-2.0
// Gates, estimates, Jobs that come after others, and cancelled ones.
#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cluster_jobs/sight.h"
#include "controller/job_kueue.h"
#include "controller/job_work.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/node.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::controller {
namespace {

using cluster_jobs::Foreseen;
using document::make_mapping;
using document::text_at;
using document::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kJobManager[] = "aliquot-controller";
constexpr seconds kBetweenForecasts{2};
constexpr seconds kBetweenStops{1};
constexpr milliseconds kEstimatesTime{
    250};                             // of one look: each is work for the API server and Kueue
constexpr seconds kLongestCrowd{30};  // without estimates, while jobs are admitted
constexpr std::uint32_t kMostGpusOfNode = 1'024;

std::string annotation(const Value& object, std::string_view name) {
    return text_at(object, {"metadata", "annotations", name});
}

Value annotations_patch(const char* name, const Value& value) {
    Value annotations = make_mapping();
    document::append(annotations, name, value);
    return make_mapping({{"metadata", make_mapping({{"annotations", std::move(annotations)}})}});
}

bool has_condition(const Value& job, std::string_view type) {
    const auto& all = document::items_at(job, {"status", "conditions"});
    return std::any_of(all.begin(), all.end(), [&](const Value& one) {
        return text_at(one, {"type"}) == type && text_at(one, {"status"}) == "True";
    });
}

std::string time_text(queue::Time at) {
    return rfc3339(std::chrono::system_clock::time_point(milliseconds(at)));
}

/// To the minute: what is written again for every second is noise.
queue::Time rounded(queue::Time at) {
    constexpr queue::Time kMinute = 60'000;
    return (at + kMinute - 1) / kMinute * kMinute;
}

std::string eta_text(const Foreseen& foreseen) {
    return document::to_json_line(make_mapping(
        {{"position", document::only_if(foreseen.position != 0, foreseen.position)},
         {"p50", document::only_if(foreseen.p50.has_value(),
                                   time_text(rounded(foreseen.p50.value_or(0))))},
         {"p90", document::only_if(foreseen.p90.has_value(),
                                   time_text(rounded(foreseen.p90.value_or(0))))},
         {"why", foreseen.why},
         {"smaller", document::only_if(!foreseen.smaller.empty(), foreseen.smaller)}}));
}

/// GPUs that a node offers, whole or in parts.
std::uint32_t gpus_of(const Value& node) {
    if (text_at(node, {"spec", "unschedulable"}) == "true") return 0;
    if (const auto told = document::parse_json(annotation(node, "aliquot.dev/gpus"));
        told && told->is_sequence() && !told->items.empty()) {
        return static_cast<std::uint32_t>(told->items.size());
    }
    std::uint32_t gpus = 0;
    for (const auto& [name, amount] : document::entries_at(node, {"status", "allocatable"})) {
        if (!k8s::is_gpu_resource(name.scalar)) continue;
        gpus = std::max(gpus, parse_number<std::uint32_t>(amount.scalar).value_or(0));
    }
    return std::min(gpus, kMostGpusOfNode);
}

}  // namespace

bool JobWork::patch_job(const kube_client::ObjectKey& key, const std::string& uid,
                        const Value& patch, const std::stop_token& stop) {
    const auto call = world_.elector.call(stop);
    if (!call) return false;
    Value guarded = patch;
    for (auto& entry : guarded.entries) {
        if (entry.first.scalar == "metadata") document::append(entry.second, "uid", uid);
    }
    const auto done =
        world_.api.patch(kube_client::resources::jobs(), key, document::to_json_line(guarded),
                         {.kind = kube_client::PatchKind::kMerge,
                          .write = {.field_manager = kJobManager, .call = *call}});
    if (done || done.failure().is(kube_client::Reason::kNotFound)) return done.ok();
    ++failures_;
    log::warning("jobs.not_written",
                 {{"job", kube_client::to_text(key)}, {"reason", done.failure().message}});
    return false;
}

bool JobWork::open_gate(const kube_client::ObjectKey& key, const char* gate,
                        const std::stop_token& stop) {
    const auto object = jobs_.store().find(key);
    const auto job = object ? document::parse_json(object->json)
                            : Result<Value>(Error{ErrorCode::kNotFound, ""});
    if (!job) return false;
    const auto left = cluster_jobs::without_gate(annotation(*job, cluster_jobs::kGatedBy), gate);
    if (!left) return false;
    const Value value = left->empty() ? Value{} : document::make_string(*left);
    if (!patch_job(key, object->uid, annotations_patch(cluster_jobs::kGatedBy, value), stop))
        return false;
    ++released_;
    log::info("jobs.released", {{"job", kube_client::to_text(key)}, {"gate", gate}});
    return true;
}

/// Those that come after others: let go when all have succeeded, cancelled when one has not or is gone.
void JobWork::start_after(const std::stop_token& stop) {
    for (const auto& object : jobs_.store().all()) {
        if (stop.stop_requested()) return;
        if (!object->json.contains(cluster_jobs::kAfterAnnotation)) continue;
        const auto job = document::parse_json(object->json);
        if (!job || text_at(*job, {"spec", "suspend"}) != "true") continue;
        const std::string names = annotation(*job, cluster_jobs::kAfterAnnotation);
        const bool stopped = !annotation(*job, cluster_jobs::kCancelledAnnotation).empty() ||
                             !annotation(*job, cluster_jobs::kSuspendedAnnotation).empty();
        if (names.empty() || stopped) continue;
        bool all = true;
        std::string failed;
        for (const std::string_view name : split_list(names)) {
            const auto before = jobs_.store().find({object->namespace_name, std::string(name)});
            const auto other = before ? document::parse_json(before->json)
                                      : Result<Value>(Error{ErrorCode::kNotFound, ""});
            if (other && has_condition(*other, "Complete")) continue;
            all = false;
            const bool over =
                other && (has_condition(*other, "Failed") ||
                          !annotation(*other, cluster_jobs::kCancelledAnnotation).empty());
            if (!other || over) failed = std::string(name);
        }
        const kube_client::ObjectKey key{object->namespace_name, object->name};
        if (!failed.empty()) {
            patch_job(key, object->uid,
                      annotations_patch(cluster_jobs::kCancelledAnnotation,
                                        document::make_string(rfc3339(world_.now()))),
                      stop);
            log::info("jobs.cancelled", {{"job", kube_client::to_text(key)},
                                         {"why", "job " + failed + " did not succeed"}});
            continue;
        }
        if (!all) continue;
        if (!annotation(*job, cluster_jobs::kGatedBy).empty()) {
            open_gate(key, cluster_jobs::kAfterGate, stop);
        } else if (text_at(*job, {"metadata", "labels", cluster_jobs::kQueueLabel}).empty()) {
            Value patch = annotations_patch(cluster_jobs::kAfterAnnotation, Value{});
            document::append(patch, "spec", make_mapping({{"suspend", false}}));
            if (patch_job(key, object->uid, patch, stop)) ++released_;
        }
    }
}

/// A cancelled Job is suspended, which no time to live of Kubernetes ends: we do, when its own is over.
void JobWork::remove_cancelled(const std::stop_token& stop) {
    for (const auto& object : jobs_.store().all()) {
        if (stop.stop_requested()) return;
        if (!object->json.contains(cluster_jobs::kCancelledAnnotation)) continue;
        const auto job = document::parse_json(object->json);
        if (!job) continue;
        const auto at = parse_rfc3339(annotation(*job, cluster_jobs::kCancelledAnnotation));
        const auto ttl =
            parse_number<std::int64_t>(text_at(*job, {"spec", "ttlSecondsAfterFinished"}));
        if (!at || !ttl || world_.now() < *at + seconds(*ttl)) continue;
        const auto call = world_.elector.call(stop);
        if (!call) return;
        const auto gone = world_.api.remove(
            kube_client::resources::jobs(), {object->namespace_name, object->name},
            {.uid = object->uid, .resource_version = object->resource_version, .call = *call});
        if (!gone && !gone.failure().is(kube_client::Reason::kNotFound)) ++failures_;
    }
}

/// Few users may change Kueue's Workloads: those of Jobs that say that they are stopped are made inactive for them, and
/// active again when they no longer say so. True: look again soon.
bool JobWork::follow_stops(const std::stop_token& stop) {
    const auto now = Steady::now();
    if (now - stops_at_ < kBetweenStops) return true;
    stops_at_ = now;
    std::set<std::string> stopped;  // uids of Jobs
    for (const auto& object : jobs_.store().all()) {
        const bool may_be = object->json.contains(cluster_jobs::kCancelledAnnotation) ||
                            object->json.contains(cluster_jobs::kSuspendedAnnotation);
        const auto job = may_be ? document::parse_json(object->json)
                                : Result<Value>(Error{ErrorCode::kNotFound, ""});
        if (!job || has_condition(*job, "Complete") || has_condition(*job, "Failed")) continue;
        if (!annotation(*job, cluster_jobs::kCancelledAnnotation).empty() ||
            !annotation(*job, cluster_jobs::kSuspendedAnnotation).empty())
            stopped.insert(object->uid);
    }
    // The Job may be told of later than the Workload: who is to go on is looked at twice.
    std::set<std::string> go_on;
    for (const auto& object : kueue_->workloads.store().all()) {
        const bool is_active = !object->json.contains(R"("active":false)");
        const bool by_us = object->json.contains(cluster_jobs::kStoppedAnnotation);
        if (is_active ? stopped.empty() : !by_us) continue;
        const auto whose =
            kube_client::string_at(object->json, "/metadata/labels/kueue.x-k8s.io~1job-uid");
        const bool wants_stop = whose && stopped.contains(*whose);
        const bool is_inactive = !kube_client::bool_at(object->json, "/spec/active").value_or(true);
        if (stop.stop_requested() || !whose || wants_stop == is_inactive) continue;
        const auto call = world_.elector.call(stop);
        if (!call) return false;
        if (!wants_stop && !go_on_.contains(object->uid)) {
            go_on.insert(object->uid);
            continue;
        }
        const auto done =
            world_.api.patch(cluster_jobs::workloads(), object->key(),
                             document::to_json_line(cluster_jobs::stop_patch(wants_stop)),
                             {.kind = kube_client::PatchKind::kMerge,
                              .write = {.field_manager = kJobManager, .call = *call}});
        if (!done) ++failures_;
        log::info(wants_stop ? "jobs.stopped" : "jobs.goes_on",
                  {{"workload", kube_client::to_text(object->key())},
                   {"failure", done ? std::string() : done.failure().message}});
    }
    go_on_ = std::move(go_on);
    return !go_on_.empty();
}

std::string JobWork::cluster_queue_of(const Value& workload) const {
    const std::string reserved = text_at(workload, {"status", "admission", "clusterQueue"});
    if (!reserved.empty()) return reserved;
    const auto queue = kueue_->local_queues.store().find(
        {text_at(workload, {"metadata", "namespace"}), text_at(workload, {"spec", "queueName"})});
    if (!queue) return {};
    return kube_client::string_at(queue->json, "/spec/clusterQueue").value_or("");
}

std::string JobWork::job_of(const Value& workload, std::string_view field) {
    for (const Value& owner : document::items_at(workload, {"metadata", "ownerReferences"})) {
        if (text_at(owner, {"kind"}) == "Job") return text_at(owner, {field});
    }
    return {};
}

void JobWork::write_foreseen(const Value& workload, const Foreseen& foreseen,
                             const std::stop_token& stop) {
    const auto now = Steady::now();
    const std::string job = job_of(workload);
    if (job.empty()) return;
    const std::string uid = text_at(workload, {"metadata", "uid"});
    const kube_client::ObjectKey key{text_at(workload, {"metadata", "namespace"}), job};
    const auto object = jobs_.store().find(key);
    if (!object) return;
    const std::string text = eta_text(foreseen);
    const auto told = told_.find(uid);
    if (told != told_.end() && told->second.text == text) {
        told->second.at = now;
        return;
    }
    if (told != told_.end() && now - told->second.at < options_.eta_every) return;
    const bool fresh = told == told_.end();
    told_[uid] = {text, now};
    // After a start of ours it may stand there already.
    const auto there = document::parse_json(object->json);
    if (fresh && there && annotation(*there, cluster_jobs::kEtaAnnotation) == text) return;
    patch_job(key, object->uid,
              annotations_patch(cluster_jobs::kEtaAnnotation, document::make_string(text)), stop);
}

/// As many as the time allows: who was never told first, then who was told longest ago, and of these who is next. Each is a
/// write of a Job, which Kueue's webhooks look at too.
void JobWork::write_estimates(const std::map<std::string, Value>& workloads,
                              const std::stop_token& stop) {
    struct Due {
        Steady::time_point told;
        const Foreseen* foreseen;
    };
    std::vector<Due> all;
    for (const auto& [uid, one] : latest_) {
        const auto told = told_.find(uid);
        all.push_back({told == told_.end() ? Steady::time_point() : told->second.at, &one});
    }
    std::sort(all.begin(), all.end(), [](const Due& a, const Due& b) {
        return std::tie(a.told, a.foreseen->position, a.foreseen->uid) <
               std::tie(b.told, b.foreseen->position, b.foreseen->uid);
    });
    const auto now = Steady::now();
    if (checks_.is_crowded() && now - estimated_at_ < kLongestCrowd) return;
    estimated_at_ = now;
    const auto end = now + kEstimatesTime;
    for (const Due& one : all) {
        if (stop.stop_requested() || Steady::now() > end) return;
        write_foreseen(workloads.at(one.foreseen->uid), *one.foreseen, stop);
    }
}

std::map<std::string, std::chrono::system_clock::time_point> JobWork::likely_starts() const {
    std::map<std::string, std::chrono::system_clock::time_point> starts;
    for (const auto& [uid, one] : latest_) {
        if (one.p50) starts.emplace(uid, milliseconds(*one.p50));
    }
    return starts;
}

void JobWork::foresee(const std::stop_token& stop) {
    const auto begin = Steady::now();
    if (begin - foreseen_at_ < kBetweenForecasts) return;
    foreseen_at_ = begin;
    std::map<std::string, std::uint32_t> gpus;
    for (const auto& node : nodes_.store().all()) {
        const auto value = document::parse_json(node->json);
        const std::uint32_t count = value ? gpus_of(*value) : 0;
        if (count > 0) gpus[node->name] = count;
    }
    foresight_.set_nodes(gpus);
    std::vector<cluster_jobs::QueueOffer> offers;
    for (const auto& queue : kueue_->cluster_queues.store().all()) {
        if (const auto value = document::parse_json(queue->json))
            offers.push_back(cluster_jobs::offer_of(*value));
    }
    std::sort(offers.begin(), offers.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    foresight_.set_queues(offers);
    std::vector<cluster_jobs::Task> tasks;
    std::map<std::string, Value> of_uid;
    std::map<std::string, queue::Outcome> ended;
    for (const auto& object : kueue_->workloads.store().all()) {
        auto value = document::parse_json(object->json);
        if (!value) continue;
        auto task = cluster_jobs::task_of(*value, cluster_queue_of(*value));
        if (!task) {
            if (has_condition(*value, "Finished")) ended[object->uid] = queue::Outcome::kCompleted;
            continue;
        }
        const auto job = jobs_.store().find({object->namespace_name, job_of(*value)});
        const auto deadline =
            job ? kube_client::integer_at(job->json, "/spec/activeDeadlineSeconds") : std::nullopt;
        if (task->limit == 0 && deadline) task->limit = *deadline * 1'000;
        tasks.push_back(*task);
        of_uid[task->uid] = *std::move(value);
    }
    std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
        return std::tie(a.created, a.uid) < std::tie(b.created, b.uid);
    });
    const auto now = std::chrono::duration_cast<milliseconds>(world_.now().time_since_epoch());
    latest_.clear();
    for (Foreseen& one : foresight_.look(tasks, ended, now.count())) {
        if (stop.stop_requested()) return;
        const Value& workload = of_uid.at(one.uid);
        const kube_client::ObjectKey job{text_at(workload, {"metadata", "namespace"}),
                                         job_of(workload)};
        if (one.is_let_go && !job.name.empty()) open_gate(job, cluster_jobs::kPlannerGate, stop);
        latest_[one.uid] = std::move(one);
    }
    std::erase_if(told_, [&](const auto& one) { return !of_uid.contains(one.first); });
    checks_.expect(likely_starts());
    write_estimates(of_uid, stop);
    // A large queue takes long to look at: at most a tenth of the time.
    foreseen_at_ = begin + 9 * (Steady::now() - begin);
}

}  // namespace aliquot::controller
