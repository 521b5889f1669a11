// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <thread>

#include "guard_region/runs.h"

namespace aliquot::turns {

/// The turns of all `aliquot run` of one user, where no agent keeps them: each of these processes has
/// one of these objects, and whoever gets the lock among them keeps turns for all. When it ends, however,
/// another one takes over within a few kBetweenLooks.
class SharedKeeper {
public:
    static constexpr std::chrono::milliseconds kBetweenLooks{100};

    explicit SharedKeeper(guard_region::Runs runs);
    ~SharedKeeper() = default;  // stops
    SharedKeeper(const SharedKeeper&) = delete;
    SharedKeeper& operator=(const SharedKeeper&) = delete;

    /// Waits until somebody listens at a run's socket, for so long at most. Whether one does.
    static bool wait_for(const std::filesystem::path& socket, std::chrono::milliseconds limit);

private:
    void run(const std::stop_token& stop) const;
    void keep(const std::stop_token& stop) const;

    guard_region::Runs runs_;
    std::jthread thread_;
};

}  // namespace aliquot::turns
