// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "telemetry/occupants.h"

namespace aliquot::telemetry {

/// Who has left a part of a GPU between two looks. A driver tells the GPU time of processes that
/// run; what one has used between the last look at it and its end it tells of the GPU only. That
/// time is whose processes left, or, when none did, whose container came and was never seen to run
/// anything: a container that lives a second or two would else lose a good part of its time.
/// Not thread-safe.
class Departures {
public:
    /// Gives the occupants of those a left_weight; adds occupants for containers that hold nothing any
    /// more; marks those that may have run unseen. To be called once for each look, in order.
    void note(Occupants& occupants);

private:
    struct Runner {
        pods::Owner owner;  // empty: of the host
        std::string resource;
        std::uint64_t use_ns = 0;  // in the look before
    };
    struct Quiet {
        pods::Owner owner;
        std::string resource;
        unsigned looks = 0;  // at which it held the part and ran nothing
        bool ran = false;    // ever since it holds the part
        bool seen = false;
    };
    void note_left(Occupants& occupants);
    void note_quiet(Occupants& occupants);
    void remember(const Occupants& occupants);

    std::map<std::uint32_t, Runner> runners_;  // by pid, at the look before
    std::vector<Runner> left_;                 // at the look before
    std::vector<Quiet> holders_;
};

}  // namespace aliquot::telemetry
