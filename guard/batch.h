// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace aliquot::guard {

inline std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }
inline std::uint64_t most(std::uint64_t a, std::uint64_t b) { return a > b ? a : b; }

/// Of what a batch takes, its calls may take so much without a pause of the device to think of.
constexpr std::uint64_t kHiddenPart = 16;

/// Launches of this process on one device that are paid for together.
struct Batch {
    std::uint32_t launches;
    std::uint32_t segments;  // not settled yet
    bool several;            // work of late was in several lanes, in this batch or beside it
    bool capped;             // it is paid for
    bool whole;              // no idle time of the device is in it, however long its calls took
    bool many;               // more than one launch was drawn at once
    bool idle;               // one of its lanes was, when its end was marked
    bool held;               // some of it waits for something that is no work
    bool closed;
    bool finished;
    std::uint64_t opened_ns;
    std::uint64_t closing_ns;  // its end is being marked in its lanes
    std::uint64_t closed_ns;   // and has been
    std::uint64_t
        marking_ns;  // when its beginning was being marked where the device was idle; 0: it
    std::uint64_t marked_ns;    // was not; and had been
    std::uint64_t let_in_ns;    // its first launch could be made
    std::uint64_t made_ns;      // and had been made; 0: not known
    std::uint64_t expected_ns;  // reserved for it
    std::uint64_t busy_ns;      // of what is settled: the time in which one of its lanes ran
    std::uint64_t shared_ns;    // of that, another process of the container has paid for
    std::uint64_t longest_ns;   // of its segments
};

/// What a batch has taken at least and at most, by what is known of it.
struct Cost {
    std::uint64_t least_ns;
    std::uint64_t most_ns;
};
/// alone_ns   what one launch takes of late; 0: not known
Cost cost_of(const Batch& done, std::uint64_t alone_ns);

}  // namespace aliquot::guard
