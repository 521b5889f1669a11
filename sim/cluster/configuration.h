// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/manifest_object.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

/// The ConfigMaps and Secrets among the manifests.
class Configuration {
public:
    /// Takes one in; complains into `report` where the API server would refuse it. Of a ConfigMap
    /// `data`; of a Secret `data` (base64) and `stringData`.
    void add(Diagnostics& report, const document::Value& node, ConfigurationKind kind);

    /// Replaces the references of all workloads by their values. A key that its object does not
    /// have is a problem; an object that is not there is a note, as it may be on the cluster, and
    /// the variable is not set.
    void resolve(std::vector<Workload>& workloads, std::vector<Remark>& problems,
                 std::vector<Remark>& notes) const;

private:
    struct Key {
        ConfigurationKind kind;
        std::string pod_namespace;
        std::string name;
        auto operator<=>(const Key&) const = default;
    };

    void resolve(const std::string& pod_namespace, Container& container,
                 std::vector<Remark>& problems, std::vector<Remark>& notes) const;

    std::map<Key, std::map<std::string, std::string>> objects_;
};

}  // namespace aliquot::sim::cluster
