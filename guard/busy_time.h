// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace aliquot::guard {

/// Time in which a device was busy: the union of intervals, so that work of several streams that runs
/// at once counts once. Intervals come in any order. Not thread-safe.
class BusyTime {
public:
    /// Nanoseconds of [begin, end) that were not in it before.
    std::uint64_t add(std::uint64_t begin, std::uint64_t end);
    /// No interval that begins earlier will come any more.
    void forget_before(std::uint64_t time);
    void clear() { count_ = 0; }

private:
    struct Span {
        std::uint64_t begin;
        std::uint64_t end;
    };
    /// With more, the two oldest become one: what lay between them is not counted any more.
    static constexpr unsigned kMost = 64;

    Span spans_[kMost] = {};  // apart from each other, ascending
    unsigned count_ = 0;
};

}  // namespace aliquot::guard
