// SPDX-License-Identifier: Apache-2.0
#include "guard/busy_time.h"

namespace aliquot::guard {

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

}  // namespace aliquot::guard
