// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "top/cluster_snapshot.h"

namespace aliquot::top {

/// Names of things over time; the same in tables and in the history.
std::string node_key(const telemetry::Snapshot& node);
std::string gpu_key(const telemetry::Device& device);
std::string part_key(const telemetry::Device& device, const telemetry::Part& part);
std::string tenant_key(const telemetry::Device& device, const telemetry::Part& part,
                       const telemetry::Tenant& tenant);

/// How busy nodes, GPUs and tenants were lately, one value for each snapshot that came. Keeps
/// kMost values of what is still there and forgets what is not. Not thread-safe.
class History {
public:
    static constexpr std::size_t kMost = 240;

    using Values = std::vector<std::optional<std::uint64_t>>;

    /// Takes in the snapshots that are newer than those it has seen of the same agent.
    void add(const ClusterSnapshot& cluster);

    /// Oldest first; parts per million of the GPU, of a node's GPUs on average. Empty: not known.
    [[nodiscard]] const Values& of(const std::string& key) const;

    /// The same of memory: what part of the GPU's or instance's is used; of a tenant with a limit, of
    /// its limit.
    [[nodiscard]] const Values& memory_of(const std::string& key) const;

    /// How much of one CPU core a process has used since the snapshot before, in parts per million;
    /// above kMillion it has used several. Empty: there was none before.
    /// key   part_key() + "/pid " + its number
    [[nodiscard]] std::optional<std::uint64_t> cpu_ppm(const std::string& key) const;

    /// What part of the time since the snapshot before the tenant had to wait because of its limit.
    /// Empty: there was none before.
    [[nodiscard]] std::optional<std::uint64_t> throttled_ppm(const std::string& key) const;

private:
    struct Line {
        Values values;
        Values memory;
        std::uint64_t seen = 0;  // the round in which it was there last
    };
    struct Counter {
        std::uint64_t ns = 0;
        telemetry::Moment at;
        std::optional<std::uint64_t> ppm;
        std::uint64_t seen = 0;
    };
    void note(const std::string& key, std::optional<std::uint64_t> ppm,
              std::optional<std::uint64_t> memory_ppm);
    void note_part(const telemetry::Device& device, const telemetry::Part& part,
                   telemetry::Moment at);
    void note_processes(const std::string& part, const std::vector<telemetry::Process>& processes,
                        telemetry::Moment at);
    void count(std::map<std::string, Counter>& counters, const std::string& key,
               std::optional<std::uint64_t> ns, telemetry::Moment at);
    void note_node(const telemetry::Snapshot& snapshot);
    void keep(const telemetry::Snapshot& snapshot);

    std::map<std::string, Line> lines_;
    std::map<std::string, Counter> throttles_;
    std::map<std::string, Counter> cores_;                                     // of processes
    std::map<std::string, std::pair<std::uint64_t, telemetry::Moment>> seen_;  // by agent
    std::uint64_t round_ = 0;
};

}  // namespace aliquot::top
