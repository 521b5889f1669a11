// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/replay.h"

namespace aliquot::sim::trace {

/// What a placement does to the room for one kind of expected task.
struct Effect {
    placement::Request type;
    double popularity = 0;
    double milli = 0;  // GPU compute of the node that it can no longer use; below 0: that it could
                       // not use anyway and that is put to use
};

/// One node as an answer.
struct Choice {
    placement::Placement place;
    placement::NodeState before;
    double fragmentation_milli = 0;  // by which the fragmentation (the paper's F) grows
    std::vector<Effect> effects;     // those that matter most first; none without change
};

/// One decision, with what else was possible.
struct Explanation {
    std::uint32_t row = 0;
    std::optional<std::size_t> arrival;  // number from 1; none: asked as "what if"
    std::size_t arrivals = 0;            // of the scenario
    std::size_t after = 0;               // arrivals decided before
    placement::Policy policy = placement::Policy::kAliquot;
    std::int64_t capacity_milli = 0;
    std::int64_t free_milli = 0;
    double fragmented_milli = 0;
    std::optional<std::size_t> waits;  // arrivals for which it waits for a better place
    std::vector<placement::Placement>
        places;                        // of all members; none: refused. Of one that waits: best now
    std::optional<Choice> chosen;      // of the first member
    std::vector<Choice> alternatives;  // other nodes, best first
    std::uint32_t fitting = 0;         // members of a refused gang that would have found a place
    placement::Refusal refusal;        // of a refused one
};

struct Question {
    std::uint32_t row = 0;             // of the task
    std::optional<std::size_t> after;  // arrivals before it; none: those before its first arrival
    unsigned top = 5;                  // alternatives
};

/// The row of a task by its name, or by its number when no task has that name.
/// errors   kNotFound, with the nearest name
Result<std::uint32_t> find_task(const TaskList& tasks, const std::string& word);

/// Replays until the task comes and tells the decision. The same replay options and scenario as in an
/// experiment give the same decision.
/// errors   kNotFound: the task never arrives, or there are fewer arrivals; else as Replay
Result<Explanation> explain(const Scenario& scenario, const ReplayOptions& options,
                            const Question& question);

/// "0.81 GPU of T4 or A10, 8 CPU, 30 GiB"; memory is left out when it is 0.
std::string request_text(const placement::Request& request);

void print_explanation(std::ostream& out, const Scenario& scenario, const Explanation& explanation);
std::string explanation_json(const Scenario& scenario, const Explanation& explanation);

}  // namespace aliquot::sim::trace
