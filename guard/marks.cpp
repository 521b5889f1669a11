// SPDX-License-Identifier: Apache-2.0
// The part of the meter that is about the driver's events, and what they tell of the work between them.
#include "guard/kernel.h"
#include "guard/lane.h"
#include "guard/meter.h"
#include "guard/session.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kMarkNs = 2'000;  // until an idle device passes a mark
constexpr std::uint64_t kFresh = 100'000'000;
constexpr std::uint64_t kDriftNs = 15'000;  // in that time, and what comparing them is worth

/// Its lane had nothing left to do when its end was marked.
bool was_idle(const Segment& segment) {
    return segment.end->at_ns <= segment.end->recorded_ns + kMarkNs;
}

/// Makes a context the current one while it lives: default streams and events are of that.
class Current {
public:
    explicit Current(CUcontext context) {
        changed_ = g_driver.cuCtxGetCurrent(&before_) == CUDA_SUCCESS && before_ != context &&
                   g_driver.cuCtxSetCurrent(context) == CUDA_SUCCESS;
    }
    ~Current() {
        if (changed_) g_driver.cuCtxSetCurrent(before_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

private:
    CUcontext before_ = nullptr;
    bool changed_ = false;
};

}  // namespace

bool elapsed(const Mark& from, const Mark& to, std::int64_t& ns) {
    float milliseconds = 0;
    if (g_driver.cuEventElapsedTime(&milliseconds, from.event, to.event) != CUDA_SUCCESS)
        return false;
    ns = static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
    return true;
}

Mark* Meter::take_mark(CUcontext context) {
    Mark** at = &spare_;
    for (unsigned i = 0; *at != nullptr && i < 8; ++i, at = &(*at)->next) {
        const bool is_bare = (*at)->context == nullptr;
        if (!is_bare && (*at)->context != context) continue;
        Mark* found = *at;
        if (is_bare && g_driver.cuEventCreate(&found->event, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
            return nullptr;
        found->context = context;
        *at = found->next;
        return found;
    }
    if (marks_ == kMarks) return nullptr;
    CUevent event = nullptr;
    if (g_driver.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return nullptr;
    Mark* made = &storage_->marks[marks_++];
    made->event = event;
    made->context = context;
    return made;
}

void Meter::release(Mark*& mark) {
    Mark* it = mark;
    mark = nullptr;
    if (it == nullptr || --it->uses != 0) return;
    it->next = spare_;
    spare_ = it;
}

/// A mark in the lane's stream, here; used once.
Mark* Meter::record(Lane& lane) {
    if (g_captures.load(std::memory_order_relaxed) != 0 &&
        is_capturing(lane.stream, lane.per_thread))
        return nullptr;
    const Current current(lane.context);
    Mark* mark = take_mark(lane.context);
    if (mark == nullptr) {
        g_ledger.remark(place_, abi::kRemarkNoTiming);
        return nullptr;
    }
    mark->uses = 1;
    mark->done = false;
    mark->at_ns = 0;
    mark->recorded_ns = kernel::now_ns();
    const CUresult result = lane.per_thread ? g_driver.cuEventRecord_ptsz(mark->event, lane.stream)
                                            : g_driver.cuEventRecord(mark->event, lane.stream);
    if (result == CUDA_SUCCESS) return mark;
    release(mark);
    return nullptr;
}

bool Meter::is_done(Mark& mark) {
    if (!mark.done) mark.done = g_driver.cuEventQuery(mark.event) != CUDA_ERROR_NOT_READY;
    return mark.done;
}

/// Finds out when the device passed a mark, which it has.
void Meter::locate(Mark& mark) {
    if (mark.at_ns != 0) return;
    std::int64_t ns = 0;
    if (anchor_ != nullptr && anchor_->context == mark.context && elapsed(*anchor_, mark, ns))
        mark.at_ns = anchor_->at_ns + static_cast<std::uint64_t>(ns);
    else
        mark.at_ns = mark.recorded_ns;
}

/// When a segment began: the call that launched it takes effect in its middle, as far as anybody can
/// tell.
std::uint64_t Meter::begin_of(const Segment& segment) const {
    const std::uint64_t at = segment.start->at_ns;
    const std::uint64_t called = segment.called_ns;
    if (called == 0) return at;
    if (!segment.follows) return most(at, called + call_ns_ / 2);
    // The driver had not told yet that the work before was done. Clocks drift apart, so that it is
    // believed to have been done long before only as long as they were compared of late.
    const bool is_compared = anchor_ != nullptr && called - least(called, anchor_->at_ns) < kFresh;
    return is_compared && called > at + kDriftNs ? called + call_ns_ / 2 : at;
}

/// When a segment ended. A lane that was idle when its end was marked, which may be long after its last
/// launch where other lanes have work too, has been so since about as long as one launch takes after
/// that, or as all of them take one after the other.
std::uint64_t Meter::end_of(const Segment& segment, const Batch& whole) const {
    const std::uint64_t at = segment.end->at_ns;
    const bool is_told = whole.several && whole.closing_ns != 0;
    if (!was_idle(segment) || !(is_told || segment.late) || alone_ns_ == 0) return at;
    if (segment.late) return least(at, begin_of(segment) + segment.launches * alone_ns_);
    const bool is_known = !whole.many && segment.made_ns != 0;
    const std::uint64_t after_last = (is_known ? segment.made_ns : whole.closing_ns) + alone_ns_;
    const std::uint64_t in_a_row =
        begin_of(segment) + (is_known ? segment.launches : 1) * alone_ns_;
    return least(at, most(after_last, in_a_row));
}

/// How much of a segment other processes of this container have paid for.
std::uint64_t Meter::shared_of(const Segment& segment, std::uint64_t begin, std::uint64_t end) {
    // Not a pause before a mark that came late: others may have run then.
    if (was_idle(segment) && alone_ns_ != 0)
        end = most(begin, least(end, begin + segment.launches * alone_ns_));
    return end - begin - BusyRun(g_ledger.totals(place_).busy_run).add(begin, end);
}

void Meter::settle(Segment& segment) {
    std::int64_t ns = 0;
    Batch& whole = batch(segment.batch);
    locate(*segment.start);
    if (!elapsed(*segment.start, *segment.end, ns)) {
        g_ledger.remark(place_, abi::kRemarkNoTiming);
    } else if (ns > 0) {
        segment.end->at_ns = segment.start->at_ns + static_cast<std::uint64_t>(ns);
        const std::uint64_t begin = begin_of(segment);
        const std::uint64_t end = end_of(segment, whole);
        whole.idle = whole.idle || was_idle(segment);
        const std::uint64_t fresh = busy_.add(begin, end);
        whole.busy_ns += fresh;
        whole.shared_ns += fresh - least(fresh, end - begin - shared_of(segment, begin, end));
        if (end > begin) whole.longest_ns = most(whole.longest_ns, end - begin);
    }
    release(segment.start);
    release(segment.end);
    segment.settled = true;
    --whole.segments;
    if (whole.closed && whole.segments == 0) finish(whole);
}

void Meter::drop(Lane& lane) {
    end_lane(lane);
    harvest();
    release(lane.start);
    release(lane.last);
}

void Meter::drop(CUcontext context) {
    if (storage_ == nullptr) return;
    harvest();
    for (unsigned i = head_; i != tail_; ++i) {
        Segment& segment = storage_->segments[i % kSegments];
        if (segment.settled || segment.start->context != context) continue;
        segment.settled = true;
        release(segment.start);
        release(segment.end);
        Batch& whole = batch(segment.batch);
        --whole.segments;
        if (whole.closed && whole.segments == 0) finish(whole);
    }
    if (anchor_ != nullptr && anchor_->context == context) release(anchor_);
    // The context takes its events with it.
    for (Mark* mark = spare_; mark != nullptr; mark = mark->next)
        if (mark->context == context) mark->context = nullptr;
}

void Meter::forget() {
    lock.forget();
    if (storage_ != nullptr) kernel::unmap(storage_, sizeof(Storage));
    storage_ = nullptr;
    head_ = tail_ = touched_ = first_batch_ = last_batch_ = marks_ = 0;
    open_ = false;
    expected_ns_ = each_ns_ = alone_ns_ = interval_ns_ = call_ns_ = made_ns_ = left_ns_ = 0;
    limit_ = full_limit_ = 0;
    anchor_ = spare_ = nullptr;
    busy_.clear();
    epoch.fetch_add(1);
}

}  // namespace aliquot::guard
