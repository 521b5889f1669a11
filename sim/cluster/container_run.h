// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "os/spawner.h"
#include "sim/cluster/environment.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

using TimePoint = std::chrono::steady_clock::time_point;

/// How to run one container as a local process.
struct ContainerPlan {
    std::string name;
    std::vector<std::string> argv;  // empty: nothing is run, the container waits
    Environment environment;
    std::string working_directory;
    std::string log_path;
};

/// The process of one container over its restarts. Not thread-safe.
class ContainerRun {
public:
    enum class State : std::uint8_t {
        kWaiting,  // not started yet
        kRunning,
        kBackOff,  // ended, will be started again
        kEnded,
    };

    explicit ContainerRun(ContainerPlan plan) : plan_(std::move(plan)) {}

    /// Starts it, looks after it, starts it again as `policy` says. A back-off begins at one second
    /// and doubles to 30; a run of a minute makes it short again.
    void tick(RestartPolicy policy, TimePoint now);

    void signal(int number);
    /// SIGTERM, after `grace` SIGKILL; it is not started again.
    void stop(std::chrono::milliseconds grace);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] int exit_code() const { return exit_code_; }  // of the last end
    [[nodiscard]] unsigned restarts() const { return restarts_; }
    [[nodiscard]] bool is_pause() const { return plan_.argv.empty(); }
    [[nodiscard]] pid_t pid() const { return process_ ? process_->pid() : 0; }  // 0: none runs
    [[nodiscard]] const ContainerPlan& plan() const { return plan_; }
    /// "exit code 127", "killed by signal 9", "no program 'x' on this machine".
    [[nodiscard]] const std::string& ending() const { return ending_; }
    [[nodiscard]] TimePoint changed() const { return changed_; }

private:
    void start(TimePoint now);
    void note_end(const os::Exit& exit);
    void after_end(RestartPolicy policy, TimePoint now);
    void enter(State state, TimePoint now);

    ContainerPlan plan_;
    State state_ = State::kWaiting;
    std::optional<os::Process> process_;
    int exit_code_ = 0;
    std::string ending_;
    unsigned restarts_ = 0;
    std::chrono::milliseconds back_off_{0};
    TimePoint started_;
    TimePoint changed_;
    TimePoint next_start_;
};

}  // namespace aliquot::sim::cluster
