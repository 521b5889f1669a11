// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text.h"
#include "doctor/check.h"
#include "doctor/nodes.h"
#include "gpu/replica_id.h"
#include "k8s/node.h"
#include "k8s/resource_name.h"

namespace aliquot::doctor {
namespace {

std::string plugin_socket(const Facts& facts) {
    for (const std::string& name : facts.kubelet.plugin_directory.value) {
        const bool socket = name.ends_with(".sock") && name != "kubelet.sock";
        if (socket &&
            (name.contains("nvidia") || name.contains("gpu") || name.contains("aliquot"))) {
            return name;
        }
    }
    return {};
}

const LogLine* kubelet_line(const Facts& facts, std::initializer_list<std::string_view> parts) {
    for (const LogLine& line : facts.kubelet.log) {
        for (const std::string_view part : parts) {
            if (line.text.contains(part)) return &line;
        }
    }
    return nullptr;
}

const Said* pod_said(const Facts& facts, std::initializer_list<std::string_view> parts) {
    for (const Said& said : facts.cluster.said) {
        for (const std::string_view part : parts) {
            if (said.text.contains(part)) return &said;
        }
    }
    return nullptr;
}

Verdict judge_root(const Facts& facts) {
    const std::string& root = facts.kubelet.root;
    if (root == "/var/lib/kubelet") {
        return facts.kubelet.present ? ok("the kubelet's directory is /var/lib/kubelet")
                                     : unknown("no kubelet was seen");
    }
    // A link from the usual place to the real one is all that a plugin needs.
    const Entry* const usual = facts.tree.find("/var/lib/kubelet");
    const bool linked = usual != nullptr && usual->kind == Entry::Kind::kLink;
    if (linked) return ok("/var/lib/kubelet leads to " + root);
    for (const char* const kind : {"DaemonSet", "Pod"}) {
        for (const Object& object : facts.cluster.all(kind)) {
            if (!is_plugin_name(object.name)) continue;
            const Value* spec = at_path(object.body, {"spec"});
            if (std::string_view(kind) == "DaemonSet") spec = at_path(spec, {"template", "spec"});
            for (const Value& volume : items_at(spec, {"volumes"})) {
                const Value* const path = at_path(volume, {"hostPath", "path"});
                if (path == nullptr || !path->scalar.starts_with("/var/lib/kubelet")) continue;
                auto verdict = failed("The plugin registers in " + path->scalar +
                                      ", the kubelet of this node uses " + root + ".");
                verdict.because(Location{object.path, path->mark.line, "hostPath: " + path->scalar},
                                root + "/device-plugins");
                verdict.because(Evidence{.path = facts.kubelet.root_reason, .value = root});
                verdict.fix("kubectl -n " + object.space + " edit daemonset " + object.name +
                                "   # hostPath: " + root + "/device-plugins",
                            Risk::kRestartPods);
                verdict.note("With gpu-operator: hostPaths.kubeletRootDir=" + root + ".");
                return verdict;
            }
        }
    }
    if (facts.tree.has_beneath("/var/lib/kubelet/device-plugins")) {
        auto verdict =
            failed("The kubelet of this node uses " + root +
                   ", but plugins find a /var/lib/kubelet/device-plugins of another one.");
        verdict.because(Evidence{.path = "/var/lib/kubelet/device-plugins",
                                 .value = "a directory",
                                 .expected = "a link to " + root + ", or nothing"});
        verdict.because(Evidence{.path = facts.kubelet.root_reason, .value = root});
        verdict.fix("sudo mv /var/lib/kubelet /var/lib/kubelet.old && sudo ln -s " + root +
                    " /var/lib/kubelet");
        return verdict;
    }
    return ok("the kubelet's directory is " + root);
}

/// Why a kubelet ends at its start, by its own words.
struct Ended {
    std::string_view words;
    std::string_view why;
    std::string_view fix;
};
constexpr std::array<Ended, 5> kEnded{
    {{"certificate has expired or is not yet valid",
      "a certificate is not valid at the time that the node's clock tells",
      "compare timedatectl with the time (chrony sets it); where it is right renew the "
      "certificate"},
     {"running with swap on", "swap is on", "sudo swapoff -a, and its line out of /etc/fstab"},
     {"unknown flag", "it was started with a flag that it does not have any more",
      "take the flag out of /var/lib/kubelet/kubeadm-flags.env or /etc/default/kubelet"},
     {"no space left on device", "its disk is full", "sudo crictl rmi --prune"},
     {"failed to load Kubelet config file", "its configuration cannot be read",
      "correct /var/lib/kubelet/config.yaml as the log says"}}};

Verdict judge_socket(const Facts& facts) {
    const auto& directory = facts.kubelet.plugin_directory;
    if (!directory.ok()) return unknown(directory.reason);
    if (std::ranges::find(directory.value, "kubelet.sock") != directory.value.end()) {
        return ok("the kubelet's registration socket is there");
    }
    auto verdict = failed("The kubelet's registration socket is gone (kubelet down?).");
    verdict.because(Evidence{.path = facts.kubelet.plugin_path,
                             .value = directory.value.empty() ? "empty" : join(directory.value),
                             .expected = "kubelet.sock"});
    for (const Ended& one : kEnded) {
        const LogLine* const said = kubelet_line(facts, {one.words});
        if (said == nullptr) continue;
        verdict.message = concat({"The kubelet does not run: ", one.why, "."});
        verdict.because(said->place);
        verdict.note(concat({one.fix, "; then sudo systemctl restart kubelet"}));
        return verdict;
    }
    verdict.fix("sudo systemctl status kubelet && sudo systemctl restart kubelet");
    return verdict;
}

Verdict judge_registered(const Facts& facts) {
    const auto& directory = facts.kubelet.plugin_directory;
    if (!directory.ok()) return unknown(directory.reason);
    if (const std::string socket = plugin_socket(facts); !socket.empty()) {
        return ok("the plugin's socket is there: " + socket);
    }
    const bool plugin = std::ranges::any_of(facts.cluster.all("Pod"), [](const Object& pod) {
        return is_plugin_name(pod.name) && phase_of(pod) == "Running";
    });
    const bool known = facts.kubelet.checkpoint.ok() &&
                       at_path(facts.kubelet.checkpoint.value,
                               {"Data", "RegisteredDevices", "nvidia.com/gpu"}) != nullptr;
    if (!plugin && !known) return not_here("no GPU plugin is known to this kubelet");
    auto verdict = failed(
        "The device plugin did not register again after the kubelet's restart: its "
        "socket is gone.");
    verdict.because(Evidence{.path = facts.kubelet.plugin_path,
                             .value = join(directory.value),
                             .expected = "nvidia-gpu.sock"});
    verdict.fix(restart_of_plugin(facts), Risk::kRestartPods);
    return verdict;
}

Verdict judge_checkpoint(const Facts& facts) {
    const auto& checkpoint = facts.kubelet.checkpoint;
    if (checkpoint.unknown()) return unknown(checkpoint.reason);
    if (checkpoint.absent()) {
        return facts.kubelet.plugin_directory.ok() ? ok("no checkpoint: no plugin registered yet")
                                                   : unknown("the checkpoint was not read");
    }
    const std::string& path = checkpoint.place.path;
    if (!checkpoint.value.is_mapping()) {
        auto verdict =
            failed("The kubelet's device checkpoint is corrupt: " + checkpoint.reason + ".");
        verdict.because(Evidence{.path = path, .value = checkpoint.reason, .expected = "JSON"});
        verdict.fix(
            "sudo systemctl stop kubelet && sudo rm " + path + " && sudo systemctl start kubelet",
            Risk::kRestartPods);
        return verdict;
    }
    std::vector<std::string> present;
    for (const KernelGpu& gpu : facts.host.gpus.value) present.push_back(gpu.uuid);
    for (const NvmlGpu& gpu : facts.nvml.gpus) present.push_back(gpu.uuid);
    const bool any_mig =
        std::ranges::any_of(facts.nvml.gpus, [](const NvmlGpu& gpu) { return gpu.in_mig_mode(); });
    if (std::ranges::all_of(present, [](const std::string& one) { return one.empty(); })) {
        return ok("the checkpoint can be read");
    }
    for (const Value::Entry& entry : entries_at(checkpoint.value, {"Data", "RegisteredDevices"})) {
        if (!k8s::is_nvidia_gpu(entry.first.scalar)) continue;
        for (const Value& device : entry.second.items) {
            const std::string uuid(gpu::device_of(device.scalar));
            const bool mig = uuid.starts_with("MIG-");
            const bool full = uuid.starts_with("GPU-");
            const bool gone = (full && std::ranges::find(present, uuid) == present.end()) ||
                              (mig && !any_mig && facts.nvml.state == NvmlFacts::State::kOk);
            if (!gone) continue;
            auto verdict =
                failed("The kubelet's checkpoint holds " + uuid +
                       (mig ? ", of a MIG layout that is gone." : ", a GPU that is gone."));
            verdict.because(Location{path, device.mark.line, device.scalar}, "devices that exist");
            verdict.fix("sudo systemctl stop kubelet && sudo rm " + path +
                            " && sudo systemctl start kubelet",
                        Risk::kRestartPods);
            return verdict;
        }
    }
    return ok("the checkpoint holds devices that exist");
}

Verdict judge_pod_resources(const Facts& facts) {
    for (const char* const kind : {"DaemonSet", "Pod"}) {
        for (const Object& object : facts.cluster.all(kind)) {
            if (!object.name.contains("dcgm-exporter") && !object.name.contains("gpu-exporter"))
                continue;
            const Value* spec = at_path(object.body, {"spec"});
            if (std::string_view(kind) == "DaemonSet") spec = at_path(spec, {"template", "spec"});
            const auto& volumes = items_at(spec, {"volumes"});
            const bool mounted = std::ranges::any_of(volumes, [](const Value& volume) {
                return text_at(volume, {"hostPath", "path"}).contains("pod-resources");
            });
            if (mounted) continue;
            auto verdict =
                warning("The exporter " + object.name +
                        " does not mount pod-resources: its metrics have no pod labels.");
            verdict.because(Evidence{.path = object.path,
                                     .value = "no hostPath pod-resources",
                                     .expected = facts.kubelet.root + "/pod-resources"});
            verdict.fix("kubectl -n " + object.space +
                            " patch daemonset dcgm-exporter --type=json -p "
                            "'[{\"op\":\"add\",\"path\":\"/spec/template/spec/volumes/"
                            "-\",\"value\":{\"name\":"
                            "\"pod-resources\",\"hostPath\":{\"path\":\"" +
                            facts.kubelet.root + "/pod-resources\"}}}]'",
                        Risk::kRestartPods);
            return verdict;
        }
    }
    return ok("no exporter is without pod-resources");
}

/// Whether a node in question offers fewer GPUs than it has.
bool has_unhealthy_gpus(const Facts& facts) {
    return std::ranges::any_of(nodes_of(facts), [](const Object* node) {
        const k8s::Node read = k8s::read_node(node->body);
        return std::ranges::any_of(gpu_resources(*node), [&](const std::string& name) {
            const auto left = read.allocatable.find(name);
            const auto built_in = read.capacity.find(name);
            return left != read.allocatable.end() && built_in != read.capacity.end() &&
                   left->second < built_in->second;
        });
    });
}

Verdict judge_admission(const Facts& facts) {
    const auto parts = {
        std::string_view("no healthy devices present; cannot allocate unhealthy devices"),
        std::string_view("requested number of devices unavailable"),
        std::string_view("Allocate failed due to"), std::string_view("UnexpectedAdmissionError")};
    const LogLine* const line = kubelet_line(facts, parts);
    const Said* const said = pod_said(facts, parts);
    if (line == nullptr && said == nullptr) {
        if (facts.kubelet.log.empty() && facts.cluster.said.empty()) {
            return unknown("neither the kubelet's log nor events were read");
        }
        return ok("the kubelet admitted every pod");
    }
    const std::string& text = line != nullptr ? line->text : said->text;
    // A request above one share is refused by the plugin on purpose: SCH004 says so.
    if (text.contains("failRequestsGreaterThanOne") || text.contains("maximum request size")) {
        return not_here("a request for several shares: SCH004 judges it");
    }
    if (text.contains("no healthy devices") && has_unhealthy_gpus(facts)) {
        return not_here("GPUs of the node are not healthy: NODE002 judges it");
    }
    const bool stale = text.contains("requested number of devices unavailable");
    auto verdict =
        failed(stale ? "The kubelet thinks that devices are taken that are free (stale "
                       "allocation after a restart)."
                     : "Pods were admitted before the device plugin was ready (a race after a "
                       "node's reboot): UnexpectedAdmissionError.");
    if (line != nullptr) verdict.because(line->place, "no such line");
    if (said != nullptr) verdict.because(evidence_of(*said, "the pod is admitted"));
    if (stale) {
        verdict.fix("sudo systemctl restart kubelet");
    } else {
        verdict.fix("kubectl delete pods -A --field-selector=status.phase=Failed",
                    Risk::kRestartPods);
    }
    verdict.as(Confidence::kLikely);
    return verdict;
}

Verdict judge_cpu_manager(const Facts& facts) {
    const std::string policy = text_at(facts.kubelet.config, {"cpuManagerPolicy"});
    if (facts.kubelet.config_text.absent())
        return unknown("the kubelet's configuration was not read");
    if (policy != "static") return ok("the CPU manager does not touch the GPU's rights");
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (!is_plugin_name(pod.name) || pod.name.contains("aliquot")) continue;
        for (const Value* const container : containers_of(pod)) {
            const std::string pass = environment_of(*container, "PASS_DEVICE_SPECS");
            const std::string strategy = environment_of(*container, "DEVICE_LIST_STRATEGY");
            if (pass == "true" || strategy.contains("cdi"))
                return ok("the plugin passes device specs");
        }
        auto verdict = warning(
            "The static CPU manager rewrites cgroups and cuts containers off the GPU: "
            "the plugin does not pass device specs.");
        verdict.because(Evidence{.path = facts.kubelet.config_text.place.path,
                                 .value = "cpuManagerPolicy: static"});
        verdict.because(
            Evidence{.path = pod.path,
                     .value = pod.id() + " without PASS_DEVICE_SPECS",
                     .expected = "PASS_DEVICE_SPECS=true, or DEVICE_LIST_STRATEGY=cdi-cri"});
        verdict.fix(
            "helm upgrade nvidia-device-plugin nvdp/nvidia-device-plugin -n nvidia-device-plugin "
            "--reuse-values --set compatWithCPUManager=true",
            Risk::kRestartPods);
        return verdict;
    }
    return unknown("no device plugin pod was seen");
}

Verdict judge_topology(const Facts& facts) {
    const std::string_view part = "TopologyAffinityError";
    const LogLine* const line = kubelet_line(facts, {part});
    const Said* const said = pod_said(facts, {part});
    if (line == nullptr && said == nullptr) {
        return facts.kubelet.log.empty() && facts.cluster.said.empty()
                   ? unknown("neither the kubelet's log nor events were read")
                   : ok("no pod failed on NUMA alignment");
    }
    const std::string policy = text_at(facts.kubelet.config, {"topologyManagerPolicy"});
    auto verdict =
        failed("TopologyAffinityError: the topology manager (" +
               (policy.empty() ? std::string("restricted or single-numa-node") : policy) +
               ") cannot align the pod's CPUs and GPUs.");
    if (line != nullptr) verdict.because(line->place);
    if (said != nullptr) verdict.because(evidence_of(*said, "the pod is admitted"));
    verdict.edit(facts.kubelet.config_text.place.path + ": topologyManagerPolicy: best-effort",
                 Risk::kRestartKubelet);
    verdict.note("Or ask for so few CPUs and GPUs that one NUMA node holds them.");
    return verdict;
}

Verdict judge_kubelet_selinux(const Facts& facts) {
    Location place;
    for (const LogLine& line : facts.host.kernel_log) {
        if (line.text.contains("avc:") && line.text.contains("denied") &&
            (line.text.contains("nvidia-gpu.sock") || line.text.contains("kubelet.sock"))) {
            place = line.place;
        }
    }
    if (const std::string* const text = facts.tree.text("/var/log/audit/audit.log")) {
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            if (line.contains("denied") &&
                (line.contains("kubelet.sock") || line.contains("nvidia-gpu.sock"))) {
                place = place_in("/var/log/audit/audit.log", number, line);
            }
        });
    }
    if (place.path.empty()) return ok("SELinux denied no plugin socket");
    auto verdict = failed("SELinux denies the device plugin the kubelet's socket.");
    verdict.because(place, "no denial");
    verdict.fix(
        "sudo ausearch -m avc --raw | audit2allow -M device-plugin && sudo semodule -i "
        "device-plugin.pp");
    verdict.note("Or give the plugin securityContext.seLinuxOptions.type: spc_t.");
    return verdict;
}

constexpr Check kKubeletChecks[] = {
    {"KUB001", Level::kKubelet, true, "", judge_root},
    {"KUB002", Level::kKubelet, true, "KUB001", judge_socket},
    {"KUB009", Level::kKubelet, true, "KUB001 KUB002", judge_kubelet_selinux},
    {"KUB003", Level::kKubelet, true, "KUB001 KUB002 KUB009", judge_registered},
    {"KUB004", Level::kKubelet, false, "KUB001 KUB002", judge_checkpoint},
    {"KUB005", Level::kKubelet, false, "", judge_pod_resources},
    {"KUB006", Level::kKubelet, false, "KUB001 KUB002 KUB003", judge_admission, true},
    {"KUB007", Level::kKubelet, false, "", judge_cpu_manager},
    {"KUB008", Level::kKubelet, false, "", judge_topology, true},
};

}  // namespace

std::span<const Check> kubelet_checks() { return kKubeletChecks; }

}  // namespace aliquot::doctor
