// SPDX-License-Identifier: Apache-2.0
// Labels by which pods find their nodes: POD015, POD016, POD017.
#include <algorithm>
#include <array>
#include <optional>

#include "lint/rules/evidence.h"
#include "lint/rules/node_labels.h"
#include "lint/rules/pod_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// A key with its value as a selector, an affinity or a label command has it.
struct Label {
    std::string key;
    std::string value;
    Mark mark;
};

bool is_resource_key(std::string_view key) {
    return key == "nvidia.com/gpu" || key == "amd.com/gpu" || key == "nvidia.com/gpu.shared";
}

/// "node-type=gpu", "workload-type=gpu-a100": no cloud sets them; a node group may, so that a text
/// needs a command that does it by hand.
bool is_kind_of_node(const Label& label) {
    static constexpr std::array<std::string_view, 14> kKeys{
        "node-type",    "node_type",     "nodetype",  "workload-type", "workload_type",
        "workloadtype", "hardware",      "workload",  "hardware-type", "hardware_type",
        "node.type",    "workload.type", "node-role", "compute-type"};
    if (std::find(kKeys.begin(), kKeys.end(), lower(label.key)) == kKeys.end()) return false;
    const std::string value = lower(label.value);
    return value == "gpu" || value.starts_with("gpu-") || value.starts_with("nvidia") ||
           value.ends_with("-gpu");
}

/// "gpuspecs", "nvidia_gpu_model", "node-gpu": no prefix of anybody who would set it.
bool has_gpu_in_key(std::string_view key) {
    const std::string folded = lower(key);
    if (folded.find_first_of("/$<{") != std::string::npos) return false;
    if (folded.starts_with("gpushare")) return false;  // the scheduler extender's own
    for (std::string_view rest = folded; !rest.empty();) {
        const auto end = rest.find_first_of("-_.");
        const std::string_view word = rest.substr(0, end);
        const bool domain = rest.starts_with("nvidia.com");  // "role.example.nvidia.com"
        if (word.starts_with("gpu") || (word == "nvidia" && !domain) || word == "cuda") {
            return true;
        }
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    return false;
}

/// A label under nvidia.com that neither GPU feature discovery nor the operator knows.
bool is_invented(std::string_view key) {
    constexpr std::string_view kDomain = "nvidia.com/";
    if (!key.starts_with(kDomain)) return false;
    const std::string rest = lower(key.substr(kDomain.size()));
    constexpr std::string_view kGpu = "gpu.";
    if (rest.starts_with(kGpu)) {
        static constexpr std::array<std::string_view, 14> kWrong{
            "type", "model", "name", "class", "tier",   "arch",   "architecture",
            "size", "pool",  "gen",  "vram",  "nvlink", "vendor", "generation"};
        return std::find(kWrong.begin(), kWrong.end(), rest.substr(kGpu.size())) != kWrong.end();
    }
    static constexpr std::array<std::string_view, 12> kWrong{
        "nvlink",   "nvswitch",   "gpu-topology", "gpu-type",    "gpu-model", "gpu-memory",
        "topology", "gpu-family", "gpu-count",    "gpu-product", "gpu-class", "accelerator"};
    return std::find(kWrong.begin(), kWrong.end(), rest) != kWrong.end();
}

bool is_hand_made(const Label& label) {
    static constexpr std::array<std::string_view, 18> kKeys{
        "accelerator", "gpu",        "gpu-type",   "gpu_type",  "gputype",     "gpu.type",
        "gpu-model",   "gpu_model",  "gpu-memory", "gpu-node",  "gpu-enabled", "has-gpu",
        "hasgpu",      "nvidia-gpu", "nvidia",     "gpu-count", "with-gpu",    "gpunode"};
    if (is_invented(label.key)) return true;
    if (std::find(kKeys.begin(), kKeys.end(), lower(label.key)) == kKeys.end() &&
        !has_gpu_in_key(label.key)) {
        return false;
    }
    const std::string value = lower(label.value);
    if (label.key == "accelerator" && value == "nvidia") return false;  // AKS sets it
    if (label.key == "gpu" && value == "on") return false;              // HAMi's own
    return value.find("example") == std::string::npos;
}

/// Spot as no cloud writes it.
bool is_strange_spot(const Label& label) {
    const std::string key = lower(label.key);
    const std::string value = lower(label.value);
    const bool spot = value.find("spot") != std::string::npos || value == "preemptible";
    static constexpr std::array<std::string_view, 12> kKeys{
        "node-type",     "nodetype",      "node.kubernetes.io/lifecycle",
        "lifecycle",     "instance-type", "capacity",
        "capacity-type", "capacitytype",  "node-lifecycle",
        "purchase-type", "pool-type",     "instance-lifecycle"};
    if (spot && std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) return true;
    return (key == "spot" || key == "spot-instance" || key == "preemptible") && value == "true";
}

void add_pairs(const Value* node, std::vector<Label>& labels) {
    if (node == nullptr || !node->is_mapping()) return;
    for (const Value::Entry& entry : node->entries) {
        labels.push_back({entry.first.scalar, entry.second.scalar, entry.first.mark});
    }
}

void add_terms(const Value* node, std::vector<Label>& labels) {
    if (node == nullptr) return;
    walk(*node, [&](const Value::Entry& entry) {
        if (entry.first.scalar != "matchExpressions") return;
        for (const Value& term : entry.second.items) {
            const Value* key = term.find("key");
            const std::string what = text_at(term, "operator");
            if (key == nullptr || what == "DoesNotExist" || what == "NotIn") continue;
            const Value* values = term.find("values");
            const std::string value = values != nullptr && !values->items.empty()
                                          ? values->items.front().scalar
                                          : std::string("true");
            labels.push_back({key->scalar, value, key->mark});
        }
    });
}

/// The device plugin: nothing labels its nodes for it before it runs but people.
bool is_device_plugin(const Object& object) {
    if (object.chart == "nvidia-device-plugin") return true;
    return object.kind == "DaemonSet" && object.name.find("device-plugin") != std::string::npos;
}

/// nodeSelector and nodeAffinity wherever they stand, each once; `plugins`: those of the device
/// plugin, or those of all else.
std::vector<Label> selectors_of(const File& file, bool plugins) {
    std::vector<Label> labels;
    for (const Object& object : file.objects) {
        if (object.role == Role::kWorkflow || object.role == Role::kCompose) continue;
        if (is_device_plugin(object) != plugins) continue;
        walk(*object.node, [&](const Value::Entry& entry) {
            const std::string& name = entry.first.scalar;
            if (name == "nodeSelector" || name == "node_selector") add_pairs(&entry.second, labels);
            if (name == "nodeAffinity") add_terms(&entry.second, labels);
        });
    }
    return labels;
}

/// "key=value" words of `kubectl label nodes` and of -l; "key" alone of -L.
std::vector<Label> commanded_labels(const File& file) {
    std::vector<Label> labels;
    for (const Command& command : file.commands) {
        if (!command.is("kubectl") && !command.is("oc")) continue;
        const auto words = command.positionals();
        if (words.size() < 2) continue;
        const std::string& verb = words[0]->text;
        const bool nodes = words[1]->text.starts_with("node") || words[1]->text == "no";
        if (!nodes) continue;
        if (verb == "label") {
            for (std::size_t i = 2; i < words.size(); ++i) {
                const std::string& text = words[i]->text;
                const auto equals = text.find('=');
                if (equals == std::string::npos) continue;
                labels.push_back({text.substr(0, equals), text.substr(equals + 1), words[i]->mark});
            }
            continue;
        }
        for (const std::string_view flag : {"-l", "--selector", "-L", "--label-columns"}) {
            const auto value = command.value(flag);
            const Word* word = command.flag(flag);
            if (!value || word == nullptr) continue;
            const std::string key = value->substr(0, value->find('='));
            const auto equals = value->find('=');
            std::string of_key = equals == std::string::npos ? "" : value->substr(equals + 1);
            while (of_key.starts_with("=")) of_key.erase(0, 1);
            const bool one = value->find(',') == std::string::npos && !of_key.empty();
            Label label{key, one ? of_key : *value, word->mark};
            if (is_resource_key(key) || (one && is_hand_made(label))) {
                labels.push_back(std::move(label));
            }
        }
    }
    return labels;
}

/// "oke-nodes", but not "smoke-test".
bool begins_word(std::string_view text, std::string_view word) {
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        if (at == 0 || text[at - 1] < 'a' || text[at - 1] > 'z') return true;
    }
    return false;
}

class LabelCheck {
public:
    LabelCheck(const Set& set, const LabelKeys& defined, const LabelKeys& by_hand, const File& file,
               Report& report)
        : set_(set),
          defined_(defined),
          by_hand_(by_hand),
          prose_(file.is_prose()),
          oracle_(file.mentions("oraclecloud") || begins_word(file.folded, "oke-") ||
                  file.mentions("ocir.io") || file.mentions("bm.gpu.") || file.mentions("vm.gpu.")),
          foreign_(!file.mentions("nvidia") && !file.mentions("cuda") &&
                   (file.mentions("gpu.intel.com") || file.mentions("i915"))),
          report_(report) {}

    /// Whether it said something.
    bool look(const Label& label, bool command) {
        if (foreign_ && !command) return false;
        const bool any_gpu = command && label.key == "accelerator" && contains(label.value, "gpu");
        // `kubectl label node x gpu=<model>`: by hand, whatever the value.
        const bool by_hand = command && label.key != "accelerator" && is_hand_made(label);
        const bool like_azure = command && label.key == "accelerator" && label.value == "nvidia";
        if (is_placeholder(label.key)) return false;
        if (is_placeholder(label.value) && !any_gpu && !by_hand) return false;
        if (defined_.count(label.key) != 0) return false;
        if (set_.defines_label(label.key)) return false;
        if (is_resource_key(label.key)) {
            if (oracle_) return false;  // OKE gives it to its GPU nodes
            report_
                .add("POD016", label.mark,
                     "'" + label.key + "' is the name of a resource, used as a label of nodes")
                .expected("nvidia.com/gpu.present=true, which GPU feature discovery sets");
        } else if (is_hand_made(label) || like_azure ||
                   (is_kind_of_node(label) && (!prose_ || by_hand_.count(label.key) != 0))) {
            report_
                .add("POD015", label.mark,
                     "the label '" + label.key + "=" + label.value +
                         (command ? "' is set by hand; a new node comes without it"
                                  : "' is one that only people set; a new node comes without it"))
                .expected(
                    "a label that the cluster sets itself: nvidia.com/gpu.product, "
                    "nvidia.com/gpu.present or one of the cloud")
                .fix(label.key == "gpu" ? "nvidia.com/gpu.present: \"true\""
                                        : "nvidia.com/gpu.product: <as in kubectl get nodes "
                                          "--show-labels>");
        } else if (is_strange_spot(label)) {
            report_
                .add("POD017", label.mark,
                     "no cloud sets the label '" + label.key + "=" + label.value + "'")
                .expected(
                    "eks.amazonaws.com/capacityType=SPOT, karpenter.sh/capacity-type=spot, "
                    "cloud.google.com/gke-spot=true or "
                    "kubernetes.azure.com/scalesetpriority=spot");
        } else {
            return false;
        }
        return true;
    }

private:
    const Set& set_;
    const LabelKeys& defined_;
    const LabelKeys& by_hand_;
    bool prose_;
    bool oracle_;
    bool foreign_;  // about the GPUs of another maker
    Report& report_;
};

/// "Nodes missing `nvidia.com/gpu=true` label" in prose.
void check_statements_of_labels(const File& file, Report& report) {
    const bool selected =
        file.mentions("nodeselector") &&
        (file.mentions("nvidia.com/gpu: \"true\"") || file.mentions("nvidia.com/gpu: 'true'"));
    if (!file.mentions("nvidia.com/gpu=true") && !selected) return;
    for (const Statement& statement : file.statements) {
        if (statement.kind == Statement::Kind::kComment) continue;
        const bool label =
            contains(statement.text, "nvidia.com/gpu=true") && contains(statement.text, "label");
        const bool selector = contains(statement.text, "nodeselector") &&
                              (contains(statement.text, "nvidia.com/gpu: \"true\"") ||
                               contains(statement.text, "nvidia.com/gpu: 'true'"));
        if (!label && !selector) continue;
        if (contains(statement.text, "taint") || contains(statement.text, "tolerat")) continue;
        report
            .add("POD016", statement.mark,
                 "'nvidia.com/gpu' is the name of a resource, used as a label of nodes")
            .expected("nvidia.com/gpu.present=true, which GPU feature discovery sets");
    }
}

/// Labels of nodes as a block of their own: `nvidia.com/gpu: "true"` beside `gpu-type: nvidia`.
void check_listed_labels(const File& file, Report& report) {
    for (const Object& object : file.objects) {
        if (object.role == Role::kObject || !object.node->is_mapping()) continue;
        const Value* value = object.node->find("nvidia.com/gpu");
        if (value == nullptr || (value->scalar != "true" && value->scalar != "present")) continue;
        for (const Value::Entry& entry : object.node->entries) {
            if (entry.first.scalar != "nvidia.com/gpu") continue;
            report
                .add("POD016", entry.first.mark,
                     "'nvidia.com/gpu' is the name of a resource, used as a label of nodes")
                .expected("nvidia.com/gpu.present=true, which GPU feature discovery sets");
        }
    }
}

/// "`gpu-type=a2`, `gpu-memory=16gb`" in prose.
void check_statements_of_kinds(const File& file, Report& report) {
    if (!file.mentions("gpu-type=") && !file.mentions("gpu-memory=")) return;
    for (const Statement& statement : file.statements) {
        if (!contains(statement.text, "label")) continue;
        for (const std::string_view key : {"gpu-type=", "gpu-memory="}) {
            if (!contains(statement.text, key)) continue;
            report.add("POD015", statement.mark,
                       "the label '" + std::string(key.substr(0, key.size() - 1)) +
                           "' is to be set by hand");
            break;
        }
    }
}

}  // namespace

void check_pod_labels(const File& file, const Set& set, const Facts* facts, Report& report) {
    if (file.is_prose()) {
        check_statements_of_labels(file, report);
        check_statements_of_kinds(file, report);
        if (file.mentions("nvidia.com/gpu: ")) check_listed_labels(file, report);
    }
    if (file.objects.empty() && file.commands.empty()) return;
    const LabelKeys defined = labels_of_nodes(file, set, facts);
    const auto commanded = commanded_labels(file);
    LabelKeys by_hand;
    for (const Label& label : commanded) by_hand.insert(label.key);
    LabelCheck check(set, defined, by_hand, file, report);
    for (const Label& label : selectors_of(file, false)) check.look(label, false);
    for (const Label& label : selectors_of(file, true)) {
        if (is_resource_key(label.key)) check.look(label, false);
    }
    std::array<unsigned, 2> told{};  // one finding of a kind for each command
    for (const Label& label : commanded) {
        unsigned& line = told[is_resource_key(label.key) ? 1 : 0];
        if (label.mark.line != line && check.look(label, true)) line = label.mark.line;
    }
}

}  // namespace aliquot::lint
