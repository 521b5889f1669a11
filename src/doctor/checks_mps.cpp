// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "doctor/check.h"

namespace aliquot::doctor {
namespace {

bool is_mps_pod(const Object& pod) {
    return pod.name.contains("mps-control") || pod.name.contains("mps-daemon");
}

/// Whether anything here uses MPS at all.
bool uses_mps(const Facts& facts) {
    if (facts.host.program("nvidia-cuda-mps") != nullptr) return true;
    if (facts.tree.has_beneath("/run/nvidia/mps") ||
        facts.tree.has_beneath("/var/log/nvidia-mps")) {
        return true;
    }
    if (std::ranges::any_of(facts.cluster.all("Pod"), is_mps_pod)) return true;
    if (std::ranges::any_of(facts.cluster.all("DaemonSet"), is_mps_pod)) return true;
    return std::ranges::any_of(facts.cluster.all("Node"), [](const Object& node) {
        const auto labels = labels_of(node);
        const auto found = labels.find("nvidia.com/mps.capable");
        const auto strategy = labels.find("nvidia.com/gpu.sharing-strategy");
        return (found != labels.end() && found->second == "true") ||
               (strategy != labels.end() && strategy->second == "mps");
    });
}

Verdict no_mps() { return not_here("MPS is not used here"); }

/// A line that a pod (of MPS or the plugin) or an MPS log says.
Location find_line(const Facts& facts, std::initializer_list<std::string_view> parts) {
    for (const Said& said : facts.cluster.said) {
        for (const std::string_view part : parts) {
            if (said.text.contains(part)) return {said.path, said.line, said.text};
        }
    }
    for (const char* const pattern :
         {"/var/log/nvidia-mps/*.log", "/tmp/nvidia-mps/*.log", "cmd/mps*"}) {
        for (const std::string& path : facts.tree.paths(pattern)) {
            const std::string* const text = facts.tree.text(path);
            if (text == nullptr) continue;
            Location found;
            for_each_line(*text, [&](std::string_view line, unsigned number) {
                for (const std::string_view part : parts) {
                    if (line.contains(part)) found = place_in(path, number, line);
                }
            });
            if (!found.path.empty()) return found;
        }
    }
    return {};
}

Verdict judge_daemon(const Facts& facts) {
    const Location place =
        find_line(facts, {"error waiting for MPS daemon", "Failed to start MPS daemon",
                          "MPS daemon is not ready", "MPS client failed to connect",
                          "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED",
                          "MPS server is not ready to accept"});
    if (place.path.empty()) return uses_mps(facts) ? ok("the MPS daemon answers") : no_mps();
    auto verdict = failed(
        "The MPS control daemon for nvidia.com/gpu does not answer on "
        "/run/nvidia/mps/nvidia.com/gpu/pipe.");
    verdict.because(place, "the daemon answers");
    verdict.fix(
        "kubectl -n nvidia-device-plugin rollout restart daemonset "
        "nvidia-device-plugin-mps-control-daemon",
        Risk::kRestartPods);
    verdict.note("The daemon's pod only runs on nodes with the label nvidia.com/mps.capable=true.");
    return verdict;
}

Verdict judge_competing(const Facts& facts) {
    if (!facts.tree.has("/tmp/nvidia-mps/control") && !facts.tree.has_beneath("/tmp/nvidia-mps")) {
        return uses_mps(facts) ? ok("one control daemon") : no_mps();
    }
    const bool plugin = facts.tree.has_beneath("/run/nvidia/mps") ||
                        std::ranges::any_of(facts.cluster.all("Pod"), is_mps_pod);
    if (!plugin) return ok("one control daemon, started by hand");
    auto verdict = failed(
        "A hand-started MPS daemon competes with the device plugin's: pods use the "
        "other pipe.");
    verdict.because(Evidence{
        .path = "/tmp/nvidia-mps/control", .value = "present", .expected = "only /run/nvidia/mps"});
    verdict.fix("echo quit | sudo CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps nvidia-cuda-mps-control");
    return verdict;
}

/// Pods that ask for a GPU, of the target only when it is one.
std::vector<const Object*> gpu_pods(const Facts& facts) {
    std::vector<const Object*> pods;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (facts.target.kind == Target::Kind::kPod && pod.id() != facts.target.name) continue;
        if (!is_finished(pod) && !gpu_requests(pod).empty()) pods.push_back(&pod);
    }
    return pods;
}

Verdict judge_own_pipe(const Facts& facts) {
    if (!uses_mps(facts)) return no_mps();
    for (const Object* const pod : gpu_pods(facts)) {
        for (const Value* const container : containers_of(*pod)) {
            const std::string pipe = environment_of(*container, "CUDA_MPS_PIPE_DIRECTORY");
            if (pipe.empty()) continue;
            auto verdict = failed("Pod " + pod->id() +
                                  " sets CUDA_MPS_PIPE_DIRECTORY itself: CUDA looks "
                                  "for a daemon that is not there.");
            verdict.because(
                Evidence{.path = pod->path,
                         .line = container->mark.line,
                         .value = "CUDA_MPS_PIPE_DIRECTORY=" + pipe,
                         .expected = "not set: the plugin sets /mps/nvidia.com/gpu/pipe"});
            verdict.edit("remove the variable and the hostPath mount from the pod",
                         Risk::kRestartPods);
            return verdict;
        }
        for (const Value& volume : items_at(pod->body, {"spec", "volumes"})) {
            const Value* const path = at_path(volume, {"hostPath", "path"});
            if (path == nullptr || !path->scalar.contains("nvidia-mps")) continue;
            auto verdict = failed("Pod " + pod->id() + " mounts " + path->scalar +
                                  ", which is not the plugin's MPS directory.");
            verdict.because(Location{pod->path, path->mark.line, "hostPath: " + path->scalar},
                            "no such mount");
            verdict.edit("remove the hostPath mount from the pod", Risk::kRestartPods);
            return verdict;
        }
    }
    return ok("no pod brings its own MPS pipe");
}

Verdict judge_own_shm(const Facts& facts) {
    if (!uses_mps(facts)) return no_mps();
    for (const Object* const pod : gpu_pods(facts)) {
        for (const Value* const container : containers_of(*pod)) {
            for (const Value& mount : items_at(container, {"volumeMounts"})) {
                const Value* const path = mount.find("mountPath");
                if (path == nullptr || path->scalar != "/dev/shm") continue;
                auto verdict = warning("Pod " + pod->id() +
                                       " mounts its own /dev/shm on an MPS node: it "
                                       "collides with the mount that MPS needs.");
                verdict.because(Location{pod->path, path->mark.line, "mountPath: /dev/shm"},
                                "no mount at /dev/shm");
                verdict.edit("remove the pod's mount at /dev/shm", Risk::kRestartPods);
                return verdict;
            }
        }
    }
    return ok("no pod mounts its own /dev/shm");
}

Verdict judge_fit(const Facts& facts) {
    if (!uses_mps(facts)) return no_mps();
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        const auto major = leading_number(gpu.compute_capability);
        const bool old = major && *major < 7;
        const bool mig = gpu.in_mig_mode();
        if (!old && !mig && !facts.host.wsl) continue;
        auto verdict =
            failed(old ? "GPU " + std::to_string(gpu.index) + " (compute capability " +
                             gpu.compute_capability +
                             ") is older than Volta: MPS has no limits and no isolation there, "
                             "and the plugin's daemon does not start."
                   : mig ? "MIG is on: the device plugin refuses MIG together with MPS."
                         : "MPS does not work under WSL.");
        verdict.because(
            Evidence{.path = gpu.place.path,
                     .line = gpu.place.line,
                     .value = old ? "compute capability " + gpu.compute_capability : "MIG Enabled",
                     .expected = old ? "7.0 or more" : "MIG off"});
        verdict.edit("sharing.mps -> sharing.timeSlicing in the device plugin's configuration",
                     Risk::kRestartPods);
        return verdict;
    }
    return ok("the GPUs can do MPS");
}

Verdict judge_identity(const Facts& facts) {
    const Location place = find_line(
        facts, {"init 250 result=11", "User did not send valid credentials", "result=11"});
    if (place.path.empty()) return uses_mps(facts) ? ok("clients and server agree") : no_mps();
    auto verdict = failed("The MPS server refuses a client of another user or pid namespace.");
    verdict.because(place, "the client is accepted");
    verdict.note(
        "The control daemon's pod needs hostPID: true; clients must have the server's user id, or "
        "the daemon must run as root.");
    verdict.fix(
        "kubectl -n nvidia-device-plugin get daemonset "
        "nvidia-device-plugin-mps-control-daemon -o jsonpath={.spec.template.spec.hostPID}");
    return verdict;
}

Verdict judge_shared_fault(const Facts& facts) {
    const Location place =
        find_line(facts, {"Server encountered a fatal exception", "fatal exception on device",
                          "Server exited with status", "A fatal fault occurred"});
    if (place.path.empty()) return uses_mps(facts) ? ok("no fault of an MPS server") : no_mps();
    auto verdict = failed(
        "A fatal error of one client ended the MPS server: all its clients failed with "
        "it.");
    verdict.because(place, "no fatal exception");
    for (const Object* const pod : gpu_pods(facts)) {
        verdict.because(Evidence{.path = pod->path, .value = "client: " + pod->id()});
    }
    verdict.note(
        "Find the client with the fault (its Xid names the pid) and restart the pods. Where that "
        "must not happen, use MIG or whole GPUs.");
    return verdict;
}

Verdict judge_clients(const Facts& facts) {
    const Location place = find_line(facts, {"maximum allowed replicas exceeded"});
    const Location full =
        find_line(facts, {"cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
                          "reached the maximum number of clients", "MPS has reached the maximum"});
    if (!full.path.empty()) {
        auto verdict = failed("The MPS server has all the clients that it takes: at most 48.");
        verdict.because(full, "a free place");
        verdict.edit("sharing.mps.resources[].replicas: fewer, or fewer processes in each pod",
                     Risk::kRestartPods);
        return verdict;
    }
    if (!place.path.empty()) {
        auto verdict = failed(
            "The plugin refuses so many MPS replicas: at most 48, and 16 on GPUs below "
            "compute capability 7.5.");
        verdict.because(place, "48 at most");
        verdict.edit("sharing.mps.resources[].replicas: 16", Risk::kRestartPods);
        return verdict;
    }
    if (!uses_mps(facts)) return no_mps();
    for (const Object& map : facts.cluster.all("ConfigMap")) {
        for (const Value::Entry& entry : entries_at(map.body, {"data"})) {
            if (!entry.second.scalar.contains("mps:")) continue;
            const auto config = document::parse_object(entry.second.scalar);
            if (!config) continue;
            for (const Value& resource : items_at(*config, {"sharing", "mps", "resources"})) {
                const auto count = parse_number<std::int64_t>(text_at(resource, {"replicas"}));
                if (!count || *count <= 48) continue;
                auto verdict =
                    failed("ConfigMap " + map.id() + " asks for " + std::to_string(*count) +
                           " MPS replicas; at most 48 clients can share a GPU.");
                verdict.because(Evidence{.path = map.path,
                                         .line = entry.first.mark.line,
                                         .value = "replicas: " + std::to_string(*count),
                                         .expected = "48 at most"});
                verdict.edit("replicas: 48", Risk::kRestartPods);
                return verdict;
            }
        }
    }
    return ok("not more clients than MPS takes");
}

Verdict judge_memory_limit(const Facts& facts) {
    if (!uses_mps(facts)) return no_mps();
    for (const Said& said : facts.cluster.said) {
        const bool full = said.text.contains("CUDA out of memory") ||
                          said.text.contains("CUDA_ERROR_OUT_OF_MEMORY") ||
                          said.text.contains("cudaErrorMemoryAllocation");
        if (!full) continue;
        std::string limit = "total/replicas";
        for (const Object& node : facts.cluster.all("Node")) {
            const auto labels = labels_of(node);
            const auto memory = labels.find("nvidia.com/gpu.memory");
            const auto replicas = labels.find("nvidia.com/gpu.replicas");
            if (memory == labels.end() || replicas == labels.end()) continue;
            const auto parts = parse_number<std::int64_t>(replicas->second).value_or(1);
            if (parts > 1) {
                limit =
                    std::to_string(parse_number<std::int64_t>(memory->second).value_or(0) / parts) +
                    " MiB (" + memory->second + "/" + replicas->second + ")";
            }
        }
        auto verdict = failed("Pod " + said.pod +
                              " reached the memory limit of its MPS share: " + limit + ".");
        verdict.because(Evidence{.path = said.path, .line = said.line, .value = said.text});
        verdict.edit("fewer sharing.mps.resources[].replicas, or a smaller model or batch",
                     Risk::kRestartPods);
        verdict.as(Confidence::kLikely);
        return verdict;
    }
    return ok("no client reached its memory limit");
}

Verdict judge_option(const Facts& facts) {
    for (const char* const kind : {"ConfigMap", "Pod", "DaemonSet"}) {
        for (const Object& object : facts.cluster.all(kind)) {
            const std::string text = kind == std::string_view("ConfigMap")
                                         ? [&] {
                                               std::string all;
                                               for (const Value::Entry& one :
                                                    entries_at(object.body, {"data"})) {
                                                   all += one.second.scalar + "\n";
                                               }
                                               return all;
                                           }()
                                         : [&] {
                                               std::string all;
                                               for (const Value* const one : containers_of(object)) {
                                                   for (const char* const list : {"command", "args"}) {
                                                       for (const Value& word : items_at(*one, {list})) {
                                                           all += word.scalar + " ";
                                                       }
                                                   }
                                               }
                                               return all;
                                           }();
            if (!text.contains("nvidia-cuda-mps-control -s")) continue;
            auto verdict =
                warning(object.kind + " " + object.id() +
                        " runs `nvidia-cuda-mps-control -s`, which is not a question for the "
                        "status.");
            verdict.because(Evidence{.path = object.path,
                                     .value = "nvidia-cuda-mps-control -s",
                                     .expected = "echo get_server_list | nvidia-cuda-mps-control"});
            verdict.fix("echo get_server_list | nvidia-cuda-mps-control");
            return verdict;
        }
    }
    return uses_mps(facts) ? ok("the daemon is asked in the right way") : no_mps();
}

constexpr Check kMpsChecks[] = {
    {"MPS008", Level::kPlugin, false, "", judge_clients},
    {"MPS005", Level::kPlugin, false, "", judge_fit},
    {"MPS001", Level::kPlugin, false, "MPS005 MPS008", judge_daemon},
    {"MPS002", Level::kPlugin, false, "", judge_competing},
    {"MPS003", Level::kPlugin, false, "", judge_own_pipe},
    {"MPS004", Level::kPlugin, false, "", judge_own_shm},
    {"MPS006", Level::kPlugin, false, "", judge_identity},
    {"MPS007", Level::kPlugin, false, "", judge_shared_fault},
    {"MPS009", Level::kPlugin, false, "", judge_memory_limit},
    {"MPS010", Level::kPlugin, false, "", judge_option},
};

}  // namespace

std::span<const Check> mps_checks() { return kMpsChecks; }

}  // namespace aliquot::doctor
