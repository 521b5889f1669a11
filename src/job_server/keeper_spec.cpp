// SPDX-License-Identifier: Apache-2.0
// What the runner of a try is told.
#include <algorithm>

#include "base/text.h"
#include "job_server/keeper.h"
#include "k8s/memory_amount.h"
#include "k8s/quantity.h"

namespace aliquot::job_server {

Spec Keeper::spec_of(const Record& record) const {
    const jobs::Request& request = record.request;
    Spec spec;
    std::map<std::string, std::string> env = options_.environment;
    env["HOME"] = record.user.home.empty() ? "/" : record.user.home;
    env["USER"] = env["LOGNAME"] = record.user.name;
    env.emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
    env["WORKER_TYPE"] = "gpu";
    if (!request.task_id.empty()) env["TASK_ID"] = request.task_id;
    for (const auto& [name, value] : request.env) env[name] = value;
    env["ALIQUOT_JOB_ID"] = std::to_string(record.id);
    env["ALIQUOT_JOB_ATTEMPT"] = std::to_string(record.attempt);
    if (request.array > 1) env["ALIQUOT_ARRAY_INDEX"] = std::to_string(record.index);
    env["CUDA_VISIBLE_DEVICES"] = join(record.devices, ",");
    env["NVIDIA_VISIBLE_DEVICES"] = record.devices.empty() ? "none" : join(record.devices, ",");
    spec.env.assign(env.begin(), env.end());
    const bool is_share = !request.gpu_memory.empty() || request.gpu_compute != 0;
    if (is_share && !record.devices.empty() && options_.guard) {
        spec.guard = options_.guard(record, record.devices.front());
        spec.guard_env.assign(options_.guard_environment.begin(), options_.guard_environment.end());
    }
    if (request.gang > 1 && !options_.gang.empty()) {
        spec.argv = options_.gang;
        spec.argv.insert(spec.argv.end(), {std::to_string(request.gang), "--"});
    }
    spec.argv.insert(spec.argv.end(), request.command.begin(), request.command.end());
    spec.workdir = request.workdir.empty() ? env["HOME"] : request.workdir;
    spec.uid = record.user.uid;
    spec.gid = record.user.gid;
    spec.user = record.user.name;
    const TimeMs used = std::max<TimeMs>(record.started - record.first_started, 0) / 1000;
    spec.seconds = std::max<std::int64_t>(request.deadline_seconds - used, 1);
    spec.grace_ms = options_.grace.count();
    spec.output_bytes = options_.output_bytes;
    if (!options_.cgroup.empty()) {
        spec.cgroup = options_.cgroup + "/job-" + std::to_string(record.id) + "." +
                      std::to_string(record.attempt);
    }
    if (const auto bytes = k8s::parse_bytes(request.memory.empty() ? "0" : request.memory)) {
        spec.memory_bytes = *bytes;
    }
    if (const auto cpu = k8s::Quantity::parse(request.cpu)) {
        spec.cpu_milli = cpu->thousandths().value_or(0);
    }
    if (!request.image.empty() && !options_.container.empty()) put_in_container(record, spec);
    return spec;
}

}  // namespace aliquot::job_server
