// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/tree.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::doctor {

using bundle::Entry;
using bundle::Tree;
using document::Value;

/// One API object with the file it came from.
struct Object {
    std::string kind;
    std::string name;
    std::string space;  // namespace
    Value body;
    std::string path;  // "k8s/pods.json"
    [[nodiscard]] std::string id() const { return space.empty() ? name : space + "/" + name; }
};

struct ContainerLog {
    std::string pod;        // "NAMESPACE/POD"
    std::string container;  // file name without ".log"
    std::string path;
    const std::string* text = nullptr;
};

/// One line that a pod's container, event or status says.
struct Said {
    std::string pod;  // "NAMESPACE/POD"; empty: of no pod
    std::string text;
    std::string path;
    unsigned line = 0;
    std::string node = {};  // of an event of a Node
};

/// The cluster's objects, by kind, from k8s/*.json and *.yaml.
struct ClusterFacts {
    bool known = false;  // any object at all
    std::map<std::string, std::vector<Object>, std::less<>> objects;
    std::vector<ContainerLog> logs;
    std::vector<Said> said;             // events, container states, last lines of logs
    std::vector<std::string> problems;  // files that could not be read, with the reason
    /// Kinds that we were not given, with the reason: "a role must allow: list pods".
    std::map<std::string, std::string, std::less<>> refused;
    /// What the pods of a node that are not finished ask for, "pods" among it; by node.
    std::map<std::string, std::map<std::string, double>, std::less<>> held;
    std::map<std::string, std::vector<std::size_t>, std::less<>> pods_by_node;
    /// All nodes, where `objects` has been narrowed to some of them (narrow.h); else empty.
    std::vector<Object> every_node;

    [[nodiscard]] const std::vector<Object>& all(std::string_view kind) const;
    [[nodiscard]] const Object* find(std::string_view kind, std::string_view space,
                                     std::string_view name) const;
    /// The pods of a node that are not finished.
    [[nodiscard]] std::vector<const Object*> pods_on(std::string_view node) const;
    /// Whether this kind was asked for: an empty list is an answer, a missing file is none.
    [[nodiscard]] bool asked(std::string_view kind) const { return objects.contains(kind); }
};

ClusterFacts cluster_of(const Tree& tree);

/// Works out `pods_by_node` from the pods that are there.
void index_pods(ClusterFacts& cluster);

// Words of pods and nodes.
/// "nvidia.com/gpu" -> count, summed over containers (limits, else requests); any extended resource
/// of a GPU.
std::map<std::string, double> gpu_requests(const Object& pod);
/// Every resource that the scheduler counts.
std::map<std::string, double> requests(const Object& pod);
bool is_finished(const Object& pod);
std::string phase_of(const Object& pod);
std::string node_of(const Object& pod);
std::map<std::string, std::string> labels_of(const Object& object);
/// Every container, init containers too.
std::vector<const Value*> containers_of(const Object& pod);
std::string environment_of(const Value& container, std::string_view name);
/// "k8s/pods.json" and the line of the object's part.
bool is_gpu_node(const Object& node);
/// A device plugin or another GPU stack DaemonSet's pod.
bool is_plugin_name(std::string_view name);

}  // namespace aliquot::doctor
