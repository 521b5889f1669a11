// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::guard_region {

/// A container's control group, and the region that was made for that container.
struct ContainerGroup {
    std::string path;  // as in /proc/PID/cgroup
    std::string region;
    friend bool operator==(const ContainerGroup&, const ContainerGroup&) = default;
};

/// Which control groups belong to which region. What is known once stays: no process of a container
/// can leave its group, whatever it mounts, and what it makes below is its own. Not thread-safe.
class ContainerRegions {
public:
    static constexpr std::size_t kMost = 4096;

    /// Notes a container; the first who says something of a group is believed, and no group lies
    /// inside of another one. Returns whether that was new.
    bool learn(std::string_view path, const std::string& region);

    /// The container whose group `path` is, or lies in; empty: none that is known.
    [[nodiscard]] const ContainerGroup* find(std::string_view path) const;

    void forget(const std::string& region);

    /// What was learned since the last call.
    std::vector<ContainerGroup> take_news();

private:
    std::map<std::string, ContainerGroup, std::less<>> groups_;  // by path
    std::vector<ContainerGroup> news_;
};

}  // namespace aliquot::guard_region
