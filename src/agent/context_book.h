// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "agent/observer.h"
#include "guard_region/estimates.h"
#include "guard_region/meter.h"
#include "guard_region/record.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::agent {

/// How much a context takes on each model of GPU, as the containers of this node have shown; kept
/// over restarts of the agent. Thread-safe.
class ContextBook {
public:
    /// Reads what was kept.
    /// file   host path
    /// root, observations   must outlive this
    ContextBook(const os::Root& root, std::string file, const Latest<Observation>& observations);

    /// What a context on this GPU or MIG device is assumed to take.
    [[nodiscard]] std::uint64_t bytes(const std::string& uuid) const;

    /// Learns from a look at a region.
    void learn(const guard_region::Record& record, const guard_region::Reading& reading,
               os::TimePoint now);

private:
    const os::Root& root_;
    std::string file_;
    const Latest<Observation>& observations_;
    mutable std::mutex mutex_;
    guard_region::ContextEstimates estimates_;
};

}  // namespace aliquot::agent
