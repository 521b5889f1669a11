// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/path.h"

namespace aliquot::lint {

using document::Mark;
using document::Value;

/// What a YAML or JSON document is.
enum class Role : std::uint8_t {
    kObject,    // apiVersion and kind: a Kubernetes object, also an item of a List
    kPatch,     // an object that is only a part: a kustomize patch, or a stub with parts left out
                // (a workload without any image, or with "..." in it)
    kFragment,  // begins below the object: `resources:`, `spec:`, `env:`, `containers:`, a list
    kDevicePluginConfig,  // NVIDIA's plugin (or ours): version/flags/sharing/resources
    kMigParted,           // `mig-configs:`
    kHelmValues,          // values of a chart; see chart_of()
    kPrometheusRules,     // `groups:` with rules, or PrometheusRule's spec
    kPrometheusConfig,    // scrape_configs
    kDashboard,           // Grafana JSON
    kCompose,             // Docker compose
    kKustomization,
    kWorkflow,  // GitHub Actions or the like
    kToml,      // the configuration of a container runtime, or any other in TOML
    kNothing,   // empty, or nothing that we know
};

/// One document of a block, or one item of a List. `node` lives in the File; its marks are places
/// of the file. Text with `{{ }}` or `${ }` in it is a placeholder: see is_placeholder().
struct Object {
    Role role = Role::kNothing;
    int block = -1;               // index into File::blocks
    unsigned index = 0;           // of the document in its block, from 0
    unsigned documents = 1;       // how many documents the block has that are not empty
    const Value* node = nullptr;  // never null
    std::string api_version;      // "apps/v1"
    std::string kind;             // "Deployment"; of a ConfigMap's data the kind is empty
    std::string name;             // metadata.name; may be empty or a placeholder
    std::string name_space;       // metadata.namespace; empty: not said
    std::string chart;   // of kHelmValues: "gpu-operator", "nvidia-device-plugin", "dcgm-exporter",
                         // "gha-runner-scale-set", "kube-prometheus-stack"; else empty
    int holder = -1;     // index into File::objects: the ConfigMap (or PrometheusRule, HelmRelease,
                         // List) that this document stands in
    std::string key;     // of the ConfigMap: the key in `data`; else empty
    bool inner = false;  // it stands inside of a document that is more than a List
    bool broken = false;     // a part of it could not be read and was left out
    bool templated = false;  // placeholders stand in it
    bool gaps = false;       // lines of it are left out or belong to a template
    bool stub = false;       // of kPatch: only because its containers have no image

    [[nodiscard]] std::string group() const;  // "apps"; "" for v1
    [[nodiscard]] Mark mark() const;          // of its first key
    [[nodiscard]] bool is(std::string_view some_kind) const { return kind == some_kind; }
    /// Role kObject or kPatch with this kind.
    [[nodiscard]] bool is_workload() const;  // Pod, Deployment, StatefulSet, DaemonSet,
                                             // ReplicaSet, Job, CronJob
};

/// Whether a text is not what will be used: `{{ .Values.x }}`, `$IMAGE`, `${TAG}`, `<REGISTRY>`,
/// "YOUR_...", "...", "FILLED BY THE OPERATOR" and the like. Rules pass over such values.
bool is_placeholder(std::string_view text);
/// "PORT", "FILESTORE_CAPACITY": where a number is wanted, a name that is put in later.
bool is_capital_name(std::string_view text);

/// A count or amount of one resource in `resources:`.
struct ResourceValue {
    std::string name;            // "nvidia.com/gpu"
    std::string text;            // "1", "500m", "16Gi"
    const Value* key = nullptr;  // for the mark
    const Value* value = nullptr;
    std::optional<double> amount;  // in base units (cores, bytes, pieces); empty: no quantity
};

struct EnvVar {
    std::string name;
    std::string value;            // empty with valueFrom
    const Value* node = nullptr;  // the list item
    const Value* value_node = nullptr;
};

struct Mount {
    std::string volume;
    std::string path;
    const Value* node = nullptr;
};

struct Container {
    std::string name;
    std::string image;
    const Value* node = nullptr;  // the mapping; of a bare `resources:` fragment that fragment
    const Value* image_node = nullptr;
    const Value* resources = nullptr;  // the mapping `resources`; nullptr: not written
    bool init = false;
    bool sidecar = false;  // an init container with restartPolicy: Always
    std::vector<ResourceValue> requests;
    std::vector<ResourceValue> limits;
    std::vector<ResourceValue> claims;  // resources.claims: name only
    std::vector<EnvVar> env;
    std::vector<Mount> mounts;
    std::vector<std::string> command;  // command and args, one after the other
    bool privileged = false;

    /// Of the limit, else of the request; nullptr when neither is written.
    [[nodiscard]] const ResourceValue* find(std::string_view resource) const;
    [[nodiscard]] const ResourceValue* find_request(std::string_view resource) const;
    [[nodiscard]] const ResourceValue* find_limit(std::string_view resource) const;
    /// The first limit or request whose name k8s::is_gpu_resource(); nullptr: it asks for no GPU.
    [[nodiscard]] const ResourceValue* gpu() const;
    [[nodiscard]] const EnvVar* find_env(std::string_view name) const;
};

/// The spec of a pod, wherever it stands: a Pod, a `template:` of any kind (CRDs too: RayCluster,
/// PyTorchJob, LeaderWorkerSet, ...), or a fragment.
struct PodSpec {
    int object = -1;                  // index into File::objects
    const Value* node = nullptr;      // the spec mapping; of a fragment without one, the fragment
    const Value* metadata = nullptr;  // of the template (or the Pod); nullptr: not written
    std::string path;                 // "spec.template.spec"; "" in a fragment
    bool whole = true;  // false: patch or fragment; then say nothing of what is not written
    std::optional<double> replicas;     // of the owner, where written
    std::vector<Container> containers;  // init containers too
    const Value* node_selector = nullptr;
    const Value* affinity = nullptr;
    const Value* tolerations = nullptr;
    const Value* volumes = nullptr;
    std::string runtime_class;
    std::string restart_policy;

    [[nodiscard]] bool asks_gpu() const;  // some container does, or it has a resource claim
    [[nodiscard]] bool has_claims() const;
};

}  // namespace aliquot::lint
