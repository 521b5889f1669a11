// SPDX-License-Identifier: Apache-2.0
#include "queue/walk.h"

#include <algorithm>

namespace aliquot::queue {
namespace {

/// The front of a heap has a new key: down to where it belongs. The rest is a heap.
template <class Item, class Behind>
void sink_front(std::vector<Item>& heap, const Behind& is_behind) {
    std::size_t at = 0;
    for (;;) {
        std::size_t child = 2 * at + 1;
        if (child >= heap.size()) return;
        if (child + 1 < heap.size() && is_behind(heap[child], heap[child + 1])) ++child;
        if (!is_behind(heap[at], heap[child])) return;
        std::swap(heap[at], heap[child]);
        at = child;
    }
}

template <class Item, class Behind>
void drop_front(std::vector<Item>& heap, const Behind& is_behind) {
    std::swap(heap.front(), heap.back());
    heap.pop_back();
    sink_front(heap, is_behind);
}

}  // namespace

Walk::Walk(State& state, Over over)
    : state_(state),
      unit_(state.usage.worth(1'000, state.now, state.now + 1) / 1'000),
      queue_added_(state.quotas.size()),
      user_added_(state.usage.accounts()) {
    for (LineId id = 0; id < state.lines.size(); ++id) {
        Line& line = state.lines[id];
        if (line.count == 0 || (over == Over::kOpen && line.idle)) continue;
        std::erase_if(line.buckets, [](const Bucket& bucket) { return bucket.jobs.empty(); });
        for (Bucket& bucket : line.buckets) {
            bucket.next = bucket.jobs.begin();
            bucket.closed = over == Over::kOpen && state.room.is_refused(bucket.ask);
        }
    }
    // Ordered by priority and queue: lines of one group follow each other.
    std::int32_t priority = 0;
    QueueId queue = 0;
    for (const auto& [key, id] : state.line_ids) {
        Line& line = state.lines[id];
        if (line.count == 0 || (over == Over::kOpen && line.idle)) continue;
        Seat made;
        if (!seat(id, made)) {
            line.idle = true;
            continue;
        }
        const bool ours = state.is_ours();
        if (groups_.empty() || (ours && (line.priority != priority || line.queue != queue))) {
            priority = line.priority;
            queue = line.queue;
            groups_.push_back({.priority = priority, .queue = queue, .used = share_of(queue)});
        }
        groups_.back().seats.push_back(made);
    }
    for (std::uint32_t i = 0; i < groups_.size(); ++i) {
        std::make_heap(groups_[i].seats.begin(), groups_[i].seats.end(), is_behind);
        heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return is_group_behind(a, b); });
}

double Walk::share_of(QueueId queue) const {
    if (!state_.is_ours()) return 0;
    return (state_.usage.of(state_.queue_accounts[queue]) + queue_added_[queue]) /
           state_.quotas.queue(queue).weight;
}

bool Walk::is_behind(const Seat& a, const Seat& b) {
    if (a.used != b.used) return a.used > b.used;
    return a.head > b.head;
}

bool Walk::is_group_behind(std::uint32_t a, std::uint32_t b) const {
    const Group& x = groups_[a];
    const Group& y = groups_[b];
    if (x.priority != y.priority) return x.priority < y.priority;
    if (x.used != y.used) return x.used > y.used;
    return x.seats.front().head > y.seats.front().head;
}

bool Walk::seat(LineId id, Seat& made) const {
    const Line& line = state_.lines[id];
    bool found = false;
    for (std::uint32_t i = 0; i < line.buckets.size(); ++i) {
        const Bucket& bucket = line.buckets[i];
        if (bucket.closed || bucket.next == bucket.jobs.end()) continue;
        if (found && made.head < *bucket.next) continue;
        made.head = *bucket.next;
        made.bucket = i;
        found = true;
    }
    made.line = id;
    if (state_.is_ours()) made.used = state_.usage.of(line.account) + user_added_[line.account];
    return found;
}

void Walk::settle() {
    pending_ = false;
    const auto behind = [this](std::uint32_t a, std::uint32_t b) { return is_group_behind(a, b); };
    Group& group = groups_[heap_.front()];
    if (seat(line_, group.seats.front()))
        sink_front(group.seats, is_behind);
    else
        drop_front(group.seats, is_behind);
    if (group.seats.empty()) {
        drop_front(heap_, behind);
        return;
    }
    group.used = share_of(group.queue);
    sink_front(heap_, behind);
}

Slot Walk::next() {
    if (pending_) settle();
    if (heap_.empty()) return kNoSlot;
    const Group& group = groups_[heap_.front()];
    const Seat& first = group.seats.front();
    line_ = first.line;
    bucket_ = first.bucket;
    const Slot slot = first.head.slot;
    ++state_.lines[line_].buckets[bucket_].next;
    pending_ = true;
    if (state_.is_ours()) {
        const Record& record = state_.records[slot];
        worth_ = unit_ * static_cast<double>(state_.room.ask(record.ask).milli) *
                 static_cast<double>(state_.predicted(record));
        queue_added_[group.queue] += worth_;
        account_ = record.account;
        user_added_[account_] += worth_;
    }
    return slot;
}

void Walk::note_started() {
    if (!state_.is_ours()) return;
    queue_added_[groups_[heap_.front()].queue] -= worth_;
    user_added_[account_] -= worth_;
}

void Walk::close_bucket() {
    if (state_.lines[line_].count > 0) state_.lines[line_].buckets[bucket_].closed = true;
}

}  // namespace aliquot::queue
