// SPDX-License-Identifier: Apache-2.0
// Why a job waits, in words.
#include <algorithm>

#include "base/text.h"
#include "job_server/keeper.h"

namespace aliquot::job_server {
namespace {

using Why = queue::Explanation::Why;

const std::string kHeld = "it is held: ";

std::string sentence_of(const queue::Explanation& told, std::size_t free_gpus) {
    switch (told.why) {
        case Why::kRuns:
            return "it runs";
        case Why::kNext:
            return "nothing holds it: it starts now";
        case Why::kDevices:
            return free_gpus == 0 ? "all GPUs are in use" : "too few GPUs of its kind are free";
        case Why::kQuota:
            return "its queue has used up its quota";
        case Why::kReservation:
            return "it would delay " +
                   (told.promised ? "job " + std::to_string(*told.promised)
                                  : std::string("a job ahead")) +
                   ", which was promised the GPUs";
        case Why::kImpossible:
            break;
    }
    return "this machine does not have what it asks for";
}

std::string flags_of(const queue::Explanation::Smaller& smaller) {
    if (smaller.milli >= placement::kWholeGpu || smaller.milli == 0) {
        return "--gpu " + std::to_string(smaller.gpus);
    }
    constexpr std::int32_t kMilliOfPercent = 10;
    return "--gpu-compute " + std::to_string(smaller.milli / kMilliOfPercent);
}

}  // namespace

/// Whether somebody forbids it, as one who looks after the money does; its reason says so.
bool Keeper::is_held(Job& job) {
    if (!options_.held) return false;
    const std::string why = options_.held(job.record);
    const bool was = job.record.reason.starts_with(kHeld);
    if (why.empty() ? !was : was && job.record.reason.ends_with(why)) return !why.empty();
    Record next = job.record;
    next.reason = why.empty() ? "it waits for its turn" : kHeld + why;
    if (journal_.update(next)) job.record = std::move(next);
    return !why.empty();
}

/// Of a job that waits for something else than devices.
std::string Keeper::why_unplanned(const Job& job, TimeMs now) const {
    if (!jobs::is_waiting(job.record.state)) return job.record.reason;
    for (const JobId id : after_of(job.record.request)) {
        const auto found = jobs_.find(id);
        if (found == jobs_.end() || jobs::is_final(found->second.record.state)) continue;
        return "it starts after job " + std::to_string(id);
    }
    if (job.record.not_before > now) return "a further try waits: " + job.record.reason;
    return job.record.reason;
}

Result<Outlook> Keeper::outlook(JobId id) {
    const TimeMs now = now_ms();
    const std::scoped_lock lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return none_such(id);
    Outlook outlook;
    std::vector<std::string> held;
    for (const auto& [other, job] : jobs_) {
        if (!job.on_books) continue;
        held.insert(held.end(), job.record.devices.begin(), job.record.devices.end());
    }
    for (const Device& device : fleet_.devices()) {
        if (std::find(held.begin(), held.end(), device.uuid) == held.end()) ++outlook.free_gpus;
    }
    const Job& one = found->second;
    outlook.why = why_unplanned(one, now);
    if (!one.planned || one.on_books) return outlook;
    for (const queue::Eta& eta : planner_.forecast(now)) {
        if (eta.id != id) continue;
        outlook.p50 = eta.p50 == queue::kNever ? 0 : eta.p50;
        outlook.p90 = eta.p90 == queue::kNever ? 0 : eta.p90;
    }
    const auto told = planner_.explain(id, now);
    if (!told) return told.error();
    outlook.why = sentence_of(*told, outlook.free_gpus);
    outlook.position = told->position;
    outlook.ahead = told->ahead;
    if (told->smaller) outlook.smaller = flags_of(*told->smaller);
    for (const queue::Holder& holder : told->holders) {
        const auto other = jobs_.find(holder.id);
        if (other == jobs_.end()) continue;
        const Record& record = other->second.record;
        outlook.holders.push_back({.id = holder.id,
                                   .user = record.user.name,
                                   .devices = record.devices,
                                   .ends = holder.ends == queue::kNever ? 0 : holder.ends});
    }
    return outlook;
}

Keeper::Overview Keeper::overview(std::size_t most_living, std::size_t most_ended) {
    const TimeMs now = now_ms();
    const std::scoped_lock lock(mutex_);
    Overview overview;
    const auto take = [&](const Job& job) {
        overview.jobs.push_back(job.record);
        overview.jobs.back().request.command.clear();
        overview.jobs.back().request.env.clear();
    };
    std::size_t living = 0;
    for (const auto& [id, job] : jobs_) {
        if (!jobs::is_final(job.record.state) && living++ < most_living) take(job);
    }
    std::size_t ended = 0;
    for (auto one = jobs_.rbegin(); one != jobs_.rend() && ended < most_ended; ++one) {
        if (!jobs::is_final(one->second.record.state)) continue;
        ++ended;
        take(one->second);
    }
    std::uint32_t position = 0;
    for (const queue::Eta& eta : planner_.forecast(now)) {
        overview.starts[eta.id] = {.position = ++position,
                                   .p50 = eta.p50 == queue::kNever ? 0 : eta.p50,
                                   .p90 = eta.p90 == queue::kNever ? 0 : eta.p90};
    }
    return overview;
}

}  // namespace aliquot::job_server
