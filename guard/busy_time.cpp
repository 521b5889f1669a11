// SPDX-License-Identifier: Apache-2.0
#include "guard/busy_time.h"

namespace aliquot::guard {
namespace {

// The word of a BusyRun: when it ends, and below that how long it is.
constexpr unsigned kUnitShift = 8;
constexpr unsigned kLengthBits = 24;  // 4.3 s; of longer ones the beginning is forgotten
constexpr std::uint64_t kMostLength = (std::uint64_t{1} << kLengthBits) - 1;
/// A run that begins so much later is of another clock, or of 39 hours ago.
constexpr std::int64_t kOfAnotherTime = std::int64_t{60'000'000'000} >> kUnitShift;

/// From one time of the word to another, over its end after 78 hours.
std::int64_t from_to(std::uint64_t from, std::uint64_t to) {
    return static_cast<std::int64_t>((to - from) << kLengthBits) >> kLengthBits;
}

}  // namespace

std::uint64_t BusyTime::add(std::uint64_t begin, std::uint64_t end) {
    if (end <= begin) return 0;
    std::uint64_t fresh = end - begin;
    unsigned first = 0;
    while (first < count_ && spans_[first].end < begin) ++first;
    unsigned last = first;  // one behind those that it touches
    Span whole = {begin, end};
    for (; last < count_ && spans_[last].begin <= end; ++last) {
        const Span& there = spans_[last];
        const std::uint64_t from = there.begin > begin ? there.begin : begin;
        const std::uint64_t to = there.end < end ? there.end : end;
        fresh -= to - from;
        if (there.begin < whole.begin) whole.begin = there.begin;
        if (there.end > whole.end) whole.end = there.end;
    }
    if (first == last) {
        if (count_ == kMost) {
            spans_[1].begin = spans_[0].begin;
            for (unsigned i = 1; i < count_; ++i) spans_[i - 1] = spans_[i];
            --count_;
            if (first <= 1) {
                // It is older than the two, or between them: part of what they are now.
                if (begin < spans_[0].begin) spans_[0].begin = begin;
                return fresh;
            }
            --first;
        }
        for (unsigned i = count_; i > first; --i) spans_[i] = spans_[i - 1];
        spans_[first] = whole;
        ++count_;
        return fresh;
    }
    spans_[first] = whole;
    const unsigned gone = last - first - 1;
    for (unsigned i = first + 1; i + gone < count_; ++i) spans_[i] = spans_[i + gone];
    count_ -= gone;
    return fresh;
}

void BusyTime::forget_before(std::uint64_t time) {
    unsigned gone = 0;
    while (gone < count_ && spans_[gone].end < time) ++gone;
    for (unsigned i = gone; i < count_; ++i) spans_[i - gone] = spans_[i];
    count_ -= gone;
}

std::uint64_t BusyRun::add(std::uint64_t begin, std::uint64_t end) {
    if (end <= begin) return 0;
    const std::uint64_t first = begin >> kUnitShift;
    const std::uint64_t last = end >> kUnitShift;
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    std::uint64_t changed = 0;
    std::uint64_t before = 0;
    do {
        std::uint64_t run_end = word >> kLengthBits;
        std::uint64_t run_begin = run_end - (word & kMostLength);
        before = 0;
        const std::int64_t earlier = from_to(last, run_begin);
        if (word == 0 || from_to(run_end, first) > 0 || earlier > kOfAnotherTime) {
            run_begin = first;
            run_end = last;
        } else if (earlier > 0) {
            return end - begin;
        } else {
            const std::uint64_t from = from_to(first, run_begin) > 0 ? run_begin : first;
            const std::uint64_t to = from_to(last, run_end) < 0 ? run_end : last;
            before = static_cast<std::uint64_t>(from_to(from, to)) << kUnitShift;
            if (from == run_begin) run_begin = first;
            if (to == run_end) run_end = last;
        }
        const std::int64_t length = from_to(run_begin, run_end);
        changed = run_end << kLengthBits | (static_cast<std::uint64_t>(length) < kMostLength
                                                ? static_cast<std::uint64_t>(length)
                                                : kMostLength);
    } while (!word_.compare_exchange_weak(word, changed, std::memory_order_relaxed));
    return end - begin - (before < end - begin ? before : end - begin);
}

}  // namespace aliquot::guard
