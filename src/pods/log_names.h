// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/root.h"

namespace aliquot::pods {

struct PodName {
    std::string pod_namespace;
    std::string pod;
    friend bool operator==(const PodName&, const PodName&) = default;
    friend auto operator<=>(const PodName&, const PodName&) = default;
};
struct ContainerName {
    PodName pod;
    std::string container;
    friend bool operator==(const ContainerName&, const ContainerName&) = default;
    friend auto operator<=>(const ContainerName&, const ContainerName&) = default;
};

/// "<namespace>_<pod>_<uid>" of /var/log/pods: no name can hold an underscore. Pure.
std::optional<std::pair<std::string, PodName>> parse_pod_log_name(std::string_view name);

/// "<pod>_<namespace>_<container>-<id>.log" of /var/log/containers: the container's id and names.
/// kubelet cuts names that are too long for a file; those are none. Pure.
std::optional<std::pair<std::string, ContainerName>> parse_container_log_name(
    std::string_view name);

/// The names that kubelet gives to log files: they tell which pod a uid is and which container an
/// id. Only names are read, never a log. Not thread-safe.
class LogNames {
public:
    /// root   must outlive this
    LogNames(const os::Root& root, std::string pod_logs, std::string container_logs);

    /// Reads the directories that have changed. Returns whether any was read.
    bool refresh();

    [[nodiscard]] const PodName* pod(const std::string& uid) const;
    [[nodiscard]] const ContainerName* container(const std::string& id) const;
    /// Whether the id of this container is known.
    [[nodiscard]] bool knows(const ContainerName& name) const;
    /// Uids of pods with this name: two when one was deleted and made anew a moment ago.
    [[nodiscard]] std::vector<std::string> uids_of(const PodName& name) const;
    /// The pod's container when it has only ever had one; reads its directory.
    [[nodiscard]] std::optional<std::string> only_container(const std::string& uid) const;

private:
    struct Directory {
        std::string path;
        std::optional<os::FileStatus::Identity> identity;  // when it was read; empty: not there
        bool settled = false;  // it had not changed for a while when it was read
    };
    std::optional<std::vector<std::string>> read_if_changed(Directory& directory) const;

    const os::Root& root_;
    Directory pod_logs_;
    Directory container_logs_;
    std::map<std::string, PodName> pods_;  // by uid
    std::multimap<PodName, std::string> uids_;
    std::map<std::string, ContainerName> containers_;  // by id
    std::set<ContainerName> container_names_;
};

}  // namespace aliquot::pods
