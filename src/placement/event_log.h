// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "placement/engine.h"
#include "placement/event_line.h"

/// Everything that went into an engine, as lines of text, and what came out: enough to have the same
/// engine again (after a restart, on another machine) and to show that it decides alike.
///
///   aliquot-placement-log 1 #check
///   options policy=aliquot seed=1 ... #check
///   node name=n1 cpu=96000 ... -> ok #check
///   place cpu=4000 memory=8192 gpus=1 milli=460 ... -> id=1 node=0 on=2 start=0 cost=... #check
///
/// The check of a line covers all bytes before it, so a log that was changed is refused.
namespace aliquot::placement {

inline constexpr std::size_t kMostLogBytes = std::size_t{1} << 30U;
inline constexpr std::size_t kMostTogether = 4'096;  // moves of one line
inline constexpr std::size_t kMostLogLine = std::size_t{1} << 20U;

/// An engine that writes down what is done with it. Whoever changes the engine by another way than
/// these calls loses the log's promise; questions that change nothing may go to engine() directly in
/// clusters of up to Ranking::kScan nodes (in larger ones a question moves the ranking on).
class Recorder {
public:
    /// sink  gets whole lines with their line feed, in order
    Recorder(const Options& options, std::function<void(std::string_view)> sink);

    Result<Done> add_geometry(MigGeometry geometry);
    Result<NodeId> add_node(NodeSpec spec);
    void set_workload(std::vector<TaskType> types);
    Result<Placement> place(const Request& request);
    Result<std::vector<Placement>> place_gang(const Request& request, unsigned count);
    Result<PlacementId> restore(const Request& request, const Placement& where);
    Result<Done> release(PlacementId id);
    Result<Done> move(PlacementId id, const Placement& where);
    Result<Done> rearrange(std::span<const Move> moves);
    Result<Placement> what_if(const Request& request);
    Mark mark();
    void undo_to(Mark mark);
    void commit();

    [[nodiscard]] Engine& engine() { return engine_; }
    [[nodiscard]] const Engine& engine() const { return engine_; }

private:
    void write(const std::string& what, const std::string& outcome);

    Engine engine_;
    std::function<void(std::string_view)> sink_;
    Chain chain_;
};

/// What a log led to when it was played again.
struct Replay {
    struct Difference {
        std::size_t line = 0;  // 1, 2, ...
        std::string logged;    // outcome in the log
        std::string now;       // outcome of this engine
    };
    std::size_t lines = 0;
    std::size_t decisions = 0;  // lines with an outcome that came out the same
    std::optional<Difference> first_difference;
    Engine engine;  // after the last line, or before the one that differs
};

/// Plays a log on a fresh engine and stops at the first outcome that is not the same, bit for bit.
/// published  as in Options; nullptr: a log of another policy than ours is refused
/// errors     kInvalidInput: "line 12: cpu is 'x', expected a number of 0 to 9"
Result<Replay> replay(std::string_view text, ScorerOf published = nullptr);

}  // namespace aliquot::placement
