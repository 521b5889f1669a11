// SPDX-License-Identifier: Apache-2.0
#include "guard/meter.h"

#include "guard/bucket.h"
#include "guard/kernel.h"
#include "guard/lane.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kBatchNs = 1'000'000;  // GPU time of one batch
constexpr std::uint32_t kMostLaunches = 256;
constexpr std::uint32_t kMostOfLane = 64;    // of each lane, where a batch goes over many
constexpr std::uint64_t kHiddenNs = 50'000;  // that a batch may hide: its launches take no longer
constexpr std::uint64_t kLaneHiddenNs = 16'000;
constexpr unsigned kLanesMore = 128;         // so many make a batch longer by kBatchNs
constexpr std::uint32_t kSingle = 16;        // every so many-th batch is one launch, measured alone
constexpr std::uint64_t kLate = 10'000'000;  // before its batch, that work may have begun
constexpr unsigned kSeveral = 64;            // batches after one of several threads
constexpr unsigned kMisses = 16;             // segments not done that are looked at

}  // namespace

// ---- batches --------------------------------------------------------------------------------

std::uint64_t Meter::overdue(std::uint64_t now) const {
    for (unsigned i = first_batch_; i != last_batch_; ++i) {
        const Batch& one = batches_[i % kBatches];
        if (one.finished || one.held) continue;
        const std::uint64_t due = one.opened_ns + expected_ns_;
        return now > due ? now - due : 0;
    }
    return 0;
}

std::uint64_t Meter::next_look() const {
    constexpr std::uint64_t kShortest = 20'000;
    constexpr std::uint64_t kLongest = 1'000'000;
    return most(kShortest, least(kLongest, expected_ns_ / 4));
}

/// How many launches the next batch is to have.
std::uint32_t Meter::next_limit() {
    if (each_ns_ == 0 || last_batch_ % kSingle == 0) return 1;
    const std::uint64_t work = most(1, kBatchNs / each_ns_);
    const bool is_steady = interval_ns_ * kHiddenPart <= each_ns_;
    const std::uint64_t pace = is_steady ? work : kHiddenNs / interval_ns_ + 1;
    const std::uint64_t limit =
        least(least(work, pace), least(most(1, 2 * std::uint64_t{full_limit_}), kMostLaunches));
    full_limit_ = static_cast<std::uint32_t>(limit);
    return full_limit_;
}

/// The same where it goes over many lanes, each of which costs marks of its own.
std::uint32_t Meter::limit_for_lanes() const {
    if (touched_ < 2 || limit_ == 1) return limit_;
    std::uint64_t of_lane = interval_ns_ == 0 ? kMostOfLane : kLaneHiddenNs / interval_ns_;
    of_lane = most(1, least(of_lane, kMostOfLane));
    const std::uint64_t work = (2 + touched_ / kLanesMore) * kBatchNs / most(1, each_ns_);
    return static_cast<std::uint32_t>(most(limit_, least(of_lane * touched_, work)));
}

bool Meter::open(std::uint64_t now) {
    if (storage_ == nullptr)
        storage_ =
            static_cast<Storage*>(kernel::map(sizeof(Storage), PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (storage_ == nullptr || !has_room()) return false;
    note_gap(now);
    Batch& fresh = batch(last_batch_);
    fresh = Batch{};
    fresh.opened_ns = now;
    fresh.capped = capped_;
    limit_ = next_limit();
    open_ = true;
    return true;
}

/// Between launches that are batches of their own.
void Meter::note_gap(std::uint64_t now) {
    if (left_ns_ == 0 || limit_ != 1) return;
    const std::uint64_t gap = least(now - least(now, left_ns_), 100'000'000);
    interval_ns_ = (3 * interval_ns_ + gap) / 4;
}

void Meter::enter(Lane& lane) {
    if (lane.start == nullptr || lane.epoch.load(std::memory_order_relaxed) != epoch.load())
        touch(lane, false);
    limit_ = limit_for_lanes();
}

bool Meter::make_room() {
    if (!open_ || batch().launches >= kMostLaunches) return false;
    if (limit_ <= batch().launches) limit_ = batch().launches + 1;
    return true;
}

std::uint32_t Meter::draw(Lane& lane, std::uint64_t now_ns) {
    // Marks of several lanes would not tell when the device had nothing to do in between.
    if (open_ && outstanding_ == 0 && has_several_lanes() && !batch().many &&
        now_ns > made_ns_ + kLaneHiddenNs)
        close(0);
    if (lane.thread != nullptr && lane.epoch.load(std::memory_order_relaxed) != epoch.load())
        close_own(lane, true);
    if (!open_ && !open(now_ns)) return 0;
    enter(lane);
    Batch& now = batch(last_batch_);
    const std::uint32_t left = limit_ > now.launches ? limit_ - now.launches : 1;
    std::uint32_t drawn = limit_ / 4 > 1 ? limit_ / 4 : 1;
    if (drawn > left) drawn = left;
    if (drawer_ != this_thread()) {
        if (drawer_ != nullptr) several_until_ = last_batch_ + kSeveral;
        drawer_ = this_thread();
    }
    // What another thread has drawn and not made is not known when a batch is closed.
    const bool several = static_cast<std::int32_t>(several_until_ - last_batch_) > 0;
    if (several) drawn = 1;
    if (drawn == 1)
        ++outstanding_;
    else
        now.many = true;
    lane.launches += drawn;
    const std::uint64_t expected = drawn * each_ns_;
    now.launches += drawn;
    now.expected_ns += expected;
    expected_ns_ += expected;
    if (now.capped) reserve_time(place_, expected);
    return drawn;
}

/// Work of the lane begins here, or where what was closed last ends: when the device is still at that,
/// or is not known not to be (`chained`).
void Meter::touch(Lane& lane, bool chained) {
    const std::uint32_t current = epoch.load(std::memory_order_relaxed);
    const bool known = lane.epoch.load(std::memory_order_relaxed) == current;
    if (!known && touched_ < kTouched) {
        storage_->touched[touched_++] = &lane;
    } else if (!known) {
        limit_ = 0;  // the next launch begins another batch
    }
    lane.epoch.store(current, std::memory_order_relaxed);
    if (lane_ != &lane && lane_ != nullptr) lanes_until_ = last_batch_ + kSeveral;
    lane_ = &lane;
    lane.batch = last_batch_;
    Batch& now = batch(last_batch_);
    if (lane.is_held && lane.last != nullptr && is_done(*lane.last)) lane.is_held = false;
    now.held = now.held || lane.is_held;
    if (lane.start != nullptr) return;
    lane.made_ns = 0;
    lane.launches = 0;
    if (lane.last != nullptr && (chained || !is_done(*lane.last))) {
        lane.start = lane.last;
        lane.follows = true;
        lane.called_ns = chained ? 0 : kernel::now_ns();
        ++lane.start->uses;
        return;
    }
    lane.start = record(lane);
    lane.follows = false;
    lane.called_ns = kernel::now_ns();
    if (lane.start == nullptr || head_ != tail_ || touched_ > 1 || lane.is_held) return;
    now.marking_ns = lane.start->recorded_ns;
    now.marked_ns = lane.called_ns;
    lane.called_ns = 0;
    // Nothing else is under way: this is now.
    lane.start->at_ns = lane.start->recorded_ns;
    release(anchor_);
    anchor_ = lane.start;
    ++anchor_->uses;
    busy_.clear();
}

void Meter::end_lane(Lane& lane, bool late) {
    if (lane.start == nullptr) return;
    if (lane.thread != nullptr && lane.thread != this_thread()) return;  // its thread will
    Mark* end = record(lane);
    if (end == nullptr || tail_ - head_ == kSegments) {
        release(end);
        release(lane.start);
        return;
    }
    ++end->uses;
    release(lane.last);
    lane.last = end;
    storage_->segments[tail_++ % kSegments] =
        Segment{lane.start, end,          lane.called_ns, lane.made_ns, lane.launches,
                late,       lane.follows, lane.batch,     false};
    ++batch(lane.batch).segments;
    lane.start = nullptr;
}

void Meter::close_own(Lane& lane, bool late) {
    if (lane.start == nullptr) return;
    // The batch in which it began may have been closed meanwhile.
    if (!open_ && !open(kernel::now_ns())) return;
    lane.batch = last_batch_;
    end_lane(lane, late);
}

void Meter::close(std::uint32_t unspent) {
    if (!open_) return;
    Batch& done = batch(last_batch_);
    done.launches -= unspent < done.launches ? unspent : done.launches;
    const std::uint64_t spare = unspent * each_ns_;
    if (spare != 0 && spare <= done.expected_ns) {
        done.expected_ns -= spare;
        expected_ns_ -= spare;
        if (done.capped) give_back_time(place_, spare);
    }
    done.closing_ns = kernel::now_ns();
    done.several = has_several_lanes();
    for (unsigned i = 0; i < touched_; ++i) end_lane(*storage_->touched[i]);
    touched_ = 0;
    outstanding_ = 0;
    is_ending_ = false;
    open_ = false;
    done.closed = true;
    done.closed_ns = left_ns_ = kernel::now_ns();
    if (done.launches > 0 && limit_ > 1) {
        const std::uint64_t pace =
            least((done.closing_ns - done.opened_ns) / most(1, done.launches - 1), 100'000'000);
        interval_ns_ = (3 * interval_ns_ + pace) / 4;
    }
    ++last_batch_;
    epoch.fetch_add(1, std::memory_order_release);
    if (done.segments == 0) finish(done);
}

void Meter::close_soon(std::uint32_t unspent) {
    if (outstanding_ == 0 || unspent != 0)
        close(unspent);
    else
        is_ending_ = true;
}

void Meter::note_let_in() {
    if (open_ && batch().let_in_ns == 0) batch(last_batch_).let_in_ns = kernel::now_ns();
}

void Meter::note_launched(Lane& lane, std::uint64_t made_ns) {
    lane.made_ns = made_ns_ = made_ns;
    if (outstanding_ != 0) --outstanding_;
    if (open_ && batch().launches == 1) {
        Batch& single = batch(last_batch_);
        single.made_ns = made_ns;
        const std::uint64_t took = made_ns - least(made_ns, single.let_in_ns);
        call_ns_ = call_ns_ == 0 ? took : least(took, call_ns_ + call_ns_ / 64 + 1);
    }
    if (outstanding_ == 0 && (is_ending_ || !has_left())) close(0);
}

void Meter::catch_up(Lane& lane) {
    if (lane.start != nullptr || lane.last == nullptr) return;  // it is, or was never, measured
    if (!open_ && !open(kernel::now_ns())) return;
    Batch& whole = batch(last_batch_);
    ++whole.launches;
    whole.opened_ns = least(whole.opened_ns, lane.last->recorded_ns);
    touch(lane, true);
    end_lane(lane);
}

void Meter::hold(Lane& lane) {
    release(lane.start);
    release(lane.last);
    lane.is_held = true;
}

void Meter::note_wait() {
    if (limit_ == 1) note_gap(kernel::now_ns());
}

void Meter::note_pause() { left_ns_ = kernel::now_ns(); }

// ---- what was done --------------------------------------------------------------------------

void Meter::adapt(const Batch& done, const Cost& cost) {
    if (done.launches == 0) return;
    const std::uint64_t lowest = most(1, cost.least_ns / done.launches);
    const std::uint64_t highest = most(1, cost.most_ns / done.launches);
    if (done.launches == 1 && highest - lowest <= most(highest / 4, kLaneHiddenNs)) {
        const std::uint64_t about =
            done.longest_ns - least(done.longest_ns, done.busy_ns - (lowest + highest) / 2);
        alone_ns_ = alone_ns_ == 0 ? about : (3 * alone_ns_ + about) / 4;
    }
    const std::uint64_t middle = (lowest + highest) / 2;
    const std::uint64_t nearest = least(most(each_ns_, lowest), highest);
    // Within the bounds the middle is the likeliest, where they are no wider than a call.
    const bool is_close = done.launches == 1 && highest - lowest <= kLaneHiddenNs;
    // Longer ones at once: a batch must not be many of them. Of those that run at once the first alone
    // takes time.
    if (each_ns_ == 0)
        each_ns_ = middle;
    else if (lowest > 4 * each_ns_ && !has_several_lanes())
        each_ns_ = lowest;
    else
        each_ns_ = (7 * each_ns_ +
                    (is_close && has_several_lanes() ? (3 * nearest + middle) / 4 : nearest)) /
                   8;
}

void Meter::finish(Batch& done) {
    const Cost cost = cost_of(done, alone_ns_);
    // As much as so many launches take of late, within what is known.
    const std::uint64_t ns =
        least(least(most(done.launches * each_ns_, cost.least_ns), cost.most_ns),
              kernel::now_ns() - done.opened_ns);
    const std::uint64_t paid_ns = ns - least(ns, done.shared_ns);
    g_ledger.totals(place_).gpu_ns.fetch_add(paid_ns, std::memory_order_relaxed);
    if (done.capped) settle_time(place_, done.expected_ns, paid_ns);
    expected_ns_ -= least(expected_ns_, done.expected_ns);
    g_ledger.totals(place_).launches.fetch_add(done.launches, std::memory_order_relaxed);
    adapt(done, cost);
    done.finished = true;
    while (first_batch_ != last_batch_ && batch(first_batch_).finished) ++first_batch_;
}

void Meter::harvest() {
    unsigned misses = 0;
    for (unsigned i = head_; i != tail_ && misses < kMisses; ++i) {
        Segment& segment = storage_->segments[i % kSegments];
        if (segment.settled) continue;
        if (is_done(*segment.end))
            settle(segment);
        else
            ++misses;
    }
    while (head_ != tail_ && storage_->segments[head_ % kSegments].settled) ++head_;
    if (head_ != tail_) {
        const std::uint64_t oldest = batch(first_batch_).opened_ns;
        busy_.forget_before(oldest > kLate ? oldest - kLate : 0);
    }
}

}  // namespace aliquot::guard
