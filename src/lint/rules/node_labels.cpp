// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/node_labels.h"

#include <algorithm>

#include "lint/rules/evidence.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// "ready=true" and "ready-" of a text with `kubectl label`.
void add_label_words(std::string_view text, LabelKeys& keys) {
    constexpr std::string_view kBlanks = " \t\n\"';";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = text.find_first_not_of(kBlanks, at);
        if (begin == std::string_view::npos) return;
        const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        at = end;
        if (word.starts_with("-")) continue;
        const auto equals = word.find('=');
        if (equals != std::string_view::npos || word.ends_with("-"))
            keys.insert(std::string(word.substr(0, std::min(equals, word.size() - 1))));
    }
}

/// "kubectl label node $N ready=true" in what a container runs: the cluster does it, nobody by hand.
void add_run_labels(const File& file, LabelKeys& keys) {
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            for (const std::string& word : container.command) {
                if (!contains(word, "kubectl label")) continue;
                add_label_words(word, keys);
            }
        }
    }
}

void add_defined(const File& file, LabelKeys& keys) {
    for (const Object& object : file.objects) {
        const bool pool = object.kind == "NodePool" || object.kind == "Provisioner" ||
                          object.kind == "ClusterConfig" || object.kind == "MachineDeployment" ||
                          object.kind == "MachineSet" || object.kind == "MachinePool" ||
                          object.kind == "NodeFeatureRule" || object.kind == "NodeClass" ||
                          object.kind == "EC2NodeClass" || object.kind == "Node" ||
                          object.kind == "ResourceFlavor" || object.kind == "InstanceGroup" ||
                          object.kind == "KubeletConfiguration" ||
                          object.kind == "AzureManagedMachinePool";
        if (!pool) continue;
        walk(*object.node, [&](const Value::Entry& entry) {
            const std::string& name = entry.first.scalar;
            if (name != "labels" && name != "nodeLabels") return;
            for (const Value::Entry& label : entry.second.entries) keys.insert(label.first.scalar);
        });
    }
    if (file.mentions("kubectl label")) add_run_labels(file, keys);
    for (const Command& command : file.commands) {
        for (const std::string_view flag : {"--node-labels", "--labels", "--node-label"}) {
            const auto value = command.value(flag);
            if (!value || command.is("kubectl")) continue;
            for (const std::string_view pair : split(*value, ',')) {
                keys.insert(std::string(pair.substr(0, pair.find('='))));
            }
        }
    }
    for (const Block& block : file.blocks) {
        if (block.language != Language::kHcl) continue;
        for (const std::string_view key :
             {"accelerator", "gpu-type", "gpu_type", "node-type", "node_type", "nodetype",
              "workload-type", "workload_type", "workload", "hardware", "hardware-type",
              "node-role", "lifecycle", "gpu", "nvidia"}) {
            if (contains_word(block.text, key)) keys.insert(std::string(key));
        }
    }
}

}  // namespace

LabelKeys labels_of_nodes(const File& file, const Set& set, const Facts* facts) {
    LabelKeys keys;
    for (const File* near : set.neighbours(file)) add_defined(*near, keys);
    for (const File* module : set.terraform_above(file)) add_defined(*module, keys);
    if (facts != nullptr) {
        for (const NodeFacts& node : facts->nodes) {
            for (const auto& [key, value] : node.labels) keys.insert(key);
        }
    }
    return keys;
}

}  // namespace aliquot::lint
