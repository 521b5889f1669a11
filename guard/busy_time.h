// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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

/// The same for the processes of a container, in one word that they share: the last time in which the
/// device was busy with any of them without a pause, in units of 256 ns. What it began before the last
/// pause is not known any more and counts for each. Thread-safe; the word is 0 at first.
class BusyRun {
public:
    explicit BusyRun(std::atomic<std::uint64_t>& word) : word_(word) {}
    /// Nanoseconds of [begin, end) that are not known to have been in it before.
    std::uint64_t add(std::uint64_t begin, std::uint64_t end);

private:
    std::atomic<std::uint64_t>& word_;
};

}  // namespace aliquot::guard
