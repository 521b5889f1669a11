// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "agent/guard_snapshot.h"

namespace aliquot::agent {

/// The last things that went wrong with limits, and their lines in the log. Thread-safe.
class GuardEvents {
public:
    static constexpr std::size_t kMost = 64;

    /// Logs it with the time of now; of more than kMost the oldest is forgotten.
    void note(GuardEvent event);

    /// Oldest first.
    [[nodiscard]] std::vector<GuardEvent> list() const;

private:
    mutable std::mutex mutex_;
    std::deque<GuardEvent> events_;
};

}  // namespace aliquot::agent
