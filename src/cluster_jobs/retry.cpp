// SPDX-License-Identifier: Apache-2.0
// A Job is made anew under its name, which is free only when the former one is gone. Until the new one is there another
// Job, of which nothing ever runs, keeps what it is made of: whatever fails or ends in between, nothing is lost.
#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <thread>

#include "cluster_jobs/cluster_jobs.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::cluster_jobs {
namespace {

using document::make_mapping;
using document::text_at;
using document::Value;

constexpr std::size_t kMostKeptPart = 48;  // of a name of 63
constexpr std::size_t kUidPart = 8;

/// One for each Job that goes: who asks again finds it.
std::string kept_name(const JobSight& job) {
    return job.name.substr(0, kMostKeptPart) + "-kept-" + job.uid.substr(0, kUidPart);
}

Value without(const Value& mapping, std::initializer_list<std::string_view> gone) {
    Value rest = make_mapping();
    for (const auto& entry : mapping.entries) {
        if (std::ranges::find(gone, entry.first.scalar) == gone.end())
            rest.entries.push_back(entry);
    }
    return rest;
}

void take_over(const Value& from, const char* key, Value& to) {
    if (const Value* const value = document::at_path(from, {key}))
        document::append(to, key, *value);
}

/// Suspended, in no queue, and of no pod should something let it go all the same.
Value keeper_of(const Value& manifest, const JobSight& job) {
    const Value* const spec = document::at_path(manifest, {"spec"});
    Value rest = make_mapping();
    take_over(manifest, "metadata", rest);
    take_over(*spec, "suspend", rest);
    take_over(*spec, "parallelism", rest);
    Value labels = make_mapping({{kKeptLabel, job.name}});
    if (!job.user.empty()) document::append(labels, kUserLabel, job.user);
    Value paused = without(*spec, {"suspend", "parallelism"});
    document::append(paused, "suspend", true);
    document::append(paused, "parallelism", 0);
    return make_mapping(
        {{"apiVersion", "batch/v1"},
         {"kind", "Job"},
         {"metadata",
          make_mapping(
              {{"name", kept_name(job)},
               {"namespace", job.space},
               {"labels", std::move(labels)},
               {"annotations", make_mapping({{kKeptAnnotation, document::to_json_line(rest)}})}})},
         {"spec", std::move(paused)}});
}

/// What a keeper keeps. errors: kInvalidInput: somebody has changed it
Result<Value> kept_by(const Value& keeper) {
    const auto rest =
        document::parse_json(text_at(keeper, {"metadata", "annotations", kKeptAnnotation}));
    const Value plain = as_submitted(keeper, 1);
    const Value* const spec = document::at_path(plain, {"spec"});
    const Value* const metadata = rest ? document::at_path(*rest, {"metadata"}) : nullptr;
    if (metadata == nullptr || spec == nullptr) {
        return Error{ErrorCode::kInvalidInput, "job " + text_at(keeper, {"metadata", "name"}) +
                                                   ": its annotation " + kKeptAnnotation +
                                                   " is not as it was written"};
    }
    Value whole = without(*spec, {"suspend", "parallelism"});
    take_over(*rest, "suspend", whole);
    take_over(*rest, "parallelism", whole);
    return make_mapping({{"apiVersion", "batch/v1"},
                         {"kind", "Job"},
                         {"metadata", *metadata},
                         {"spec", std::move(whole)}});
}

}  // namespace

Result<Done> ClusterJobs::wait_gone(const JobSight& job) {
    constexpr auto kPause = std::chrono::milliseconds(50);
    const auto end = std::chrono::steady_clock::now() + call_.deadline;
    while (std::chrono::steady_clock::now() < end && !call_.stop.stop_requested()) {
        const auto there = api_.get(kube_client::resources::jobs(), {job.space, job.name}, call_);
        if (!there && there.failure().is(kube_client::Reason::kNotFound)) return Done{};
        if (!there) return there.error();
        if (there->uid != job.uid) {
            return Error{ErrorCode::kConflict, "job " + job.name + " was made anew meanwhile"};
        }
        std::this_thread::sleep_for(kPause);
    }
    return Error{ErrorCode::kUnavailable,
                 "job " + job.name + " is still being deleted; try again: its pods have not ended"};
}

Result<JobSight> ClusterJobs::make_anew(const std::string& name, const Value& manifest,
                                        const std::string& keeper) {
    const auto& jobs = kube_client::resources::jobs();
    const auto made = api_.create(jobs, space_, document::to_json_line(manifest), {.call = call_});
    // The answer to a first try may have been lost.
    const bool is_there = !made && made.failure().is(kube_client::Reason::kAlreadyExists);
    auto found = made || is_there ? find(name) : Result<JobSight>(made.error());
    if (found && is_there &&
        std::to_string(found->attempt) !=
            text_at(manifest, {"metadata", "annotations", kAttemptAnnotation})) {
        found = Error{ErrorCode::kConflict, "another job has its name"};
    }
    if (!found) {
        return std::move(found).error().during("job " + name +
                                               " was deleted and could not be made anew; job " +
                                               keeper + " keeps it for another 'retry'");
    }
    (void)api_.remove(jobs, {space_, keeper}, {.call = call_});
    return found;
}

/// The newest that is kept of a name. errors: kNotFound
Result<JobSight> ClusterJobs::retry_kept(const std::string& name) {
    const auto page =
        api_.list(kube_client::resources::jobs(),
                  {.namespace_name = space_, .label_selector = kKeptLabel + ("=" + name)}, call_);
    if (!page) return page.error();
    std::optional<Value> newest;
    for (const kube_client::Object& object : page->items) {
        auto one = document::parse_json(object.json);
        if (!one) continue;
        const auto since = [](const Value& of) {
            return text_at(of, {"metadata", "creationTimestamp"});
        };
        if (!newest || since(*newest) < since(*one)) newest = *std::move(one);
    }
    if (!newest) {
        return Error{ErrorCode::kNotFound, "there is no job " + name + " in namespace " + space_};
    }
    const auto manifest = kept_by(*newest);
    if (!manifest) return manifest.error();
    return make_anew(name, *manifest, text_at(*newest, {"metadata", "name"}));
}

Result<JobSight> ClusterJobs::retry(const std::string& name) {
    auto whole = look(name);
    if (!whole && whole.error().code == ErrorCode::kNotFound) return retry_kept(name);
    if (!whole) return std::move(whole).error();
    const JobSight& sight = whole->sight;
    if (!jobs::is_final(sight.state) || sight.state == jobs::State::kSucceeded) {
        return Error{ErrorCode::kConflict,
                     "job " + name + " is " + std::string(jobs::word(sight.state)) +
                         "; only one that failed, expired or was cancelled is tried again"};
    }
    const auto& jobs = kube_client::resources::jobs();
    kube_client::RemoveOptions removal{
        .propagation = kube_client::RemoveOptions::Propagation::kBackground,
        .uid = sight.uid,
        .dry_run = true,
        .call = call_};
    const auto remove_it = [&] { return api_.remove(jobs, {sight.space, sight.name}, removal); };
    // Whoever may not delete it hears so while nothing has been done.
    const auto may = remove_it();
    if (!may && !may.failure().is(kube_client::Reason::kNotFound)) return may.error();
    const Value again = as_submitted(whole->job, sight.attempt + 1);
    const std::string keeper = kept_name(sight);
    const auto kept = api_.create(jobs, sight.space,
                                  document::to_json_line(keeper_of(again, sight)), {.call = call_});
    if (!kept && !kept.failure().is(kube_client::Reason::kAlreadyExists)) {
        return kept.error().during("job " + name + " is as it was");
    }
    removal.dry_run = false;
    const auto gone = remove_it();
    if (!gone && !gone.failure().is(kube_client::Reason::kNotFound)) {
        (void)api_.remove(jobs, {sight.space, keeper}, {.call = call_});
        return gone.error();
    }
    if (auto waited = wait_gone(sight); !waited) return std::move(waited).error();
    return make_anew(name, again, keeper);
}

}  // namespace aliquot::cluster_jobs
