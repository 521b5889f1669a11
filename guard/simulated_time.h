// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

/// A clock and threads for tests of what depends on time: the clock stands while a thread computes,
/// and goes on when all wait. One thread runs at a time, the one that is due first, so that a test has
/// the same course on any machine at any load. Times are nanoseconds since the world began.
namespace aliquot::guard::simulated {

/// How a machine differs from one with nothing else to do.
struct Machine {
    std::uint64_t sleep_slack_ns = 55'000;  // a sleep ends so much late
    std::uint64_t wake_ns = 8'000;          // from waking a thread until it runs
    unsigned stalls_ppm = 0;                // of computations, in which the thread loses its core
    std::uint64_t stall_ns = 2'000'000;     // for so long at most
    std::uint64_t slice_ns =
        0;  // computed by a thread between such losses, on average; 0: any time
};

/// Runs `body` as the first thread of a new world; returns when all its threads have ended. Once at a
/// time per process. A world in which all threads wait for ever ends the process with a message.
void run(const Machine& machine, const std::function<void()>& body);
/// Another thread of this world.
void start_thread(std::function<void()> body);

std::uint64_t now();
/// The calling thread computes for so long.
void compute(std::uint64_t ns);
/// It waits for something that happens at that time.
void sleep_until(std::uint64_t time_ns);

}  // namespace aliquot::guard::simulated
