// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// What a cluster needs so that its GPU nodes are served: manifests, how they get there, and how
/// they go away again.
namespace aliquot::install {

constexpr std::string_view kNamespace = "aliquot-system";

/// The kind of cluster; each has its own answers to where kubelet lies and how devices get into
/// containers. See profile_facts().
enum class Profile : std::uint8_t { kKubeadm, kMicrok8s, kK3s, kEks };

/// How the agent's container may open the GPUs' device nodes.
enum class GpuAccess : std::uint8_t {
    kPrivileged,  // works everywhere
    kRuntime,  // NVIDIA's runtime brings them in: not privileged, needs that runtime on the nodes
};

struct Toleration {
    std::string key;
    std::string value;   // empty: any (operator Exists)
    std::string effect;  // empty: all
    friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// Everything that may differ between two installations.
struct Values {
    Profile profile = Profile::kKubeadm;
    std::string image = "ghcr.io/aliquot/aliquot:" ALIQUOT_VERSION;
    std::string pull_policy = "IfNotPresent";  // Always, Never
    std::map<std::string, std::string> node_selector;
    std::vector<Toleration> tolerations;  // besides ours

    GpuAccess gpu_access = GpuAccess::kPrivileged;
    std::string runtime_class;         // of the agent's pod; empty: none
    std::string kubelet_root;          // kubelet's --root-dir; empty: by profile
    std::string driver_root = "/";     // host path of the driver's installation
    std::string device_list_strategy;  // empty: by profile
    unsigned api_port = 0;             // where the API server listens; 0: by profile

    std::string default_config;                 // key of `config` for nodes without a label
    std::map<std::string, std::string> config;  // key -> sharing configuration; empty: whole GPUs
    std::optional<std::string> mig_config;      // mig-parted's format
    bool mps = false;
    bool mig = false;
    std::string mig_drain = "refuse";  // wait, evict
    std::string labels = "node";       // nodefeature, off
    std::string dra =
        "off";  // auto, whole, fixed, consumable, dynamic-mig, by-label: by ResourceClaims
    std::vector<std::string> label_profiles;
    std::string node_taint;               // KEY=VALUE:EFFECT; empty: none
    std::string unhealthy_taint = "all";  // any, off
    std::vector<std::string> agent_args;  // flags of aliquot-agent, besides

    bool webhook = true;
    bool placement =
        false;  // node and GPU of pods in namespaces that ask for it; needs the webhook
    bool placement_preemption = false;  // evict pods of a lower priority; needs placement
    bool placement_strict = false;      // GPUs at binding; needs placement
    std::string
        placement_extender_ca;  // a ConfigMap with ca.crt: kube-scheduler may ask, who shows a
                                // certificate of it; empty: it may not; needs placement
    /// GPU and ResourceClaim of pods in namespaces that ask for it; needs the webhook, and dra.
    bool claims = false;
    bool claims_preemption = false;  // evict pods of a lower priority; needs claims
    bool pools = false;              // Pools of GPU nodes are tended; needs the webhook
    bool jobs = false;               // GPU jobs beside Kueue; needs the webhook
    std::string jobs_idle_after =
        "off";  // Jobs whose GPUs were idle for so long are warned; needs jobs
    std::string jobs_idle_action = "tell";  // or end: cancelled when still idle after the grace
    std::string jobs_idle_grace = "10m";
    std::string jobs_idle_min_run = "10m";  // of each pod, does not count
    std::string jobs_api;  // a TLS Secret: the HTTP API of jobs is served with it; empty: it is not
    std::string cost_store = "off";  // temporary, claim/NAME, postgresql://...; needs the webhook
    std::string cost_secret;  // a Secret with PGUSER, PGPASSWORD, ... for PostgreSQL; empty: none
    std::string prices_file = "prices";  // what errors call it
    std::optional<std::string> prices;  // own prices and budgets; none: the table of cloud machines
    unsigned controller_replicas = 2;
    std::vector<std::string> api_server_cidrs;  // who may ask the webhook; empty: every address
    std::string webhook_client_ca;  // a ConfigMap with ca.crt; empty: no certificate is asked
    std::vector<std::string> webhook_client_names;  // common names; empty: any of that authority
    bool service_monitor = false;
    bool pod_monitor = false;
    bool prometheus_rule = false;
    bool metrics_api = false;  // rendered by scaling; here only its network policy
    bool network_policy = true;
    bool critical_quota = false;
    bool own_node_policy = true;  // needs Kubernetes 1.30
    std::string metrics_namespace = "monitoring";
};

/// What a profile stands for.
struct ProfileFacts {
    std::string_view name;
    std::string_view kubelet_root;
    std::string_view device_list_strategy;
    unsigned api_port = 6443;
    std::string_view explanation;  // what to see to on such nodes; several lines
};
const ProfileFacts& profile_facts(Profile profile);
std::optional<Profile> profile_of(std::string_view name);
std::vector<std::string> profile_names();

/// "nvidia.com/gpu", "gpu=true:NoSchedule", ":NoExecute" is none.
/// errors   kInvalidInput
Result<Toleration> parse_toleration(std::string_view text);

/// Whether manifests can be made of them: names, paths, words, and that the configurations are such
/// as the agent would take.
/// errors   kInvalidInput: the first that is wrong, with what may stand there
Result<Done> check(const Values& values);

}  // namespace aliquot::install
