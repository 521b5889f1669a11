// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/engine.h"

namespace aliquot::placement {

/// Requests of one kind that were refused and still wait.
struct Waiting {
    Request request;
    std::uint32_t count = 1;
};

/// Moves made together and the requests that fit then.
struct Exchange {
    struct Fill {
        std::size_t waiting = 0;  // index
        Placement where;
    };
    std::vector<Move> moves;
    std::vector<Fill> fills;
    std::int64_t gained_milli = 0;  // GPU compute of the fills
};

/// Looks for few moves after which waiting requests fit: one of them takes the place of a task, that
/// takes the place of a smaller one on another GPU, and so on until the last finds a hole, which may
/// be what is left on a GPU met before. What stays free on the GPUs of the chain is filled with
/// other waiting requests.
///
/// Works on a picture of the engine, made once: shares of a GPU without anti-affinity and MIG take
/// part, all else stays where it is. Deterministic; the work of one search is bounded.
class MoveSearch {
public:
    using MayMove = std::function<bool(PlacementId)>;
    /// Both are looked at only here.
    MoveSearch(const Engine& engine, std::span<const Waiting> waiting, const MayMove& may_move);

    /// The first exchange found that wins at least `least_gain` milli for each of at most
    /// `most_moves` moves; nothing is changed.
    std::optional<Exchange> find(std::int64_t least_gain, unsigned most_moves);
    /// The engine has made these moves and fills; those tasks stay now.
    void made(const Exchange& exchange);
    /// Steps of the search so far: what bounds its time.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

    static constexpr std::uint64_t kMostSteps = 200'000;  // of one find()
    static constexpr unsigned kMostChain = 4;             // moves

private:
    using Index = std::uint32_t;

    struct Less {
        bool operator()(const Request& a, const Request& b) const;
    };
    struct Kind {  // of tasks: equal requests
        Request request;
        std::vector<bool> admitted;  // per node; empty: every node
    };
    struct Queue {
        Index kind = 0;
        std::uint32_t count = 0;
    };
    struct Task {
        PlacementId id = 0;
        Index kind = 0;
        Index device = 0;
    };
    struct Device {
        NodeId node = kNoNode;
        std::uint8_t number = 0;
        bool mig = false;  // takes no part
        bool met = false;  // in the chain that is looked at
        std::int32_t milli = 0;
        std::int32_t mib = 0;
        std::vector<Index> tasks;  // that may move
    };
    struct Host {
        std::int32_t cpu = 0;
        std::int32_t memory = 0;
        std::int32_t device_mib = 0;
        Index first = 0;  // of its devices
    };
    /// Devices with the same hole and a task of the same size.
    struct Group {
        std::int32_t milli = 0;  // of the task
        std::int32_t hole = 0;
        std::vector<std::pair<Index, Index>> places;  // device, task
        [[nodiscard]] std::pair<std::int32_t, std::int32_t> size() const { return {milli, hole}; }
    };
    struct Hop {
        Index task = 0;
        Index device = 0;
    };

    Index kind_of(const Request& request);
    void draw_devices();
    void draw_tasks(const MayMove& may_move);
    void list_all();
    void list(Index device);
    void unlist(Index device);
    [[nodiscard]] Index device_at(const Placement& where) const;

    [[nodiscard]] const Request& request_of(Index task) const {
        return kinds_[tasks_[task].kind].request;
    }
    [[nodiscard]] bool fits(Index kind, Index device) const;
    void put(Index kind, Index device);
    void take(Index kind, Index device);
    void meet(Index device);
    void part(Index device);

    /// Puts a waiting request in the place of a task.
    bool begin(std::size_t first, std::size_t last, const Group& group);
    /// Finds a place for the task that has none; true: the exchange is in found_.
    bool go_on(Index task);
    bool settle(Index task, Index device);
    bool push_out(Index task, const Group& group);
    bool is_worth_it();

    std::vector<Kind> kinds_;
    std::map<Request, Index, Less> kind_numbers_;
    std::vector<Host> hosts_;
    std::vector<Device> devices_;
    std::vector<Task> tasks_;
    std::unordered_map<PlacementId, Index> task_numbers_;
    std::vector<Queue> waiting_;
    std::vector<Index> by_size_;                         // indexes of waiting_, largest first
    std::vector<Group> groups_;                          // by size of the task, then hole
    std::vector<std::pair<std::int32_t, Index>> holes_;  // milli, device; ascending
    const Engine* engine_;

    // The chain that is looked at.
    std::vector<Hop> hops_;
    std::vector<Index> met_;
    std::int64_t met_holes_ = 0;
    Exchange::Fill first_;
    std::int64_t least_gain_ = 0;
    unsigned most_moves_ = 0;
    std::uint64_t last_step_ = 0;
    std::uint64_t steps_ = 0;
    std::optional<Exchange> found_;
};

}  // namespace aliquot::placement
