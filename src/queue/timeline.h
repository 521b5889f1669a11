// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <set>
#include <span>
#include <vector>

#include "queue/quotas.h"

namespace aliquot::queue {

/// A job of a timeline. `milli` of all its pods; no quota: queue kNoQuota.
struct Stint {
    static constexpr QueueId kNoQuota = UINT32_MAX;
    std::int64_t milli = 0;
    Time lasts = 0;
    QueueId queue = kNoQuota;
};

/// Plays the queue forward on counted compute: who starts when, if all take as long as they are said to. Counts
/// devices, does not place on them: that a GPU is free in two halves is not seen.
class Timeline {
public:
    /// `free` compute now, `window` jobs that a backfill looks at; backfill false: nobody passes a blocked job.
    Timeline(const Quotas& quotas, std::int64_t free, Time now, std::size_t window, bool backfill);

    /// What runs now; lasts counts from now.
    void add_running(const Stint& stint);
    /// Starts of the waiting ones, in their order; kNever: never.
    std::vector<Time> play(std::span<const Stint> waiting);

private:
    struct End {
        Time at = 0;
        std::int64_t milli = 0;
        QueueId queue = Stint::kNoQuota;
        friend bool operator>(const End& a, const End& b) { return a.at > b.at; }
    };
    /// Jobs whose quota counts together.
    struct Row {
        std::vector<std::uint32_t> jobs;
        std::size_t head = 0;
        std::size_t fed = 0;   // of jobs, into the window
        std::size_t open = 0;  // in the window
        std::map<std::int64_t, std::set<std::pair<Time, std::uint32_t>>> window;  // by milli
        bool stalled = false;  // by quota, until something of it ends
    };
    void begin(std::uint32_t job);
    [[nodiscard]] bool has_quota(const Stint& stint) const;
    [[nodiscard]] Row* first_row();
    void reserve(std::int64_t milli);
    void backfill();
    void backfill(Row& row);
    void feed(Row& row);
    void end_next();

    const Quotas& quotas_;
    std::int64_t free_;
    Time now_;
    std::size_t most_window_;
    bool backfill_;
    std::vector<std::int64_t> queue_used_;
    std::vector<std::int64_t> pool_used_;
    std::vector<End> ends_;  // a heap, earliest first
    std::span<const Stint> waiting_;
    std::vector<Time> starts_;
    std::vector<Row> rows_;
    std::vector<std::uint32_t> row_of_pool_;
    bool reserved_ = false;
    Time reserved_at_ = 0;
    std::int64_t spare_ = 0;  // beside the reservation, at its time
};

}  // namespace aliquot::queue
