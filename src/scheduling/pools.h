// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/engine.h"
#include "scheduling/served_node.h"

namespace aliquot::scheduling {

/// GPUs of one node that serve a resource with equally many units each: one node of the engine. A unit counts
/// as a MiB there, so that units are exact, and as its part of a GPU's compute.
struct Pool {
    std::string node;
    std::string resource;
    unsigned units = 1;             // of each GPU; 1: whole GPUs
    std::vector<std::string> gpus;  // uuids, by device of the engine's node; at most kMostDevices
    placement::NodeId id = placement::kNoNode;
};

/// How many of what one container asks of a pool, in the engine's words. CPU and memory are left 0.
/// count   of units; at most `units`, of whole GPUs at most kMostDevices
placement::Request request_of(const std::string& resource, unsigned units, unsigned count);

/// The pools of all nodes, in an engine. Nodes never leave an engine: who drops one makes a new Pools.
class Pools {
public:
    Pools();

    void add(const ServedNode& node);

    [[nodiscard]] placement::Engine& engine() { return engine_; }
    [[nodiscard]] const placement::Engine& engine() const { return engine_; }
    [[nodiscard]] const std::vector<Pool>& all() const { return pools_; }
    [[nodiscard]] const std::vector<std::size_t>& of_node(const std::string& node) const;
    /// The numbers of units that GPUs with this resource have somewhere.
    [[nodiscard]] const std::set<unsigned>& units_of(const std::string& resource) const;
    [[nodiscard]] bool serves(const std::string& resource) const {
        return !units_of(resource).empty();
    }
    /// By the engine's node; it is one of ours.
    [[nodiscard]] const Pool& of(placement::NodeId id) const { return pools_[by_id_.at(id)]; }
    /// The pool of the node that has this GPU for the resource, and its device there.
    [[nodiscard]] std::optional<std::pair<std::size_t, std::uint8_t>> find(
        const std::string& node, const std::string& resource, const std::string& gpu) const;

    /// Units of a device that are free.
    [[nodiscard]] unsigned free_units(const Pool& pool, unsigned device) const;

private:
    placement::Engine engine_;
    std::vector<Pool> pools_;
    std::map<std::string, std::vector<std::size_t>> by_node_;
    std::vector<std::size_t> by_id_;
    std::map<std::string, std::set<unsigned>> units_;
};

}  // namespace aliquot::scheduling
