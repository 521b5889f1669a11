// SPDX-License-Identifier: Apache-2.0
#include "queue/walk.h"

#include <algorithm>

namespace aliquot::queue {

Walk::Walk(State& state, Over over)
    : state_(state), queue_added_(state.quotas.size()), user_added_(state.usage.accounts()) {
    for (LineId id = 0; id < state.lines.size(); ++id) {
        Line& line = state.lines[id];
        if (line.count == 0 || (over == Over::kOpen && line.idle)) continue;
        std::erase_if(line.buckets, [](const Bucket& bucket) { return bucket.jobs.empty(); });
        for (Bucket& bucket : line.buckets) {
            bucket.next = bucket.jobs.begin();
            bucket.closed = over == Over::kOpen && state.room.is_refused(bucket.ask);
        }
        if (first_open(line) != nullptr)
            heap_.push_back(seat_of(id));
        else
            line.idle = true;
    }
    std::make_heap(heap_.begin(), heap_.end(), is_behind);
}

bool Walk::is_behind(const Seat& a, const Seat& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.queue != b.queue) return a.queue > b.queue;
    if (a.user != b.user) return a.user > b.user;
    if (a.head != b.head) return a.head > b.head;
    return a.line > b.line;
}

const Bucket* Walk::first_open(const Line& line) const {
    const Bucket* first = nullptr;
    for (const Bucket& bucket : line.buckets)
        if (!bucket.closed && bucket.next != bucket.jobs.end() &&
            (first == nullptr || *bucket.next < *first->next))
            first = &bucket;
    return first;
}

Walk::Seat Walk::seat_of(LineId id) const {
    const Line& line = state_.lines[id];
    const Bucket* first = first_open(line);
    Seat seat{.priority = line.priority, .line = id};
    if (first != nullptr) seat.head = *first->next;
    if (!state_.is_ours()) return seat;
    seat.queue = (state_.usage.of(state_.queue_accounts[line.queue]) + queue_added_[line.queue]) /
                 state_.quotas.queue(line.queue).weight;
    seat.user = state_.usage.of(line.account) + user_added_[line.account];
    return seat;
}

Slot Walk::next() {
    if (pending_) {
        pending_ = false;
        if (first_open(state_.lines[line_]) != nullptr) {
            heap_.push_back(seat_of(line_));
            std::push_heap(heap_.begin(), heap_.end(), is_behind);
        }
    }
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), is_behind);
        const Seat old = heap_.back();
        heap_.pop_back();
        const Seat seat = seat_of(old.line);
        // What its queue or user was charged since moves it back.
        if (seat.queue != old.queue || seat.user != old.user) {
            heap_.push_back(seat);
            std::push_heap(heap_.begin(), heap_.end(), is_behind);
            continue;
        }
        Line& line = state_.lines[old.line];
        const Bucket* first = first_open(line);
        line_ = old.line;
        bucket_ = static_cast<std::size_t>(first - line.buckets.data());
        Bucket& bucket = line.buckets[bucket_];
        const Slot slot = bucket.next->slot;
        ++bucket.next;
        pending_ = true;
        if (state_.is_ours()) {
            const Record& record = state_.records[slot];
            worth_ = state_.usage.worth(state_.room.ask(record.ask).milli, state_.now,
                                        state_.now + state_.predicted(record));
            queue_added_[line.queue] += worth_;
            user_added_[line.account] += worth_;
        }
        return slot;
    }
    return kNoSlot;
}

void Walk::note_started() {
    if (!state_.is_ours()) return;
    queue_added_[state_.lines[line_].queue] -= worth_;
    user_added_[state_.lines[line_].account] -= worth_;
}

void Walk::close_bucket() {
    if (state_.lines[line_].count > 0) state_.lines[line_].buckets[bucket_].closed = true;
}

}  // namespace aliquot::queue
