// SPDX-License-Identifier: Apache-2.0
#include "agent/cluster_options.h"

#include "agent/option_reader.h"
#include "agent/options.h"
#include "base/number.h"

namespace aliquot::agent {
namespace {

using Mode = ClusterOptions::Mode;
using Labels = ClusterOptions::Labels;
using Drain = ClusterOptions::Drain;

template <class T>
void choice(Reader& reader, const std::string& flag, const std::vector<std::string>& variables,
            const std::string& help, const Words<T>& words, T& target) {
    reader.add(flag, variables, help,
               [&words, &target](const std::string& name, const std::string& text) {
                   target = word_value(words, name, text);
               });
}

const Words<Mode>& modes() {
    static const Words<Mode> words{{"auto", Mode::kAuto}, {"on", Mode::kOn}, {"off", Mode::kOff}};
    return words;
}
const Words<Labels>& label_targets() {
    static const Words<Labels> words{
        {"node", Labels::kNode}, {"nodefeature", Labels::kNodeFeature}, {"off", Labels::kOff}};
    return words;
}
const Words<Drain>& drains() {
    static const Words<Drain> words{
        {"refuse", Drain::kRefuse}, {"wait", Drain::kWait}, {"evict", Drain::kEvict}};
    return words;
}

void add_taints(Reader& reader, ClusterOptions& cluster) {
    reader.add("--node-taint", {"ALIQUOT_NODE_TAINT"},
               "a taint for every node with GPUs, as nvidia.com/gpu=true:NoSchedule "
               "(default: none)",
               [&cluster](const std::string& name, const std::string& text) {
                   auto taint = k8s::parse_taint(text);
                   if (!taint) refuse_option(name, taint.error().message);
                   cluster.node_taint = *std::move(taint);
               });
    reader.add("--unhealthy-taint", {"ALIQUOT_UNHEALTHY_TAINT"},
               "when aliquot.dev/gpu-unhealthy=true:NoSchedule is set: all (default; no GPU is "
               "healthy), any, off",
               [&cluster](const std::string& name, const std::string& text) {
                   const auto policy = node::parse_taint_policy(text);
                   if (!policy) refuse_option(name, policy.error().message);
                   cluster.unhealthy_taint = *policy;
               });
}

void add_placement(Reader& reader, ClusterOptions& cluster) {
    reader.boolean("--placement",
                   "give pods the GPUs that aliquot-controller --placement chose, and tell on the\n"
                   "Node who holds which",
                   cluster.placement);
}

const Words<ClaimOptions::Mode>& claim_modes() {
    using Claims = ClaimOptions::Mode;
    static const Words<Claims> words{{"off", Claims::kOff},
                                     {"auto", Claims::kAuto},
                                     {"whole", Claims::kWhole},
                                     {"fixed", Claims::kFixed},
                                     {"consumable", Claims::kConsumable},
                                     {"dynamic-mig", Claims::kDynamicMig},
                                     {"by-label", Claims::kByLabel}};
    return words;
}

void add_mig(Reader& reader, ClusterOptions& cluster) {
    reader.boolean("--mig", "cut GPUs as the node's label nvidia.com/mig.config says", cluster.mig);
    reader.text("--mig-config-map", {},
                "key config.yaml has MIG configurations in mig-parted's format (default "
                "aliquot-mig-config); all-disabled, all-balanced, all-1g.10gb, ... need none",
                cluster.mig_config_map);
    choice(reader, "--mig-drain", {},
           "while pods hold a GPU that is to be cut: refuse (default), "
           "wait, evict",
           drains(), cluster.drain);
    reader.add("--mig-drain-timeout", {}, "seconds to wait for these pods (default 300)",
               [&cluster](const std::string& name, const std::string& text) {
                   constexpr unsigned kLongest = 86'400;
                   const auto seconds = parse_number<unsigned>(text);
                   if (!seconds || *seconds > kLongest) {
                       refuse_option(name, "'" + text + "' is not a number of seconds up to 86400");
                   }
                   cluster.drain_timeout = std::chrono::seconds(*seconds);
               });
}

}  // namespace

void add_claim_options(Reader& reader, ClaimOptions& claims) {
    choice(
        reader, "--dra", {"ALIQUOT_DRA"},
        "hand out GPUs by ResourceClaims instead of extended resources: off (default), whole "
        "GPUs, fixed (the configured shares), consumable (shares of any size; Kubernetes 1.36), "
        "auto (consumable where the API server keeps it, else fixed), dynamic-mig (auto, and MIG "
        "devices of any kind, made when a claim is prepared; Kubernetes 1.36), by-label (off, but "
        "for nodes "
        "with a label). But for off, a node's label aliquot.dev/dra goes before",
        claim_modes(), claims.mode);
    reader.text("--pod-uid", {"POD_UID"},
                "of this agent: two of them may serve claims during a rolling update",
                claims.pod_uid);
}

void add_cluster_options(Reader& reader, ClusterOptions& cluster) {
    choice(reader, "--cluster", {"ALIQUOT_CLUSTER"},
           "write labels, conditions and Events and take the configuration from the API server: "
           "auto (default; in a pod with NODE_NAME), on, off",
           modes(), cluster.mode);
    reader.text("--kubeconfig", {}, "how to reach the API server outside of a pod",
                cluster.kubeconfig);
    reader.text("--context", {}, "of the kubeconfig (default: its current one)", cluster.context);
    reader.text("--namespace", {"POD_NAMESPACE"},
                "of the ConfigMaps and of the NodeFeature (default aliquot-system)",
                cluster.namespace_name);
    reader.text("--config-map", {},
                "its keys are configurations; the node's label nvidia.com/device-plugin.config "
                "chooses one (default aliquot-config)",
                cluster.config_map);
    reader.text("--default-config", {"DEFAULT_CONFIG"},
                "the key for nodes without a label (default: 'default', else the only one)",
                cluster.default_config);
    choice(reader, "--labels", {"ALIQUOT_LABELS"},
           "who puts the feature labels on the Node: node (default; the agent), nodefeature "
           "(node-feature-discovery), off",
           label_targets(), cluster.labels);
    add_taints(reader, cluster);
    add_mig(reader, cluster);
    add_placement(reader, cluster);
    reader.text("--pod-name", {"POD_NAME"}, "of this agent, for Events", cluster.pod_name);
}

}  // namespace aliquot::agent
