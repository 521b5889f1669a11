// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda.h"
#include "guard/batch.h"
#include "guard/busy_time.h"
#include "guard/lock.h"

namespace aliquot::guard {

struct Lane;

/// A moment in a stream, of which the driver keeps the time.
struct Mark {
    CUevent event;
    CUcontext context;
    std::uint32_t uses;
    bool done;
    std::uint64_t recorded_ns;  // CLOCK_MONOTONIC when it was given to the driver
    std::uint64_t at_ns;        // when the device passed it, by the meter's clock; 0: not known
    Mark* next;                 // spare one
};

/// Nanoseconds from one mark to another that the device has passed. False: the driver does not tell.
bool elapsed(const Mark& from, const Mark& to, std::int64_t& ns);

/// Work of one lane: from one mark to another.
struct Segment {
    Mark* start;
    Mark* end;
    std::uint64_t called_ns;  // its first launch was made after that; 0: the lane was at work
    std::uint64_t made_ns;    // and its last before that; 0: not known
    std::uint32_t launches;
    bool late;     // its batch had been closed by another thread
    bool follows;  // what its start is the end of
    unsigned batch;
    bool settled;
};

/// Measures what this process' work takes on one device: the time in which at least one stream ran,
/// between marks that are set before the first and behind the last launch of a batch in each stream
/// that the batch uses. A batch is about a millisecond of work; a single launch where the program
/// leaves the device idle between launches, so that idle time is nobody's. Everything but `epoch`
/// under `lock`, which is held over calls of the driver that do not wait for the device.
class Meter {
public:
    ThreadLock lock;
    /// Changes when launches that were drawn are void.
    std::atomic<std::uint32_t> epoch{0};

    /// Before draw(): where it is in the ledger, and whether time is paid for.
    void set_place(unsigned place, bool capped) {
        place_ = place;
        capped_ = capped;
    }

    [[nodiscard]] bool is_open() const { return open_; }
    /// The open batch has launches left.
    [[nodiscard]] bool has_left() const { return open_ && batch().launches < limit_; }
    /// A thread is about to make the single launch that it drew of the open batch.
    [[nodiscard]] bool is_about_to() const { return open_ && outstanding_ != 0; }
    /// Another launch may join the open batch beyond its limit.
    bool make_room();
    /// There is room for another batch.
    [[nodiscard]] bool has_room() const {
        return in_flight() < kBatches - 1 && tail_ - head_ <= kSegments - kTouched;
    }
    /// Of late the work was in more than one stream, so that it may run at once.
    [[nodiscard]] bool has_several_lanes() const {
        return static_cast<std::int32_t>(lanes_until_ - last_batch_) > 0;
    }
    /// Batches that are with the device, and what they are expected to take.
    [[nodiscard]] unsigned in_flight() const { return last_batch_ - first_batch_; }
    [[nodiscard]] std::uint64_t in_flight_ns() const { return expected_ns_; }
    /// What is in flight has taken so much longer than was reserved for it.
    [[nodiscard]] std::uint64_t overdue(std::uint64_t now) const;
    /// When to look again whether something is done.
    [[nodiscard]] std::uint64_t next_look() const;

    /// Gives out launches on this lane, of the open batch or of a new one.
    std::uint32_t draw(Lane& lane, std::uint64_t now_ns);
    /// The lane takes part in the open batch.
    void enter(Lane& lane);
    /// Ends the open batch. `unspent`: launches that were drawn and not made.
    void close(std::uint32_t unspent);
    /// The same, but not while another thread is about to launch: then when it has.
    void close_soon(std::uint32_t unspent);
    /// What was drawn last is a copy: the call may itself take as long as the device.
    void note_copy() {
        if (open_) batch(last_batch_).whole = true;
    }
    /// The launch that was drawn can be made now.
    void note_let_in();
    /// A single launch that was drawn for the lane has been made.
    void note_launched(Lane& lane, std::uint64_t made_ns);
    /// Ends the work of a lane that only this thread reaches. `late`: some time after its batch.
    void close_own(Lane& lane, bool late);
    /// A launch went to the device after its batch was closed.
    void catch_up(Lane& lane);
    /// Something is about to go into the lane that waits; what is before it was closed.
    void hold(Lane& lane);
    /// Settles what the device has done.
    void harvest();
    /// The same, not again and again where many lanes each have a little to look at.
    void harvest_sometimes(std::uint64_t now) {
        constexpr std::uint64_t kLooksApart = 50'000;
        if (has_several_lanes() && now - harvested_ns_ < kLooksApart) return;
        harvest();
        harvested_ns_ = now;
    }
    /// The program is about to wait, and no batch is open: it has launched nothing since the last.
    void note_wait();
    /// The program or the guard has waited: that is no pace of launches.
    void note_pause();

    /// The lane's stream, or the context with all its events, will be gone.
    void drop(Lane& lane);
    void drop(CUcontext context);
    /// In the child of a fork.
    void forget();

private:
    static constexpr unsigned kBatches = 64;
    static constexpr unsigned kSegments = 8192;
    static constexpr unsigned kTouched = kSegments / 2;
    static constexpr unsigned kMarks = 3 * kSegments;
    struct Storage {
        Segment segments[kSegments];
        Mark marks[kMarks];
        Lane* touched[kTouched];
    };

    Batch& batch(unsigned number) { return batches_[number % kBatches]; }
    [[nodiscard]] const Batch& batch() const { return batches_[last_batch_ % kBatches]; }
    bool open(std::uint64_t now);
    void note_gap(std::uint64_t now);
    std::uint32_t next_limit();
    std::uint32_t limit_for_lanes() const;
    void touch(Lane& lane, bool chained);
    void end_lane(Lane& lane, bool late = false);
    void settle(Segment& segment);
    std::uint64_t shared_of(const Segment& segment, std::uint64_t begin, std::uint64_t end);
    [[nodiscard]] std::uint64_t begin_of(const Segment& segment) const;
    [[nodiscard]] std::uint64_t end_of(const Segment& segment, const Batch& whole) const;
    void finish(Batch& done);
    void adapt(const Batch& done, const Cost& cost);
    [[nodiscard]] bool is_idle() const { return head_ == tail_ && touched_ == 0; }

    Mark* record(Lane& lane);
    Mark* take_mark(CUcontext context);
    void release(Mark*& mark);
    bool is_done(Mark& mark);
    void locate(Mark& mark);

    unsigned place_ = 0;
    bool capped_ = false;
    Storage* storage_ = nullptr;
    unsigned head_ = 0;  // segments [head, tail) are not all settled
    unsigned tail_ = 0;
    unsigned touched_ = 0;      // lanes of the open batch
    unsigned first_batch_ = 0;  // batches [first, last) are with the device; last: the open one
    unsigned last_batch_ = 0;
    bool open_ = false;
    Batch batches_[kBatches] = {};
    std::uint32_t limit_ = 0;        // launches of the open batch
    std::uint32_t outstanding_ = 0;  // single launches that were drawn and are not made yet
    bool is_ending_ = false;         // to be closed when they are
    const void* drawer_ = nullptr;   // the thread that drew last
    const Lane* lane_ = nullptr;     // that came last
    unsigned lanes_until_ = 0;       // the batch from which on there is one again
    unsigned several_until_ = 0;     // the batch from which on threads may draw many again
    std::uint32_t full_limit_ = 0;   // of late, without single ones
    std::uint64_t expected_ns_ = 0;
    std::uint64_t each_ns_ = 0;      // a launch, of late; 0: not known
    std::uint64_t alone_ns_ = 0;     // one with nothing beside it
    std::uint64_t interval_ns_ = 0;  // between launches, of late
    std::uint64_t call_ns_ = 0;      // that the call of a launch takes when it is quick
    std::uint64_t made_ns_ = 0;      // when a launch that was drawn alone was made last
    std::uint64_t left_ns_ = 0;      // when the guard was left last
    std::uint64_t harvested_ns_ = 0;
    Mark* anchor_ = nullptr;  // its time is known: those of others are found from it
    Mark* spare_ = nullptr;
    unsigned marks_ = 0;  // ever made
    BusyTime busy_;
};

}  // namespace aliquot::guard
