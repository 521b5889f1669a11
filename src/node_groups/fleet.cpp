// SPDX-License-Identifier: Apache-2.0
#include "node_groups/fleet.h"

#include <algorithm>
#include <array>

#include "base/sentence.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::node_groups {
namespace {

using document::Value;

constexpr std::array kStates{MachineState::kOff, MachineState::kStarting, MachineState::kOn,
                             MachineState::kStopping, MachineState::kFailed};

bool counts(MachineState state) {
    return state == MachineState::kOn || state == MachineState::kStarting ||
           state == MachineState::kFailed;
}

}  // namespace

std::string_view to_text(MachineState state) {
    constexpr std::array<std::string_view, 5> kWords{"off", "starting", "on", "stopping", "failed"};
    return kWords[static_cast<std::size_t>(state)];
}

Fleet::Fleet(std::vector<Group> groups) : groups_(std::move(groups)) {
    for (const Group& group : groups_) {
        Machines& all = states_[group.pool.name];
        for (const Machine& machine : group.machines) all[machine.name] = {};
        // What must always be there is started at once.
        (void)increase(group.pool.name, group.pool.min);
    }
}

const Group* Fleet::find(std::string_view group) const {
    const auto found =
        std::ranges::find_if(groups_, [&](const Group& one) { return one.pool.name == group; });
    return found == groups_.end() ? nullptr : &*found;
}

std::string Fleet::group_of(std::string_view id) const {
    for (const auto& [group, machines] : states_) {
        for (const auto& [name, entry] : machines) {
            if (id == provider_id(group, name)) return group;
        }
    }
    return "";
}

Result<Fleet::Machines*> Fleet::machines(std::string_view group) {
    const auto found = states_.find(group);
    if (found != states_.end()) return &found->second;
    return Error{ErrorCode::kNotFound, "no node group '" + one_line(group, 70) + "'"};
}

unsigned Fleet::target(std::string_view group) const {
    const auto found = states_.find(group);
    if (found == states_.end()) return 0;
    return static_cast<unsigned>(std::ranges::count_if(
        found->second, [](const auto& one) { return counts(one.second.status.state); }));
}

std::map<std::string, MachineStatus> Fleet::instances(std::string_view group) const {
    std::map<std::string, MachineStatus> all;
    const auto found = states_.find(group);
    if (found == states_.end()) return all;
    for (const auto& [name, entry] : found->second) {
        if (entry.status.state != MachineState::kOff) all[name] = entry.status;
    }
    return all;
}

Result<Done> Fleet::increase(std::string_view group, std::int64_t delta) {
    auto all = machines(group);
    if (!all) return all.error();
    const unsigned most = find(group)->pool.most_nodes();
    const unsigned now = target(group);
    if (delta < 0 || (delta == 0 && find(group)->pool.min != 0) || now + delta > most) {
        return Error{ErrorCode::kInvalidInput,
                     concat({group, ": ", std::to_string(now), " and ", std::to_string(delta),
                             " more, expected at most ", std::to_string(most)})};
    }
    // Machines that are off first; then those that are about to go, which are started again.
    for (const MachineState from : {MachineState::kOff, MachineState::kStopping}) {
        for (auto& [name, entry] : **all) {
            if (delta == 0) return Done{};
            if (entry.status.state != from || entry.handed_out) continue;
            entry.status = {.state = MachineState::kStarting};
            --delta;
        }
    }
    if (delta == 0) return Done{};
    // All that are left are on their way out: they count, and start when they have gone.
    for (auto& [name, entry] : **all) {
        if (delta == 0) break;
        if (entry.status.state != MachineState::kStopping) continue;
        entry.status = {.state = MachineState::kStarting};
        --delta;
    }
    return Done{};
}

Result<Done> Fleet::remove(std::string_view group, const std::vector<std::string>& ids) {
    auto all = machines(group);
    if (!all) return all.error();
    std::vector<Entry*> leaving;
    for (const std::string& id : ids) {
        const auto found = std::ranges::find_if(
            **all, [&](const auto& one) { return id == provider_id(group, one.first); });
        if (found == (*all)->end()) {
            return Error{
                ErrorCode::kInvalidInput,
                "'" + one_line(id, 120) + "' is not a node of group " + std::string(group)};
        }
        if (counts(found->second.status.state) &&
            std::ranges::find(leaving, &found->second) == leaving.end()) {
            leaving.push_back(&found->second);
        }
    }
    const unsigned min = find(group)->pool.min;
    if (!leaving.empty() && target(group) < min + leaving.size()) {
        return Error{ErrorCode::kConflict,
                     std::string(group) + ": fewer than min, which is " + std::to_string(min)};
    }
    for (Entry* const entry : leaving) entry->status = {.state = MachineState::kStopping};
    return Done{};
}

Result<Done> Fleet::decrease(std::string_view group, std::int64_t delta) {
    auto all = machines(group);
    if (!all) return all.error();
    std::vector<Entry*> idle;
    for (auto& [name, entry] : **all) {
        const bool never_came =
            entry.status.state == MachineState::kFailed ||
            (entry.status.state == MachineState::kStarting && !entry.handed_out);
        if (never_came) idle.push_back(&entry);
    }
    if (delta >= 0 || static_cast<std::size_t>(-(delta + 1)) >= idle.size()) {
        return Error{
            ErrorCode::kConflict,
            concat({group, ": ", std::to_string(delta), " asked for, ", std::to_string(idle.size()),
                    " of the machines have not started; those that exist are not removed"})};
    }
    for (std::int64_t left = -delta; left > 0; --left) {
        idle[static_cast<std::size_t>(left - 1)]->status = {};
    }
    return Done{};
}

std::vector<Task> Fleet::take_tasks() {
    std::vector<Task> tasks;
    for (auto& [group, machines] : states_) {
        for (auto& [name, entry] : machines) {
            if (entry.handed_out) continue;
            const MachineState state = entry.status.state;
            if (state != MachineState::kStarting && state != MachineState::kStopping) continue;
            entry.handed_out = true;
            tasks.push_back({group, name, state == MachineState::kStarting});
        }
    }
    return tasks;
}

void Fleet::done(const Task& task, const std::string& problem) {
    const auto group = states_.find(task.group);
    if (group == states_.end()) return;
    const auto found = group->second.find(task.machine);
    if (found == group->second.end()) return;
    Entry& entry = found->second;
    entry.handed_out = false;
    MachineStatus& status = entry.status;
    if (task.starts && status.state == MachineState::kStarting) {
        status = problem.empty()
                     ? MachineStatus{.state = MachineState::kOn}
                     : MachineStatus{.state = MachineState::kFailed, .problem = problem};
    } else if (!task.starts && status.state == MachineState::kStopping && problem.empty()) {
        status = {};
    }
    // Else it was asked for something else meanwhile, or would not stop: that is handed out next.
}

std::string Fleet::to_json() const {
    Value all = document::make_mapping();
    for (const auto& [group, machines] : states_) {
        Value states = document::make_mapping();
        for (const auto& [name, entry] : machines) {
            append(states, name, to_text(entry.status.state));
        }
        append(all, group, states);
    }
    return document::to_json(document::make_mapping({{"schemaVersion", 1}, {"groups", all}})) +
           "\n";
}

Result<Done> Fleet::restore(std::string_view json) {
    const auto value = document::parse_json(json);
    if (!value) return value.error();
    if (document::text_at(*value, {"schemaVersion"}) != "1") {
        return Error{ErrorCode::kInvalidInput, "no state of node groups"};
    }
    for (const auto& [group, machines] : document::entries_at(*value, {"groups"})) {
        const auto known = states_.find(group.scalar);
        if (known == states_.end()) continue;
        for (const auto& [name, state] : machines.entries) {
            const auto entry = known->second.find(name.scalar);
            const auto word = std::ranges::find_if(
                kStates, [&](MachineState one) { return to_text(one) == state.scalar; });
            if (entry == known->second.end() || word == kStates.end()) continue;
            entry->second = {.status = {.state = *word}};
            if (*word == MachineState::kFailed) entry->second.status.problem = "it did not start";
        }
    }
    return Done{};
}

}  // namespace aliquot::node_groups
