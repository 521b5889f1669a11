// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "document/value.h"
#include "k8s/node_selector.h"

/// One node of a cluster in one process tree, for plain manifests: scheduler, controllers, pods that run as
/// local processes, the agent and the kubelet beside them. `aliquot up` shows it.
namespace aliquot::sim::cluster {

enum class RestartPolicy : std::uint8_t { kAlways, kOnFailure, kNever };

/// Something to say about a place in a file.
struct Remark {
    std::string file;
    document::Mark mark;  // {0, 0}: the file as a whole
    std::string message;
};
/// "file:line:column: message"
std::string to_text(const Remark& remark);

enum class ConfigurationKind : std::uint8_t { kConfigMap, kSecret };
enum class Presence : std::uint8_t { kRequired, kOptional };

/// What a variable takes from a ConfigMap or a Secret of its namespace.
struct ConfigurationReference {
    ConfigurationKind kind = ConfigurationKind::kConfigMap;
    std::string object;
    std::string key;  // empty: every key, each a variable with the reference's name as its prefix
    Presence presence = Presence::kRequired;
    Remark place;  // the message: the path of the field
};

/// One variable of a container.
struct Variable {
    enum class Source : std::uint8_t {
        kValue,      // `text` is the value, with $(OTHER) in it
        kLiteral,    // `text` is the value as it is
        kField,      // `text` is a field of the pod: "metadata.name"
        kReference,  // `reference` names the value; gone after read_manifests()
    };
    std::string name;
    Source source = Source::kValue;
    std::string text;
    ConfigurationReference reference = {};
};

/// One of a container's resources.claims.
struct ContainerClaim {
    std::string name;     // of the pod's resourceClaims
    std::string request;  // empty: all of the claim
};

/// One of a pod's resourceClaims: a ResourceClaim, or a template that one is made from.
struct PodClaim {
    std::string name;
    std::string claim;
    std::string claim_template;
};

struct Container {
    std::string name;
    std::string image;
    std::vector<std::string> command;  // empty: the image's own entry point, which is not run here
    std::vector<std::string> args;
    std::vector<Variable> variables;
    std::map<std::string, unsigned> devices;  // extended resources: "nvidia.com/gpu" -> 1
    std::vector<ContainerClaim> claims;
};

struct PodTemplate {
    std::map<std::string, std::string> labels;
    std::vector<Container> init_containers;
    std::vector<Container> containers;
    RestartPolicy restart_policy = RestartPolicy::kAlways;
    std::vector<k8s::Requirement> node_selector;  // all must hold
    /// Terms of required node affinity: one must hold, with all its requirements. Empty: none is asked.
    std::vector<k8s::NodeSelectorTerm> node_affinity;
    std::vector<PodClaim> claims;
};

enum class WorkloadKind : std::uint8_t {
    kPod,
    kDeployment,
    kReplicaSet,
    kStatefulSet,
    kDaemonSet,
    kJob
};

/// What one manifest asks for.
struct Workload {
    WorkloadKind kind = WorkloadKind::kPod;
    std::string pod_namespace = "default";
    std::string name;
    unsigned replicas = 1;     // of a Job: completions
    unsigned parallelism = 1;  // of a Job
    unsigned backoff_limit = 6;
    PodTemplate pod;
};

}  // namespace aliquot::sim::cluster
