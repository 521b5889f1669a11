// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace aliquot::guard_region {

/// Which contexts are alike.
struct ContextKind {
    std::string model;           // "NVIDIA A2"
    std::string driver_version;  // "580.65.06"
    friend auto operator<=>(const ContextKind&, const ContextKind&) = default;
};

/// How much a new context takes before the driver says it: the largest that was seen, of each model
/// and driver. A tenant could pretend to need much, so what is learned has bounds. Not thread-safe.
class ContextEstimates {
public:
    using Moment = std::chrono::steady_clock::time_point;

    /// A figure of a process with one context. Only those of its first two seconds count: later
    /// ones hold the kernels that it has loaded.
    /// process   names it for as long as it lives
    /// returns   whether something was learned
    bool note(const ContextKind& kind, unsigned multiprocessors, const std::string& process,
              std::uint64_t overhead_bytes, Moment now);

    [[nodiscard]] std::uint64_t estimate(const ContextKind& kind, unsigned multiprocessors) const;

    /// What was learned, one line each, and back. Lines that make no sense are left out.
    [[nodiscard]] std::string to_text() const;
    void read(std::string_view text);

private:
    std::map<ContextKind, std::uint64_t> learned_;
    std::map<std::string, Moment> first_seen_;
};

/// Before anything was learned: 400 MiB, from 100 multiprocessors on 600 MiB.
std::uint64_t first_estimate(unsigned multiprocessors);

/// How many multiprocessors so many CUDA cores are; 0: not known.
unsigned multiprocessors_of(unsigned cuda_cores, unsigned compute_major, unsigned compute_minor);

}  // namespace aliquot::guard_region
