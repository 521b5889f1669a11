// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "abi/cuda.h"
#include "guard/simulated_time.h"

/// A GPU in simulated time, behind g_driver, for tests of shares: streams that run at the same time
/// as far as the device is wide, default streams, events with times.
namespace aliquot::guard::simulated {

/// Where the entry points of launches were sent last: route_launches().
extern bool g_launches_pass;

/// What calls of the driver cost the thread that makes them.
struct DriverCosts {
    std::uint64_t launch_ns = 2'000;
    std::uint64_t event_ns = 700;
    std::uint64_t query_ns = 300;
    std::uint64_t wait_ns = 1'000;
    std::uint64_t until_seen_ns = 6'000;  // from the end of work until a thread that waits goes on
    std::uint64_t event_late_ns =
        0;  // from the time of an event until the driver tells it, at most
};

class Gpu {
public:
    /// slots   pieces of work that it does at the same time
    Gpu(unsigned slots, const DriverCosts& costs) : costs_(costs), free_ns_(slots, 0) {}

    /// A stream of the one context; it waits for the default stream and that for it.
    CUstream make_stream(bool blocking);
    /// Calls of a program, as the guard's hooks make them: with the guard, or without.
    void launch(CUstream stream, bool per_thread, std::uint64_t duration_ns, unsigned slots,
                bool guarded);
    /// A function of the host, or a word to wait for, that holds the stream up for so long.
    void hold(CUstream stream, bool per_thread, std::uint64_t duration_ns, bool guarded);
    void wait(CUstream stream, bool per_thread, bool guarded);
    bool ask(CUstream stream, bool guarded);

    /// Time in [from, to) in which at least one piece of work ran, and what all pieces took.
    [[nodiscard]] std::uint64_t busy_ns(std::uint64_t from, std::uint64_t to) const;
    [[nodiscard]] std::uint64_t work_ns(std::uint64_t from, std::uint64_t to) const;

    /// Entry points of the driver.
    CUresult record(CUevent event, CUstream stream, bool per_thread);
    [[nodiscard]] CUresult query(CUevent event) const;
    CUresult elapsed(float* milliseconds, CUevent from, CUevent to) const;
    [[nodiscard]] const DriverCosts& costs() const { return costs_; }

private:
    struct Stream {
        std::uint64_t end_ns = 0;
        bool blocking = true;
    };
    struct Span {
        std::uint64_t begin_ns;
        std::uint64_t end_ns;
    };
    Stream& stream_of(CUstream stream, bool per_thread);
    void submit(Stream& stream, std::uint64_t duration_ns, unsigned slots);
    [[nodiscard]] std::uint64_t end_of(const Stream& stream) const;

    DriverCosts costs_;
    std::vector<std::uint64_t> free_ns_;  // when each slot is
    Stream legacy_;
    std::map<std::uintptr_t, Stream> streams_;  // by handle
    std::map<const void*, Stream> of_threads_;  // per-thread default streams
    std::map<CUevent, std::uint64_t> events_;   // when the device passes them
    std::uintptr_t next_handle_ = 0x1000;
    std::vector<Span> spans_;
};

/// The one that g_driver is: nullptr: none.
void use_gpu(Gpu* gpu);

}  // namespace aliquot::guard::simulated
