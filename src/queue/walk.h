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
    struct Seat {
        std::int32_t priority = 0;
        double queue = 0;  // usage by weight
        double user = 0;
        Entry head;
        LineId line = 0;
    };
    static bool is_behind(const Seat& a, const Seat& b);
    [[nodiscard]] Seat seat_of(LineId line) const;
    [[nodiscard]] const Bucket* first_open(const Line& line) const;

    State& state_;
    std::vector<Seat> heap_;
    std::vector<double> queue_added_;
    std::vector<double> user_added_;
    LineId line_ = 0;
    std::size_t bucket_ = 0;
    double worth_ = 0;      // of the last job
    bool pending_ = false;  // line_ has to go back into the heap
};

}  // namespace aliquot::queue
