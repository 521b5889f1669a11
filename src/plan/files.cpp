// SPDX-License-Identifier: Apache-2.0
// The configurations that make the plan true: ours, NVIDIA's plugin's, mig-parted's.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/number.h"
#include "plan/agreement.h"
#include "plan/steps.h"

namespace aliquot::plan {
namespace {

/// How one GPU is divided: equal ones share an entry.
struct Division {
    Mode mode = Mode::kExclusive;
    unsigned replicas = 1;
    double share_mib = 0;
    auto key() const { return std::tuple(mode, replicas, share_mib); }
};

bool is_divided(Mode mode) {
    return mode == Mode::kFraction || mode == Mode::kTimeSlicing || mode == Mode::kMps;
}

/// One node: its GPUs by their index on it; none for a GPU that nothing uses.
struct NodeUse {
    std::string name;  // of the file
    std::vector<const GpuUse*> gpus;
};

std::string file_word(const std::string& name) {
    std::string word;
    for (const char c : name) {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
        word += fits ? c : c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : '-';
    }
    return word;
}

std::vector<NodeUse> nodes_of(const Plan& plan, const Request& request) {
    std::vector<NodeUse> nodes;
    int first = 0;
    for (const GpuPool& pool : request.pools) {
        const unsigned per_node = std::max(1U, pool.count / std::max(1U, pool.nodes));
        for (unsigned n = 0; n * per_node < pool.count; ++n) {
            NodeUse node;
            node.name = file_word(pool.name);
            if (pool.nodes > 1) node.name += "-" + std::to_string(n);
            for (unsigned i = 0; i < per_node && n * per_node + i < pool.count; ++i) {
                const int index = first + static_cast<int>(n * per_node + i);
                const auto use = std::ranges::find(plan.gpus, index, &GpuUse::gpu);
                node.gpus.push_back(use == plan.gpus.end() ? nullptr : &*use);
            }
            const bool used =
                std::ranges::any_of(node.gpus, [](const GpuUse* use) { return use != nullptr; });
            if (used) nodes.push_back(std::move(node));
        }
        first += static_cast<int>(pool.count);
    }
    return nodes;
}

std::optional<Division> division_of(const GpuUse* use) {
    if (use == nullptr) return std::nullopt;
    if (!is_divided(use->mode)) return Division{};
    return Division{use->mode, use->replicas, use->share_mib};
}

/// The resource of a share: with several kinds of GPUs on a node each kind has its own name, since
/// nobody could ask for the right one otherwise.
std::string resource_of(const Division& division, std::size_t kinds, bool has_whole) {
    if (kinds > 1) return "nvidia.com/gpu.shared-" + std::to_string(division.replicas);
    return has_whole ? "nvidia.com/gpu.shared" : "nvidia.com/gpu";
}

struct NodeConfig {
    std::vector<std::pair<Division, std::vector<unsigned>>> kinds;  // with the GPUs of each
    bool has_whole = false;
    bool has_mig = false;
    bool uses_mps = false;
};

NodeConfig config_of(const NodeUse& node) {
    NodeConfig config;
    for (unsigned i = 0; i < node.gpus.size(); ++i) {
        const auto division = division_of(node.gpus[i]);
        if (!division) continue;
        config.has_mig = config.has_mig || node.gpus[i]->mode == Mode::kMig;
        if (!is_divided(division->mode)) {
            config.has_whole = config.has_whole || node.gpus[i]->mode != Mode::kMig;
            continue;
        }
        config.uses_mps = config.uses_mps || division->mode == Mode::kMps;
        const auto known = std::ranges::find_if(config.kinds, [&division](const auto& one) {
            return one.first.key() == division->key();
        });
        if (known != config.kinds.end()) {
            known->second.push_back(i);
        } else {
            config.kinds.push_back({*division, {i}});
        }
    }
    return config;
}

std::string list_of(const std::vector<unsigned>& numbers) {
    std::string text = "[";
    for (const unsigned number : numbers) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    }
    return text + "]";
}

/// Our sharing configuration of one node. A node has one mechanism: beside MIG, or beside GPUs whose
/// shares take turns, the shares that were planned for MPS take turns too.
std::string our_config(const NodeConfig& config) {
    const bool by_mps = config.uses_mps && !config.has_mig &&
                        std::ranges::all_of(config.kinds, [](const auto& kind) {
                            return kind.first.mode == Mode::kMps;
                        });
    std::string text;
    if (config.uses_mps && !by_mps) {
        text +=
            "# The plan has MPS beside other ways to share, and a node has one: here all shares "
            "take turns.\n";
    }
    text += "version: v1\nflags:\n  migStrategy: ";
    text += config.has_mig ? "mixed\n" : "none\n";
    if (config.kinds.empty()) return text;
    if (by_mps) text += "  mpsRoot: /run/nvidia/mps\n";
    text += by_mps ? "sharing:\n  mps:\n" : "sharing:\n  timeSlicing:\n";
    text += "    failRequestsGreaterThanOne: true\n    resources:\n";
    const bool alone = config.kinds.size() == 1 && !config.has_whole && !config.has_mig;
    for (const auto& [division, gpus] : config.kinds) {
        text += "    - name: nvidia.com/gpu\n      replicas: " + std::to_string(division.replicas) +
                "\n";
        if (!alone) text += "      devices: " + list_of(gpus) + "\n";
        const std::string resource = resource_of(division, config.kinds.size(), config.has_whole);
        if (resource != "nvidia.com/gpu") text += "      rename: " + resource + "\n";
        if (division.mode == Mode::kTimeSlicing) continue;
        text += "      memory: " + decimal_text(std::floor(division.share_mib), 0) + "Mi\n";
        constexpr unsigned kPercent = 100;
        text +=
            "      compute: " + std::to_string(std::max(1U, kPercent / division.replicas)) + "\n";
    }
    return text;
}

/// What NVIDIA's plugin understands: one number of replicas for all GPUs of the node.
std::string nvidia_config(const NodeConfig& config) {
    std::string text = "version: v1\nflags:\n  migStrategy: ";
    text += config.has_mig ? "mixed\n" : "none\n";
    if (config.kinds.empty() || config.has_mig) return text;
    unsigned replicas = 2;
    for (const auto& kind : config.kinds) replicas = std::max(replicas, kind.first.replicas);
    if (config.uses_mps) text += "  mpsRoot: /run/nvidia/mps\n";
    text += config.uses_mps ? "sharing:\n  mps:\n" : "sharing:\n  timeSlicing:\n";
    text += "    renameByDefault: false\n    failRequestsGreaterThanOne: true\n    resources:\n";
    return text + "    - name: nvidia.com/gpu\n      replicas: " + std::to_string(replicas) + "\n";
}

std::string indented(const std::string& text, unsigned blanks) {
    std::string result;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        result += std::string(blanks, ' ') + text.substr(at, end - at) + '\n';
        at = end + 1;
    }
    return result;
}

std::string config_map(const std::string& name, const std::string& key, const std::string& data) {
    return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name +
           "\n  namespace: gpu-operator\ndata:\n  " + key + ": |\n" + indented(data, 4);
}

/// mig-parted: which GPUs of the node are cut, and how.
std::string mig_parted(const Plan& plan, const NodeUse& node) {
    std::map<std::string, std::vector<unsigned>> by_layout;  // what is made -> GPUs
    std::vector<unsigned> off;
    for (unsigned i = 0; i < node.gpus.size(); ++i) {
        const GpuUse* const use = node.gpus[i];
        if (use == nullptr || use->mode != Mode::kMig) {
            off.push_back(i);
            continue;
        }
        std::map<std::string, unsigned> counts;
        for (const std::size_t index : use->shares) ++counts[plan.shares[index].profile];
        std::string devices;
        for (const auto& [profile, count] : counts) {
            devices += "\"" + profile + "\": " + std::to_string(count) + "\n";
        }
        by_layout[devices].push_back(i);
    }
    // mig-manager gives all-disabled to nodes without a label: a configuration without it fails there.
    std::string text =
        "version: v1\nmig-configs:\n  all-disabled:\n  - devices: all\n    mig-enabled: false\n"
        "  aliquot:\n";
    for (const auto& [devices, gpus] : by_layout) {
        const bool all = gpus.size() == node.gpus.size();
        text += "  - devices: " + (all ? std::string("all") : list_of(gpus)) +
                "\n    mig-enabled: true\n    mig-devices:\n";
        text += indented(devices, 6);
    }
    if (!off.empty()) {
        text += "  - devices: " + list_of(off) + "\n    mig-enabled: false\n    mig-devices: {}\n";
    }
    return text;
}

std::string helm_values(const NodeConfig& config) {
    std::string text = "devicePlugin:\n  config:\n    name: aliquot-plan\n    default: any\n";
    if (config.has_mig) {
        text += "mig:\n  strategy: mixed\nmigManager:\n  config:\n    name: aliquot-mig\n";
    }
    return text;
}

/// Shares learn the name under which their kind is offered.
void name_resources(Plan& plan, const NodeUse& node, const NodeConfig& config) {
    for (const GpuUse* const use : node.gpus) {
        if (use == nullptr || !is_divided(use->mode)) continue;
        const auto division = division_of(use);
        for (const std::size_t index : use->shares) {
            plan.shares[index].resource =
                resource_of(*division, config.kinds.size(), config.has_whole);
        }
    }
}

void add_node_files(Plan& plan, const NodeUse& node, bool only) {
    const NodeConfig config = config_of(node);
    const std::string end = only || node.name.empty() ? "" : "-" + node.name;
    const std::string objection = objection_of_agent(our_config(config), node.gpus, plan.shares);
    if (objection.empty()) {
        plan.files.push_back({"sharing" + end + ".yaml",
                              "the sharing configuration of the node for aliquot-agent",
                              our_config(config), node.name, our_config(config)});
    } else {
        plan.objections.push_back("sharing" + end + ".yaml: " + objection);
    }
    plan.files.push_back({"nvidia-configmap" + end + ".yaml",
                          "the same for NVIDIA's plugin, as ConfigMap of gpu-operator",
                          config_map("aliquot-plan", "any", nvidia_config(config)), node.name,
                          nvidia_config(config)});
    plan.files.push_back({"nvidia-values" + end + ".yaml",
                          "Helm values of gpu-operator that name it", helm_values(config)});
    if (config.has_mig) {
        const std::string parted = mig_parted(plan, node);
        plan.files.push_back({"mig-parted" + end + ".yaml",
                              "for nvidia-mig-parted apply -f FILE -c aliquot", parted});
        plan.files.push_back({"mig-configmap" + end + ".yaml",
                              "the same for the MIG manager; label the node "
                              "nvidia.com/mig.config=aliquot",
                              config_map("aliquot-mig", "config.yaml", parted)});
    }
    const bool unequal = config.kinds.size() > 1 || (config.has_whole && !config.kinds.empty());
    if (unequal) {
        plan.warnings.emplace_back(
            "NVIDIA's plugin divides all GPUs of a node alike and has no limits per share: what "
            "needs a whole GPU wants a node of its own there");
    }
}

}  // namespace

void add_files(Plan& plan, const Request& request) {
    const auto nodes = nodes_of(plan, request);
    // Equal nodes need one file.
    std::vector<std::string> seen;
    std::vector<const NodeUse*> different;
    for (const NodeUse& node : nodes) {
        const NodeConfig config = config_of(node);
        name_resources(plan, node, config);
        std::string text = our_config(config);
        if (config.has_mig) text += mig_parted(plan, node);
        if (std::ranges::find(seen, text) != seen.end()) continue;
        seen.push_back(std::move(text));
        different.push_back(&node);
    }
    constexpr std::size_t kMostNodes = 100;
    for (std::size_t i = 0; i < std::min(different.size(), kMostNodes); ++i) {
        add_node_files(plan, *different[i], different.size() == 1);
    }
}

}  // namespace aliquot::plan
