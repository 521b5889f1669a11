// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "queue/queue.h"

namespace aliquot::queue {

/// How forecast waits came true, and what that says of the latest start of the next: the upper bound of real by foreseen,
/// of jobs of about the same size and wait.
class Calibration {
public:
    static constexpr std::size_t kKept = 200;
    static constexpr std::size_t kFewest = 20;

    void learn(std::int64_t milli, Time foreseen, Time real);
    /// Whether a late start that was promised has held. A broken one is to be said when its time is over, not when the job
    /// starts at last: in a queue that grows that is much later.
    void judge(std::int64_t milli, bool held);
    /// Whether enough waits have come true to say anything.
    [[nodiscard]] bool knows() const { return all_.ring.size() >= kFewest; }
    /// Of a wait that the plan says: what nine of ten do not exceed.
    [[nodiscard]] Time late(std::int64_t milli, Time foreseen) const;

private:
    struct Group {
        std::vector<double> ring;
        std::size_t oldest = 0;
        mutable std::vector<double> sorted;  // empty: to be made
    };
    static std::size_t size_of(std::int64_t milli);
    static std::size_t length_of(Time foreseen);
    static constexpr std::size_t kSizes = 3;
    static constexpr std::size_t kLengths = 12;
    [[nodiscard]] const std::vector<double>* sorted(const Group& group) const;

    /// By how much late starts are put off beyond what was seen, as a logarithm: up with each broken promise, down with
    /// each that held, so that in the long run nine of ten hold, whatever the waits do.
    /// source   Gibbs, Candes: Adaptive Conformal Inference Under Distribution Shift (2021)
    static constexpr double kStep = 0.1;
    static constexpr double kMostStretch = 6;
    /// At first: what is learnt first comes from jobs that started soon, and a queue that grows breaks the others' promises
    /// long before it says so. Chosen on the seed 1 traces of docs/performance.md.
    static constexpr double kFirstStretch = 1.2;
    std::array<double, kSizes> stretch_{kFirstStretch, kFirstStretch, kFirstStretch};
    std::array<std::array<Group, kLengths>, kSizes> groups_;
    std::array<Group, kSizes> by_size_;
    Group all_;
};

}  // namespace aliquot::queue
