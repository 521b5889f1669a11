// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "page/table.h"

namespace aliquot::page {

using Moment = std::chrono::system_clock::time_point;

/// The newest State and the steps that led to it, as texts that all viewers share. Thread-safe.
class Feed {
public:
    static constexpr std::size_t kMostSteps = 64;
    static constexpr std::size_t kMostStepBytes = std::size_t{2} << 20U;  // of all that are kept

    using Shared = std::shared_ptr<const std::string>;
    struct Text {
        std::uint64_t version = 0;  // 0: nothing was published yet, and json is null
        Shared json;
    };

    /// epoch   tells this feed from one that was before it under the same address
    explicit Feed(std::string epoch) : epoch_(std::move(epoch)) {}

    [[nodiscard]] const std::string& epoch() const { return epoch_; }

    /// state   settled (settle())
    void publish(State state, Moment at);

    /// {"epoch","version","at" (ms since 1970),"about":{},"tables":{}}
    [[nodiscard]] Text snapshot() const;

    /// What leads from a version to the newest one: {"version","at","steps":[{"about","tables":{"gpus":
    /// {"set":[cells by column],"gone":[keys]}}}]}. json is null where that is not known any more: take the snapshot.
    [[nodiscard]] Text changes(std::uint64_t since) const;

    /// Waits for a version above `seen`, at most that long; the newest version.
    std::uint64_t wait_newer(std::uint64_t seen, std::chrono::milliseconds timeout) const;

private:
    struct Step {
        std::uint64_t version = 0;
        Shared json;  // one of "steps"
    };
    std::string changes_json(std::uint64_t since) const;

    const std::string epoch_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    State state_;
    std::uint64_t version_ = 0;
    Moment at_;
    std::deque<Step> steps_;  // oldest first; each leads to its version
    std::size_t step_bytes_ = 0;
    mutable Shared snapshot_;  // of version_, once somebody has asked
    mutable Shared last_;      // changes(version_ - 1), likewise
};

}  // namespace aliquot::page
