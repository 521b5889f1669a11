// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace aliquot::guardkit {

/// How long a thread of this machine takes to run after another one has woken it, now; microseconds.
struct WakeTimes {
    double p50_us = 0;
    double p90_us = 0;
    double p99_us = 0;
};

/// Two threads that hand over by a futex, with nothing else to do: what is lost by any hand-over between
/// threads on this machine. Takes some 0.4 s.
WakeTimes measure_wakes();

/// "p50 12, p90 80, p99 400 us"
std::string to_text(const WakeTimes& wakes);

}  // namespace aliquot::guardkit
