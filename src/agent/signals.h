// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t is POSIX

#include <atomic>
#include <stop_token>
#include <thread>

namespace aliquot::agent {

/// Waits for signals on a thread of its own. Must be made before any other thread, which then have
/// the signals blocked.
class Signals {
public:
    Signals();

    /// Requested by SIGTERM and SIGINT.
    [[nodiscard]] std::stop_token stop() const { return ended_.get_token(); }
    /// True once per SIGHUP (several in a row count as one).
    bool take_reload() { return reload_.exchange(false); }

private:
    void wait(const std::stop_token& stop);

    sigset_t set_{};
    std::stop_source ended_;
    std::atomic<bool> reload_{false};
    std::jthread thread_;
};

}  // namespace aliquot::agent
