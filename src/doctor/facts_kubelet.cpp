// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/narrow.h"

namespace aliquot::doctor {
namespace {

constexpr std::size_t kMostLogLines = 20'000;

void read_root(Facts& facts) {
    KubeletFacts& kubelet = facts.kubelet;
    for (const Program& program : facts.host.programs) {
        if (!program.name.starts_with("kube")) continue;
        kubelet.present = true;
        for (const std::string& argument : program.arguments) {
            const std::string_view root = after(argument, "--root-dir=");
            if (root.empty()) continue;
            kubelet.root = std::string(root);
            kubelet.root_reason = program.place.path + ": " + argument;
        }
    }
    // MicroK8s keeps the words of its kubelet in a file.
    if (const std::string* const text =
            facts.tree.text("/var/snap/microk8s/current/args/kubelet")) {
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            std::string_view root = trim(after(line, "--root-dir="));
            if (root.empty()) return;
            kubelet.present = true;
            kubelet.root = std::string(root);
            if (kubelet.root.starts_with("${SNAP_COMMON}")) {
                kubelet.root.replace(0, 14, "/var/snap/microk8s/common");
            }
            kubelet.root_reason =
                "/var/snap/microk8s/current/args/kubelet:" + std::to_string(number);
        });
    }
    if (kubelet.root_reason.empty()) {
        for (const char* const other :
             {"/var/snap/microk8s/common/var/lib/kubelet", "/var/lib/k0s/kubelet"}) {
            if (!facts.tree.has_beneath(std::string(other) + "/device-plugins")) continue;
            if (facts.tree.has_beneath("/var/lib/kubelet/device-plugins")) continue;
            kubelet.root = other;
            kubelet.root_reason = std::string(other) + " is there";
        }
    }
    kubelet.present = kubelet.present || facts.tree.has_beneath(kubelet.root);
}

/// What kubeadm writes is no file of a distribution that brings a kubelet of its own: there it is a
/// leftover, unless it is named or names that distribution's socket.
bool is_leftover(const Facts& facts, const std::string& path, const std::string& text) {
    const std::string& flavour = facts.runtime.flavour;
    if (flavour != "MicroK8s" && flavour != "k3s" && flavour != "RKE2" && flavour != "k0s") {
        return false;
    }
    for (const Program& program : facts.host.programs) {
        for (const std::string& argument : program.arguments) {
            if (argument.starts_with("--config") && argument.ends_with(path)) return false;
        }
    }
    return !text.contains(facts.runtime.socket);
}

void read_config(Facts& facts) {
    KubeletFacts& kubelet = facts.kubelet;
    const std::string path = "/var/lib/kubelet/config.yaml";
    const std::string* text = facts.tree.text(path);
    if (text != nullptr && is_leftover(facts, path, *text)) text = nullptr;
    kubelet.config_text.state = text == nullptr ? State::kAbsent : State::kOk;
    kubelet.config_text.place = {path, 0, ""};
    if (text == nullptr) return;
    if (auto root = document::parse_object(*text)) kubelet.config = *std::move(root);
}

void read_plugin_directory(Facts& facts) {
    KubeletFacts& kubelet = facts.kubelet;
    kubelet.plugin_path = kubelet.root + "/device-plugins";
    const Entry* const entry = facts.tree.find(kubelet.plugin_path);
    auto& directory = kubelet.plugin_directory;
    if (entry != nullptr && entry->kind == Entry::Kind::kUnreadable) {
        directory.reason = kubelet.plugin_path + ": " + entry->content;
    } else if (facts.tree.has_beneath(kubelet.plugin_path)) {
        directory = {
            State::kOk, facts.tree.names(kubelet.plugin_path), {}, {kubelet.plugin_path, 0, ""}};
        directory.place.text = join(directory.value);
    } else {
        directory.reason = kubelet.plugin_path + " is not there or not readable";
        if (facts.tree.complete && kubelet.present) directory.state = State::kAbsent;
    }
    const std::string path = kubelet.plugin_path + "/kubelet_internal_checkpoint";
    const Entry* const checkpoint = facts.tree.find(path);
    kubelet.checkpoint.place = {path, 0, ""};
    if (checkpoint == nullptr) {
        kubelet.checkpoint.state = State::kAbsent;
    } else if (checkpoint->kind == Entry::Kind::kUnreadable) {
        kubelet.checkpoint.reason = path + ": " + checkpoint->content;
    } else if (auto root = document::parse_json(checkpoint->content)) {
        kubelet.checkpoint.state = State::kOk;
        kubelet.checkpoint.value = *std::move(root);
    } else {
        kubelet.checkpoint.state = State::kOk;  // there, but no checkpoint: KUB004 says so
        kubelet.checkpoint.reason = root.error().message;
    }
}

void read_log(Facts& facts) {
    for (const char* const pattern :
         {"cmd/journal-kubelet*", "cmd/kubelet*", "/var/log/kubelet.log"}) {
        for (const std::string& path : facts.tree.paths(pattern)) {
            const std::string* const text = facts.tree.text(path);
            if (text == nullptr) continue;
            for_each_line(*text, [&](std::string_view line, unsigned number) {
                if (facts.kubelet.log.size() >= kMostLogLines) return;
                facts.kubelet.log.push_back(
                    {std::string(line.substr(0, 1000)), place_in(path, number, line)});
            });
        }
    }
    facts.kubelet.present = facts.kubelet.present || !facts.kubelet.log.empty();
}

}  // namespace

void read_kubelet(Facts& facts) {
    read_root(facts);
    read_config(facts);
    read_plugin_directory(facts);
    read_log(facts);
}

std::string_view to_text(Target::Kind kind) {
    switch (kind) {
        case Target::Kind::kHost:
            return "Host";
        case Target::Kind::kNode:
            return "Node";
        case Target::Kind::kPod:
            return "Pod";
        case Target::Kind::kCluster:
            return "Cluster";
    }
    return "";
}

Facts facts_of(Tree tree, const Target& target) {
    Facts facts;
    facts.target = target;
    facts.tree = std::move(tree);
    facts.now_s = facts.tree.taken_s;
    facts.cluster = cluster_of(facts.tree);
    read_hardware(facts);
    read_driver(facts);
    read_kernel_log(facts);
    read_nvml(facts);
    read_telemetry(facts);
    read_runtime(facts);
    read_toolkit(facts);
    read_kubelet(facts);
    if (target.kind == Target::Kind::kPod) {
        const auto slash = std::min(target.name.find('/'), target.name.size());
        const std::string name = target.name.substr(std::min(slash + 1, target.name.size()));
        const std::string space = target.name.substr(0, slash);
        const Object* const pod = facts.cluster.find("Pod", space, name);
        if (pod != nullptr) {
            narrow_to_pod(facts, *pod);
        } else if (std::ranges::any_of(facts.cluster.said,
                                       [&](const Said& said) { return said.pod == target.name; })) {
            narrow_to_pod(facts, {.kind = "Pod", .name = name, .space = space});
        }
    }
    read_pending(facts);
    return facts;
}

}  // namespace aliquot::doctor
