// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "queue/state.h"

namespace aliquot::queue {

/// Goes through waiting jobs in the order in which they would be served: by priority, then by the fair share of
/// queue and user, then by submission. Every job that was named counts for its queue and user as if it had run.
/// One walk at a time; the last job named may start meanwhile, and nothing else changes.
class Walk {
public:
    enum class Over : std::uint8_t { kAll, kOpen };  // kOpen: lines that are not idle

    Walk(State& state, Over over);
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    /// The next job; kNoSlot: there is none.
    Slot next();
    /// No more of the jobs that ask as the last one, in its line.
    void close_bucket();
    /// The last job started: its queue and user are charged for it.
    void note_started();

private:
    struct Seat {  // of a line among those of its queue
        double used = 0;
        Entry head;
        LineId line = 0;
        std::uint32_t bucket = 0;
    };
    struct Group {  // lines of one queue and priority, a heap
        std::int32_t priority = 0;
        QueueId queue = 0;
        double used = 0;  // by weight
        std::vector<Seat> seats;
    };
    static bool is_behind(const Seat& a, const Seat& b);
    [[nodiscard]] bool is_group_behind(std::uint32_t a, std::uint32_t b) const;
    /// Its first job that is not closed; false: there is none.
    bool seat(LineId line, Seat& made) const;
    void add(LineId line);
    /// Puts the last job's line and queue where they belong now.
    void settle();
    [[nodiscard]] double share_of(QueueId queue) const;

    State& state_;
    double unit_;  // what a milli of a GPU for 1 ms counts
    std::vector<Group> groups_;
    std::vector<std::uint32_t> heap_;  // of groups, the first to be served at the front
    std::vector<double> queue_added_;
    std::vector<double> user_added_;
    LineId line_ = 0;
    std::uint32_t bucket_ = 0;
    double worth_ = 0;  // of the last job
    std::uint32_t account_ = 0;
    bool pending_ = false;  // the last job's line is at the front and not settled
};

}  // namespace aliquot::queue
