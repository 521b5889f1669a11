// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "os/spawner.h"
#include "sim/cluster/environment.h"

namespace aliquot::sim::cluster {

/// The node's agent as a child process, started again when it ends. Not thread-safe.
class AgentRun {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    AgentRun(std::vector<std::string> argv, Environment environment, std::filesystem::path log);

    /// errors   kNotFound: the program is not there
    Result<Done> start();

    /// Looks after it. It is started again after 0.25 s, doubling; after `kMaxRestarts` in a row
    /// (a run of ten seconds starts the count anew) it stays away.
    /// errors   kUnavailable: it stays away; the message has its last words
    Result<Done> tick(TimePoint now);

    /// SIGTERM, so that it removes its CDI file and sockets.
    void stop();

    [[nodiscard]] unsigned restarts() const { return restarts_; }
    [[nodiscard]] pid_t pid() const { return process_ ? process_->pid() : -1; }

private:
    std::vector<std::string> argv_;
    Environment environment_;
    std::filesystem::path log_;
    std::optional<os::Process> process_;
    unsigned restarts_ = 0;
    unsigned failures_ = 0;  // in a row
    TimePoint started_;
    TimePoint next_start_;
    int exit_code_ = 0;
};

/// The last lines of a log, joined: what a failed program said. At most `lines`.
std::string last_words(const std::filesystem::path& log, unsigned lines);

}  // namespace aliquot::sim::cluster
