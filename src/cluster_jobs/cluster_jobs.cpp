// SPDX-License-Identifier: Apache-2.0
#include "cluster_jobs/cluster_jobs.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/text.h"
#include "base/time_text.h"
#include "cluster_jobs/workload.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "jobs/manifest.h"
#include "jobs/read.h"
#include "kube_client/query.h"

namespace aliquot::cluster_jobs {
namespace {

using document::make_mapping;
using document::text_at;
using document::Value;
using kube_client::ObjectKey;

constexpr char kFieldManager[] = "aliquot";

kube_client::Resource of_kueue(const char* plural, const char* kind, bool namespaced) {
    return {.group = "kueue.x-k8s.io",
            .version = "v1beta2",
            .plural = plural,
            .kind = kind,
            .namespaced = namespaced};
}

std::string now_text() { return rfc3339(std::chrono::system_clock::now()); }

bool names_job(const Value& object, const std::string& uid) {
    const auto& owners = document::items_at(object, {"metadata", "ownerReferences"});
    return std::any_of(owners.begin(), owners.end(),
                       [&](const Value& owner) { return text_at(owner, {"uid"}) == uid; });
}

std::string owner_job(const Value& object) {
    for (const Value& owner : document::items_at(object, {"metadata", "ownerReferences"})) {
        if (text_at(owner, {"kind"}) == "Job") return text_at(owner, {"uid"});
    }
    return {};
}

/// Objects as documents; those that are none are left out.
std::vector<Value> parsed(const kube_client::Page& page) {
    std::vector<Value> all;
    for (const kube_client::Object& object : page.items) {
        if (auto value = document::parse_json(object.json)) all.push_back(*std::move(value));
    }
    return all;
}

Result<std::vector<Value>> list_of(kube_client::Api& api, const kube_client::Resource& resource,
                                   kube_client::ListOptions options,
                                   const kube_client::Call& call) {
    options.keep_managed_fields = false;
    const auto page = api.list(resource, options, call);
    if (!page) return page.error();
    return parsed(*page);
}

/// Workloads, where Kueue is there and may be asked; else none.
std::vector<Value> workloads_of(kube_client::Api& api, const std::string& space,
                                const std::string& selector, const kube_client::Call& call) {
    auto all =
        list_of(api, workloads(), {.namespace_name = space, .label_selector = selector}, call);
    return all ? *std::move(all) : std::vector<Value>{};
}

Value annotation_patch(const char* name, Value value) {
    Value annotations = make_mapping();
    document::append(annotations, name, std::move(value));
    return make_mapping({{"metadata", make_mapping({{"annotations", std::move(annotations)}})}});
}

/// The label by which Kueue says whose Workload it is.
std::string label_of(const std::string& uid) { return "kueue.x-k8s.io/job-uid=" + uid; }

void erase_member(Value& mapping, std::string_view key) {
    std::erase_if(mapping.entries, [&](const auto& entry) { return entry.first.scalar == key; });
}

Value* member_of(Value& mapping, std::string_view key) {
    for (auto& entry : mapping.entries) {
        if (entry.first.scalar == key) return &entry.second;
    }
    return nullptr;
}

void drop_labels_of_controller(Value* labels) {
    if (labels == nullptr) return;
    for (const char* const name : {"controller-uid", "batch.kubernetes.io/controller-uid",
                                   "job-name", "batch.kubernetes.io/job-name"}) {
        erase_member(*labels, name);
    }
}

}  // namespace

const kube_client::Resource& workloads() {
    static const auto kOne = of_kueue("workloads", "Workload", true);
    return kOne;
}
const kube_client::Resource& cluster_queues() {
    static const auto kOne = of_kueue("clusterqueues", "ClusterQueue", false);
    return kOne;
}
const kube_client::Resource& local_queues() {
    static const auto kOne = of_kueue("localqueues", "LocalQueue", true);
    return kOne;
}
const kube_client::Resource& resource_flavors() {
    static const auto kOne = of_kueue("resourceflavors", "ResourceFlavor", false);
    return kOne;
}
const kube_client::Resource& admission_checks() {
    static const auto kOne = of_kueue("admissionchecks", "AdmissionCheck", false);
    return kOne;
}

Value as_submitted(const Value& job, std::uint32_t attempt) {
    Value metadata = make_mapping({{"name", text_at(job, {"metadata", "name"})},
                                   {"namespace", text_at(job, {"metadata", "namespace"})}});
    if (const Value* const labels = document::at_path(job, {"metadata", "labels"})) {
        Value kept = *labels;
        drop_labels_of_controller(&kept);
        document::append(metadata, "labels", std::move(kept));
    }
    Value annotations = make_mapping();
    if (const Value* const all = document::at_path(job, {"metadata", "annotations"}))
        annotations = *all;
    for (const char* const gone :
         {kSuspendedAnnotation, kCancelledAnnotation, kEtaAnnotation, kIdleAnnotation,
          kIdleEndAnnotation, kAttemptAnnotation, "batch.kubernetes.io/job-tracking"}) {
        erase_member(annotations, gone);
    }
    document::append(annotations, kAttemptAnnotation, std::to_string(attempt));
    document::append(metadata, "annotations", std::move(annotations));
    Value spec = make_mapping();
    if (const Value* const all = document::at_path(job, {"spec"})) spec = *all;
    const bool queued = !text_at(job, {"metadata", "labels", kQueueLabel}).empty() ||
                        !text_at(job, {"metadata", "annotations", kAfterAnnotation}).empty();
    for (const char* const gone : {"selector", "suspend"}) erase_member(spec, gone);
    if (queued) document::append(spec, "suspend", true);
    if (Value* const pod = member_of(spec, "template")) {
        if (Value* const of_pod = member_of(*pod, "metadata"))
            drop_labels_of_controller(member_of(*of_pod, "labels"));
    }
    return make_mapping({{"apiVersion", "batch/v1"},
                         {"kind", "Job"},
                         {"metadata", std::move(metadata)},
                         {"spec", std::move(spec)}});
}

Result<ClusterJobs::Whole> ClusterJobs::look(const std::string& name) {
    const ObjectKey key{space_, name};
    const auto object = api_.get(kube_client::resources::jobs(), key, call_);
    if (!object) {
        if (!object.failure().is(kube_client::Reason::kNotFound)) return object.error();
        return Error{ErrorCode::kNotFound, "there is no job " + name + " in namespace " + space_};
    }
    auto job = document::parse_json(object->json);
    if (!job) return std::move(job).error().during("job " + name);
    const auto pods =
        list_of(api_, kube_client::resources::pods(),
                {.namespace_name = space_,
                 .label_selector = "batch.kubernetes.io/controller-uid=" + object->uid},
                call_);
    if (!pods) return pods.error();
    std::vector<const Value*> of_job;
    for (const Value& pod : *pods) of_job.push_back(&pod);
    const auto all = workloads_of(api_, space_, label_of(object->uid), call_);
    const auto mine = std::find_if(all.begin(), all.end(), [&](const Value& workload) {
        return names_job(workload, object->uid);
    });
    JobSight sight = read_job(*job, mine == all.end() ? nullptr : &*mine, of_job);
    return Whole{*std::move(job), std::move(sight)};
}

Result<ClusterJobs::Submitted> ClusterJobs::submit(jobs::Request request, const std::string& key) {
    if (request.in_namespace.empty()) request.in_namespace = space_;
    if (request.in_namespace != space_) {
        return ClusterJobs(api_, request.in_namespace, call_).submit(std::move(request), key);
    }
    if (!key.empty() && request.name.empty() && request.task_id.empty()) request.task_id = key;
    auto manifest = jobs::job_manifest(request);
    if (!manifest) return std::move(manifest).error();
    Value* const metadata = member_of(*manifest, "metadata");
    if (!key.empty()) {
        document::append(*member_of(*metadata, "annotations"), kKeyAnnotation, key);
    }
    const std::string name = text_at(*manifest, {"metadata", "name"});
    const auto made =
        api_.create(kube_client::resources::jobs(), space_, document::to_json_line(*manifest),
                    {.field_manager = kFieldManager, .call = call_});
    if (!made && !made.failure().is(kube_client::Reason::kAlreadyExists)) return made.error();
    auto there = look(name);
    if (!there) return std::move(there).error();
    if (made) return Submitted{std::move(there->sight), true};
    if (!there->sight.request.is_mapping()) {
        return Error{ErrorCode::kConflict,
                     "job " + name + " exists already and was not submitted by aliquot"};
    }
    const auto before = jobs::read(there->sight.request);
    const auto now = jobs::read(to_document(request, jobs::Secrets::kHide));
    if (before && now && !(*before == *now)) {
        return Error{ErrorCode::kConflict, "job " + name + " exists with other fields: " +
                                               join(jobs::differences(*before, *now), "; ")};
    }
    return Submitted{std::move(there->sight), false};
}

Result<std::vector<JobSight>> ClusterJobs::list(const Filter& filter) {
    kube_client::ListOptions options{.namespace_name = filter.space};
    if (!filter.queue.empty()) options.label_selector = kQueueLabel + ("=" + filter.queue);
    auto all = list_of(api_, kube_client::resources::jobs(), options, call_);
    if (!all) return std::move(all).error();
    std::erase_if(*all, [](const Value& job) { return !is_gpu_job(job); });
    const auto pods = list_of(
        api_, kube_client::resources::pods(),
        {.namespace_name = filter.space, .label_selector = "batch.kubernetes.io/controller-uid"},
        call_);
    if (!pods) return pods.error();
    std::map<std::string, std::vector<const Value*>> pods_of;
    for (const Value& pod : *pods) pods_of[owner_job(pod)].push_back(&pod);
    const auto of_kueue = workloads_of(api_, filter.space, "", call_);
    std::map<std::string, const Value*> workload_of;
    for (const Value& workload : of_kueue) workload_of[owner_job(workload)] = &workload;
    std::vector<JobSight> sights;
    for (const Value& job : *all) {
        const std::string uid = text_at(job, {"metadata", "uid"});
        const auto workload = workload_of.find(uid);
        JobSight sight =
            read_job(job, workload == workload_of.end() ? nullptr : workload->second, pods_of[uid]);
        const bool is_over = jobs::is_final(sight.state);
        if (is_over ? !filter.ended : !filter.living) continue;
        if (!filter.user.empty() && sight.user != filter.user) continue;
        sights.push_back(std::move(sight));
    }
    std::sort(sights.begin(), sights.end(), [](const JobSight& a, const JobSight& b) {
        return std::tie(a.created, a.space, a.name) < std::tie(b.created, b.space, b.name);
    });
    return sights;
}

Result<JobSight> ClusterJobs::find(const std::string& name) {
    auto whole = look(name);
    if (!whole) return std::move(whole).error();
    return std::move(whole->sight);
}

Result<Value> ClusterJobs::explain(const std::string& name, bool all_spaces) {
    auto whole = look(name);
    if (!whole) return std::move(whole).error();
    // Of other namespaces only who may read them hears.
    auto others = list({.space = all_spaces ? "" : space_, .ended = false});
    if (!others) others = list({.space = space_, .ended = false});
    return to_explanation(whole->sight, others ? *others : std::vector<JobSight>{});
}

Result<Done> ClusterJobs::patch_job(const JobSight& job, const Value& patch) {
    const auto done = api_.patch(kube_client::resources::jobs(), {job.space, job.name},
                                 document::to_json_line(patch),
                                 {.kind = kube_client::PatchKind::kMerge,
                                  .write = {.field_manager = kFieldManager, .call = call_}});
    if (!done) return done.error();
    return Done{};
}

/// Kueue stops and starts what is in its queues; a Job that is in none is suspended by itself.
Result<Done> ClusterJobs::set_active(const Whole& job, bool active) {
    if (!job.sight.workload) {
        const bool suspended = !active || !job.sight.queue.empty();
        return patch_job(job.sight,
                         make_mapping({{"spec", make_mapping({{"suspend", suspended}})}}));
    }
    const auto done = api_.patch(workloads(), {job.sight.space, job.sight.workload->name},
                                 document::to_json_line(stop_patch(!active)),
                                 {.kind = kube_client::PatchKind::kMerge,
                                  .write = {.field_manager = kFieldManager, .call = call_}});
    if (done) return Done{};
    if (!done.failure().is(kube_client::Reason::kForbidden)) return done.error();
    // Kueue's roles for users do not let them change Workloads: aliquot-controller --jobs does as the Job says.
    constexpr auto kPatience = std::chrono::seconds(10);
    const bool followed = comes_true(job.sight, kPatience, [&](const JobSight& sight) {
        return !sight.workload || sight.workload->active == active;
    });
    if (followed) return Done{};
    return done.error().during(
        "neither may you change Workload " + job.sight.workload->name +
        " of Kueue, nor does aliquot-controller --jobs, which would do it for you");
}

bool ClusterJobs::comes_true(const JobSight& job, std::chrono::seconds patience,
                             const std::function<bool(const JobSight&)>& holds) {
    constexpr auto kPause = std::chrono::milliseconds(50);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end && !call_.stop.stop_requested()) {
        const auto again = look(job.name);
        if (!again || again->sight.uid != job.uid) return false;
        if (holds(again->sight)) return true;
        std::this_thread::sleep_for(kPause);
    }
    return false;
}

/// Kueue makes the Workload of a new Job within moments, and starts what it finds active: who stops one before waits for it.
Result<Done> ClusterJobs::wait_for_workload(Whole& job) {
    constexpr auto kPatience = std::chrono::seconds(5);
    if (job.sight.queue.empty() || job.sight.workload) return Done{};
    // Without Kueue, or the right to look at its Workloads, there is none to wait for.
    const kube_client::ListOptions some{.namespace_name = job.sight.space,
                                        .label_selector = label_of(job.sight.uid),
                                        .metadata_only = true};
    if (!api_.list(workloads(), some, call_)) return Done{};
    (void)comes_true(job.sight, kPatience,
                     [](const JobSight& sight) { return sight.workload.has_value(); });
    auto again = look(job.sight.name);
    if (!again) return std::move(again).error();
    job = *std::move(again);
    return Done{};
}

/// Says on the Job that somebody wants it to stop, then stops it: whoever dies in between, the Job tells.
Result<JobSight> ClusterJobs::mark(const std::string& name, const char* annotation,
                                   const char* state) {
    auto whole = look(name);
    if (!whole) return std::move(whole).error();
    if (jobs::is_final(whole->sight.state)) {
        return Error{ErrorCode::kConflict, "job " + name + " is " +
                                               std::string(jobs::word(whole->sight.state)) +
                                               "; only one that waits or runs can be " + state};
    }
    auto done =
        patch_job(whole->sight, annotation_patch(annotation, document::make_string(now_text())));
    if (!done) return std::move(done).error();
    done = wait_for_workload(*whole);
    if (done) done = set_active(*whole, false);
    if (!done) {
        // It goes on: nothing may say otherwise.
        (void)patch_job(whole->sight, annotation_patch(annotation, Value{}));
        return std::move(done).error();
    }
    return find(name);
}

Result<JobSight> ClusterJobs::cancel(const std::string& name) {
    return mark(name, kCancelledAnnotation, "cancelled");
}
Result<JobSight> ClusterJobs::suspend(const std::string& name) {
    return mark(name, kSuspendedAnnotation, "suspended");
}

Result<JobSight> ClusterJobs::resume(const std::string& name) {
    auto whole = look(name);
    if (!whole) return std::move(whole).error();
    using jobs::State;
    if (whole->sight.state != State::kSuspended && whole->sight.state != State::kSuspending) {
        return Error{ErrorCode::kConflict, "job " + name + " is " +
                                               std::string(jobs::word(whole->sight.state)) +
                                               "; only one that is suspended can be resumed"};
    }
    auto done = patch_job(whole->sight, annotation_patch(kSuspendedAnnotation, Value{}));
    if (done) done = set_active(*whole, true);
    if (!done) return std::move(done).error();
    return find(name);
}

Result<Done> ClusterJobs::remove(const std::string& name) {
    auto whole = look(name);
    if (!whole) return std::move(whole).error();
    if (!jobs::is_final(whole->sight.state)) {
        return Error{ErrorCode::kConflict, "job " + name + " is " +
                                               std::string(jobs::word(whole->sight.state)) +
                                               "; cancel it first"};
    }
    const auto gone = api_.remove(kube_client::resources::jobs(), {whole->sight.space, name},
                                  {.uid = whole->sight.uid, .call = call_});
    if (!gone) return gone.error();
    return Done{};
}

}  // namespace aliquot::cluster_jobs
