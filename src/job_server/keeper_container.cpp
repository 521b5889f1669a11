// SPDX-License-Identifier: Apache-2.0
// Jobs with an image: podman, nerdctl or docker runs them, as the submitter.
#include <filesystem>

#include "base/text.h"
#include "job_server/keeper.h"

namespace aliquot::job_server {
namespace {

/// A name that no other try has.
std::string container_name(const Record& record, std::uint32_t attempt) {
    return "aliquot-job-" + std::to_string(record.id) + "-" + std::to_string(attempt);
}

}  // namespace

/// `podman run ... IMAGE COMMAND` in place of the command. What an earlier try has left, should its runner have been
/// killed, is removed before it starts, and its own when it has ended.
void Keeper::put_in_container(const Record& record, Spec& spec) const {
    const std::string& runtime = options_.container;
    const bool is_podman = std::filesystem::path(runtime).filename() == "podman";
    std::vector<std::string> words{runtime, "run", "--rm", "--name",
                                   container_name(record, record.attempt)};
    const auto add = [&](std::initializer_list<std::string> more) {
        words.insert(words.end(), more.begin(), more.end());
    };
    // Files that it makes are the submitter's. Podman without root has that user as its root.
    if (is_podman && spec.uid != 0) {
        add({"--userns", "keep-id"});
    } else {
        add({"--user", std::to_string(spec.uid) + ":" + std::to_string(spec.gid)});
    }
    // Values come from the client's environment, so that no list of processes shows them.
    for (const auto& [name, value] : spec.env) {
        if (name == "PATH" || name == "HOME") continue;
        if (name == "CUDA_VISIBLE_DEVICES") continue;  // inside, GPUs count anew
        add({"--env", name});
    }
    if (options_.guard) {  // GPUs that are there
        for (const std::string& uuid : record.devices) {
            if (is_podman) {
                add({"--device", "nvidia.com/gpu=" + uuid});
            }
        }
        if (!is_podman && !record.devices.empty())
            add({"--gpus", "\"device=" + join(record.devices, ",") + "\""});
    }
    if (spec.memory_bytes != 0) add({"--memory", std::to_string(spec.memory_bytes)});
    if (spec.cpu_milli != 0) {
        constexpr std::int64_t kMilli = 1000;
        const std::string rest = std::to_string(kMilli + spec.cpu_milli % kMilli).substr(1);
        add({"--cpus", std::to_string(spec.cpu_milli / kMilli) + "." + rest});
    }
    if (!record.request.workdir.empty()) {
        add({"--volume", spec.workdir + ":" + spec.workdir, "--workdir", spec.workdir});
    }
    add({record.request.image});
    words.insert(words.end(), record.request.command.begin(), record.request.command.end());
    spec.argv = std::move(words);
    spec.aside = {runtime, "rm", "--force"};
    constexpr std::uint32_t kMostNamed = 8;
    const std::uint32_t first = record.attempt > kMostNamed ? record.attempt - kMostNamed : 1;
    for (std::uint32_t attempt = first; attempt <= record.attempt; ++attempt)
        spec.aside.push_back(container_name(record, attempt));
}

}  // namespace aliquot::job_server
