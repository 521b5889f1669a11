// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace aliquot::telemetry {

/// What a container's guard has counted beside what the driver says of its processes. The guard's
/// figure is the finer one and is kept, unless over the last samples (some 16, the newest weigh most)
/// the driver saw clearly more: work that went by the guard, or a ledger that the container wrote into.
/// Less says nothing: clients of an MPS server show as the server's. Not thread-safe.
class GuardCheck {
public:
    /// One sample: nanoseconds of `span_ns` by the one and by the other.
    void note(std::uint64_t guard_ns, std::uint64_t driver_ns, std::uint64_t span_ns);
    /// The driver saw over a quarter more, and over 2 % of the time, the grain of its figures.
    [[nodiscard]] bool is_missing_work() const;

private:
    static constexpr double kKept = 15.0 / 16;
    double guard_ns_ = 0;
    double driver_ns_ = 0;
    double span_ns_ = 0;
    unsigned samples_ = 0;
};

}  // namespace aliquot::telemetry
