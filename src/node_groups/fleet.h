// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node_groups/machines.h"

namespace aliquot::node_groups {

/// What a machine is to the autoscaler.
enum class MachineState : std::uint8_t {
    kOff,
    kStarting,  // asked for; its command has not ended yet
    kOn,        // its start command succeeded
    kStopping,  // told to go; its command has not ended yet
    kFailed,    // would not start: no instance, until the autoscaler takes it back
};
std::string_view to_text(MachineState state);

struct MachineStatus {
    MachineState state = MachineState::kOff;
    std::string problem;  // of kFailed
    friend bool operator==(const MachineStatus&, const MachineStatus&) = default;
};

/// What is to be done to a machine.
struct Task {
    std::string group;
    std::string machine;
    bool starts = true;
};

/// Who is on and who should be. Pure: no clock, no programs; its answers never wait. Not thread-safe.
class Fleet {
public:
    explicit Fleet(std::vector<Group> groups);

    [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
    [[nodiscard]] const Group* find(std::string_view group) const;
    /// The group of a node by its provider id; empty: none of ours.
    [[nodiscard]] std::string group_of(std::string_view provider_id) const;

    /// Machines that are on, start, or failed to: all that the autoscaler counts.
    [[nodiscard]] unsigned target(std::string_view group) const;
    [[nodiscard]] std::map<std::string, MachineStatus> instances(std::string_view group) const;

    /// errors common to all   kNotFound: no such group
    /// errors   kInvalidInput: not a positive number, or above max
    Result<Done> increase(std::string_view group, std::int64_t delta);
    /// Idempotent: a machine that is off already is well.
    /// errors   kInvalidInput: a node of another group (then none is removed); kConflict: below min
    Result<Done> remove(std::string_view group, const std::vector<std::string>& provider_ids);
    /// Takes back machines that have not started.
    /// delta    negative
    /// errors   kConflict: so many have not: machines that exist are never removed
    Result<Done> decrease(std::string_view group, std::int64_t delta);

    /// What is to be done now; each is handed out once, until done() was told.
    std::vector<Task> take_tasks();
    /// problem   empty: it succeeded
    void done(const Task& task, const std::string& problem);

    /// For a restart: JSON of who is on or was asked for. What was under way is begun anew.
    [[nodiscard]] std::string to_json() const;
    /// errors   kInvalidInput: no such text. Machines and groups that are not known any more are left out.
    Result<Done> restore(std::string_view json);

private:
    struct Entry {
        MachineStatus status;
        bool handed_out = false;
    };
    using Machines = std::map<std::string, Entry>;
    Result<Machines*> machines(std::string_view group);

    std::vector<Group> groups_;
    std::map<std::string, Machines, std::less<>> states_;
};

}  // namespace aliquot::node_groups
