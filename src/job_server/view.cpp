// SPDX-License-Identifier: Apache-2.0
#include "job_server/view.h"

#include <chrono>

#include "base/time_text.h"
#include "document/build.h"
#include "jobs/read.h"

namespace aliquot::job_server {
namespace {

using document::make_mapping;
using document::only_if;
using document::Value;

std::string time_text(TimeMs at) {
    return rfc3339(std::chrono::system_clock::time_point(std::chrono::milliseconds(at)));
}

document::Built time_of(TimeMs at) { return only_if(at != 0, time_text(at)); }

}  // namespace

Value to_document(const Record& record, Eyes eyes) {
    const jobs::Request& request = record.request;
    const bool owner = eyes == Eyes::kOwner;
    const bool final = jobs::is_final(record.state);
    const bool tried = record.started != 0 && !jobs::is_waiting(record.state);
    // Of the last try, and none of a try that has not ended yet.
    const bool told = final || jobs::is_waiting(record.state);
    return make_mapping(
        {{"id", record.id},
         {"name", request.name.empty() ? request.task_id : request.name},
         {"user", record.user.name},
         {"queue", only_if(!request.queue.empty(), request.queue)},
         {"priority", request.priority},
         {"state", jobs::word(record.state)},
         {"reason", only_if(owner, record.reason)},
         {"cause", only_if(told && record.cause != jobs::Cause::kNone, jobs::word(record.cause))},
         {"exitCode", only_if(told && record.started != 0, record.exit_code)},
         {"gpus", request.gpu_count},
         {"gpuMemory", only_if(!request.gpu_memory.empty(), request.gpu_memory)},
         {"gpuCompute", only_if(request.gpu_compute != 0, request.gpu_compute)},
         {"devices", record.devices},
         {"onCpu", only_if(record.on_cpu, true)},
         {"attempt", record.attempt},
         {"arrayIndex", only_if(request.array > 1, record.index)},
         {"submitted", time_of(record.submitted)},
         {"started", time_of(tried ? record.started : 0)},
         {"idleSince", time_of(record.state == jobs::State::kRunning ? record.idle_since : 0)},
         {"ended", time_of(final ? record.ended : 0)},
         {"request", only_if(owner, to_document(request, jobs::Secrets::kHide))}});
}

Value to_document(const std::vector<Transition>& steps) {
    return document::make_sequence(steps, [](const Transition& one) {
        return make_mapping({{"at", time_text(one.at)},
                             {"from", jobs::word(one.from)},
                             {"to", jobs::word(one.to)},
                             {"reason", one.reason}});
    });
}

Value pending_document(const Record& record, const Keeper::Overview::Start& when) {
    const jobs::Request& request = record.request;
    return make_mapping({{"position", only_if(when.position != 0, when.position)},
                         {"id", record.id},
                         {"name", request.name.empty() ? request.task_id : request.name},
                         {"user", record.user.name},
                         {"queue", only_if(!request.queue.empty(), request.queue)},
                         {"gpus", request.gpu_count * request.gang},
                         {"submitted", time_of(record.submitted)},
                         {"likelyStart", time_of(when.p50)},
                         {"latestStart", time_of(when.p90)}});
}

Value to_document(const Record& record, const Outlook& outlook) {
    Value holders = document::make_sequence(outlook.holders, [](const Outlook::Holder& one) {
        return make_mapping({{"id", one.id},
                             {"user", one.user},
                             {"devices", one.devices},
                             {"likelyEnd", time_of(one.ends)}});
    });
    return make_mapping({{"id", record.id},
                         {"state", jobs::word(record.state)},
                         {"why", outlook.why},
                         {"position", only_if(outlook.position != 0, outlook.position)},
                         {"likelyStart", time_of(outlook.p50)},
                         {"latestStart", time_of(outlook.p90)},
                         {"notBefore", time_of(record.not_before)},
                         {"freeGpus", outlook.free_gpus},
                         {"smaller", only_if(!outlook.smaller.empty(), outlook.smaller)},
                         {"ahead", outlook.ahead},
                         {"holders", std::move(holders)}});
}

}  // namespace aliquot::job_server
