// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gate/judge.h"
#include "os/clock.h"

namespace aliquot::gate {

struct WatchOptions {
    std::chrono::milliseconds idle_pause{
        30'000};  // a free GPU that was clean is looked at so often
    std::chrono::milliseconds dirty_pause{10'000};  // one that was not
};

/// Which GPUs of a node are to be gated now, as jobs come and go. Pure; not thread-safe.
///
/// A GPU that a job has is left alone. One whose job has ended is gated at once, against what it was when it was last
/// found clean; one that is dirty again and again until it is clean.
class Watch {
public:
    explicit Watch(WatchOptions options = {}) : options_(options) {}

    /// gpus   uuids of all GPUs
    /// held   of them, those that somebody has or may have
    std::vector<std::string> due(const std::vector<std::string>& gpus,
                                 const std::set<std::string>& held, os::TimePoint now);
    /// What a GPU was when it was last found clean, for judge(); empty: it never was.
    [[nodiscard]] NodeState base_of(const std::vector<std::string>& gpus) const;
    /// What came of a gate on `gpus`.
    void note(const std::vector<std::string>& gpus, const NodeState& state,
              const std::vector<Leftover>& leftovers, os::TimePoint now);

    /// Of all GPUs together, in the order of their numbers.
    [[nodiscard]] std::vector<Leftover> leftovers() const;

private:
    struct Gpu {
        bool was_held = true;  // nobody knows what was before us
        std::optional<os::TimePoint> looked;
        std::optional<GpuState> clean;
        std::vector<Leftover> leftovers;
    };
    const WatchOptions options_;
    std::map<std::string, Gpu> gpus_;
};

}  // namespace aliquot::gate
