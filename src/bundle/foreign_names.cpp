// SPDX-License-Identifier: Apache-2.0
#include "bundle/foreign_names.h"

namespace aliquot::bundle {

std::string our_name(std::string_view path) {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const bool object = file.ends_with(".yaml") || file.ends_with(".json");
    if (file.starts_with("cluster_policy") && object) return "k8s/clusterpolicies.yaml";
    if (file.starts_with("gpu_nodes") && object) return "k8s/nodes.yaml";
    if (file.starts_with("gpu_operand_pods") && object) return "k8s/pods.yaml";
    if (file.starts_with("gpu_operand_ds") && object) return "k8s/daemonsets.yaml";
    if (file.starts_with("gpu_operand_pod_") && file.ends_with(".log")) {
        const std::string_view pod = file.substr(16, file.size() - 20);
        return "logs/gpu-operator/" + std::string(pod.substr(0, pod.find('.'))) + "/" +
               std::string(pod) + ".log";
    }
    if (path.contains("inspection-report/")) {
        if (path.contains("daemon-kubelite/journal.log")) return "cmd/journal-kubelet.txt";
        if (const auto at = path.find("/args/"); at != std::string_view::npos) {
            return "/var/snap/microk8s/current/args/" + std::string(path.substr(at + 6));
        }
    }
    if (file.starts_with("nvidia-smi")) return "cmd/" + std::string(file) + ".txt";
    if (file == "dmesg" || file == "dmesg.log" || file == "dmesg.txt") return "cmd/dmesg.txt";
    return {};
}

bool is_ours(std::string_view path) {
    for (const char* const top : {"host/", "k8s/", "logs/", "cmd/", "agent/", "proc/", "sys/",
                                  "etc/", "var/", "run/", "dev/", "lib/", "usr/", "meta.json"}) {
        if (path.starts_with(top)) return true;
    }
    return false;
}

}  // namespace aliquot::bundle
