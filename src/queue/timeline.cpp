// SPDX-License-Identifier: Apache-2.0
#include "queue/timeline.h"

#include <algorithm>

namespace aliquot::queue {

Timeline::Timeline(const Quotas& quotas, std::int64_t free, Time now, std::size_t window,
                   bool backfill)
    : quotas_(quotas),
      free_(free),
      now_(now),
      most_window_(window),
      backfill_(backfill),
      queue_used_(quotas.size()),
      pool_used_(quotas.pools()),
      row_of_pool_(quotas.pools()) {
    for (QueueId id = 0; id < quotas.size(); ++id) queue_used_[id] = quotas.used(id);
    for (PoolId id = 0; id < quotas.pools(); ++id) pool_used_[id] = quotas.pool_used(id);
}

void Timeline::add_running(const Stint& stint) {
    ends_.push_back({now_ + stint.lasts, stint.milli, stint.queue});
}

bool Timeline::has_quota(const Stint& stint) const {
    if (stint.queue == Stint::kNoQuota) return true;
    const PoolId pool = quotas_.pool(stint.queue);
    const std::int64_t own = quotas_.own_room(stint.queue);
    const std::int64_t all = quotas_.pool_room(pool);
    if (own != INT64_MAX &&
        stint.milli > own + quotas_.used(stint.queue) - queue_used_[stint.queue])
        return false;
    return all == INT64_MAX || stint.milli <= all + quotas_.pool_used(pool) - pool_used_[pool];
}

void Timeline::begin(std::uint32_t job) {
    const Stint& stint = waiting_[job];
    starts_[job] = now_;
    free_ -= stint.milli;
    if (stint.queue != Stint::kNoQuota) {
        queue_used_[stint.queue] += stint.milli;
        pool_used_[quotas_.pool(stint.queue)] += stint.milli;
    }
    ends_.push_back({now_ + std::max<Time>(1, stint.lasts), stint.milli, stint.queue});
    std::push_heap(ends_.begin(), ends_.end(), std::greater<>{});
}

Timeline::Row* Timeline::first_row() {
    Row* first = nullptr;
    for (Row& row : rows_) {
        while (row.head < row.jobs.size() && starts_[row.jobs[row.head]] != kNever) ++row.head;
        if (row.stalled || row.head == row.jobs.size()) continue;
        if (first == nullptr || row.jobs[row.head] < first->jobs[first->head]) first = &row;
    }
    return first;
}

void Timeline::reserve(std::int64_t milli) {
    // The earliest ends in order, without taking the heap apart: the next is a child of one seen.
    const auto later = [this](std::size_t a, std::size_t b) { return ends_[a] > ends_[b]; };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> seen(later);
    std::int64_t free = free_;
    reserved_at_ = kNever;
    if (!ends_.empty()) seen.push(0);
    while (!seen.empty() && free < milli) {
        const std::size_t at = seen.top();
        seen.pop();
        free += ends_[at].milli;
        reserved_at_ = ends_[at].at;
        for (const std::size_t child : {2 * at + 1, 2 * at + 2})
            if (child < ends_.size()) seen.push(child);
    }
    if (free < milli) reserved_at_ = kNever;
    spare_ = free - milli;
    reserved_ = true;
}

void Timeline::feed(Row& row) {
    row.fed = std::max(row.fed, row.head + 1);
    for (; row.open < most_window_ && row.fed < row.jobs.size(); ++row.fed) {
        const std::uint32_t job = row.jobs[row.fed];
        if (starts_[job] != kNever) continue;
        row.window[waiting_[job].milli].emplace(waiting_[job].lasts, job);
        ++row.open;
    }
}

void Timeline::backfill(Row& row) {
    feed(row);
    for (auto& [milli, jobs] : row.window) {
        if (milli > free_) break;
        while (!jobs.empty() && milli <= free_) {
            const auto [lasts, job] = *jobs.begin();
            if (starts_[job] != kNever ||
                job == row.jobs[row.head]) {  // began as a head, or is one
                if (starts_[job] == kNever) break;
                jobs.erase(jobs.begin());
                --row.open;
                continue;
            }
            const bool ends_before = now_ + lasts <= reserved_at_;
            if ((!ends_before && milli > spare_) || !has_quota(waiting_[job])) break;
            if (!ends_before) spare_ -= milli;
            jobs.erase(jobs.begin());
            --row.open;
            begin(job);
        }
    }
}

void Timeline::backfill() {
    if (!backfill_ || free_ <= 0) return;
    for (Row& row : rows_)
        if (!row.stalled && row.head < row.jobs.size()) backfill(row);
}

void Timeline::end_next() {
    now_ = ends_.front().at;
    while (!ends_.empty() && ends_.front().at == now_) {
        std::pop_heap(ends_.begin(), ends_.end(), std::greater<>{});
        const End end = ends_.back();
        ends_.pop_back();
        free_ += end.milli;
        if (end.queue == Stint::kNoQuota) continue;
        queue_used_[end.queue] -= end.milli;
        pool_used_[quotas_.pool(end.queue)] -= end.milli;
        const std::uint32_t row = row_of_pool_[quotas_.pool(end.queue)];
        if (row < rows_.size()) rows_[row].stalled = false;
    }
}

std::vector<Time> Timeline::play(std::span<const Stint> waiting) {
    waiting_ = waiting;
    starts_.assign(waiting.size(), kNever);
    rows_.assign(1, {});
    std::fill(row_of_pool_.begin(), row_of_pool_.end(), UINT32_MAX);
    for (std::uint32_t job = 0; job < waiting.size(); ++job) {
        std::uint32_t row = 0;
        if (waiting[job].queue != Stint::kNoQuota) {
            std::uint32_t& known = row_of_pool_[quotas_.pool(waiting[job].queue)];
            if (known == UINT32_MAX) {
                known = static_cast<std::uint32_t>(rows_.size());
                rows_.emplace_back();
            }
            row = known;
        }
        rows_[row].jobs.push_back(job);
    }
    std::make_heap(ends_.begin(), ends_.end(), std::greater<>{});
    for (;;) {
        bool blocked = false;
        for (Row* row = first_row(); row != nullptr; row = first_row()) {
            const std::uint32_t job = row->jobs[row->head];
            if (!has_quota(waiting_[job])) {
                row->stalled = true;
            } else if (waiting_[job].milli <= free_) {
                reserved_ = false;
                begin(job);
            } else {
                if (!reserved_) reserve(waiting_[job].milli);
                if (reserved_at_ == kNever) {  // more than there is: nobody waits for it
                    reserved_ = false;
                    ++row->head;
                    continue;
                }
                blocked = true;
                break;
            }
        }
        if (blocked) backfill();
        if (ends_.empty()) break;
        end_next();
    }
    return std::move(starts_);
}

}  // namespace aliquot::queue
