// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/result.h"
#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "mps/control.h"
#include "mps/directories.h"
#include "mps/journal_file.h"
#include "mps/status.h"
#include "mps/wake.h"
#include "os/root.h"
#include "os/spawner.h"

namespace aliquot::mps {

struct DaemonOptions {
    std::string mps_root{kDefaultRoot};              // host path
    std::vector<std::string> driver_roots{"/"};      // host paths, best first
    std::chrono::milliseconds probe_interval{3000};  // between questions to a daemon
    std::chrono::milliseconds ready_limit{10'000};   // for a new daemon to answer
    std::chrono::milliseconds answer_limit{3000};    // for each answer later
    std::chrono::milliseconds recheck{1000};         // while processes are waited for
    std::chrono::milliseconds first_pause{200};      // after a failed start; doubles
    std::chrono::milliseconds longest_pause{30'000};
    std::chrono::milliseconds good_run{10'000};  // after it the first pause is short again
    std::chrono::milliseconds end_limit{5000};   // for a daemon to end by itself
};

/// What all daemons of a machine have in common. The references must outlive them.
struct Surroundings {
    const os::Root& root;
    gpu::Sensors& sensors;
    gpu::ComputeModes& modes;
    JournalFile& journal;
    DaemonOptions options;
    std::function<void()> changed;  // some status() is another one now; any thread
};

/// The MPS control daemon of one GPU: started, watched, started again, and undone when it is not
/// wanted any more, on a thread of its own, so that no GPU waits for another one.
///
/// It runs in the foreground of a process group of its own, outlives this process and is adopted by
/// the next. It only ever sees its own GPU (CUDA_VISIBLE_DEVICES).
/// Thread-safe.
class ControlDaemon {
public:
    /// limits   empty: not wanted; only what the journal tells of is undone
    ControlDaemon(const Surroundings& surroundings, gpu::Uuid gpu, std::optional<Limits> limits);
    /// Leaves a daemon that has clients running; ends an idle one and restores the compute mode.
    ~ControlDaemon();
    ControlDaemon(const ControlDaemon&) = delete;
    ControlDaemon& operator=(const ControlDaemon&) = delete;

    void serve(const Limits& limits);
    /// Takes it down as soon as it has no clients.
    void end();
    /// It has been taken down and everything is as it was before.
    [[nodiscard]] bool finished() const { return finished_; }
    [[nodiscard]] Status status() const;
    void terminate(std::uint32_t client);

    /// Begins to stop without waiting, so that many can stop at once.
    void ask_to_leave();

private:
    using Clock = std::chrono::steady_clock;

    void run(const std::stop_token& stop);
    Result<Done> bring_up(const std::stop_token& stop);
    Result<Done> start(const std::stop_token& stop);
    Result<Done> spawn(const Directories& directories);
    Result<Done> wait_ready(const std::stop_token& stop);
    Result<Done> make_exclusive();
    Result<Done> restore_mode();
    Result<Done> clear_leftovers();
    Result<Done> check_no_strangers();
    Result<Done> apply_limits(const Limits& limits);
    Result<Done> apply_memory_limit(std::uint64_t bytes);
    bool adopt();
    void take(const ProcessId& id);
    void watch(const std::stop_token& stop);
    Result<Done> look();
    bool wind_down();
    void leave();
    void stop_daemon();
    void forget_daemon();
    void note_end();
    void pause_after(const Error& problem);

    Result<Done> make_control();
    [[nodiscard]] bool runs() const { return daemon_.pid > 0 && is_alive(daemon_); }
    [[nodiscard]] std::vector<std::uint32_t> computing() const;
    static std::string names_of(const std::vector<std::uint32_t>& pids);
    [[nodiscard]] std::string last_words() const;
    [[nodiscard]] std::optional<Limits> wanted() const;
    void publish(Phase phase, std::string reason);

    const Surroundings& around_;
    const gpu::Uuid gpu_;
    const Directories directories_;
    std::atomic<bool> finished_{false};
    mutable std::mutex mutex_;  // guards the next three
    std::optional<Limits> wanted_;
    Status status_;
    std::vector<std::uint32_t> to_terminate_;
    Wake wake_;

    // Of the thread alone.
    std::optional<Control> control_;
    std::optional<os::Process> child_;  // empty: adopted, or none runs
    ProcessId daemon_;                  // pid 0: none is known
    pid_t group_ = 0;                   // of the last daemon, also after its end
    std::vector<ProcessId> servers_;    // that were seen last
    std::optional<Limits> applied_;
    unsigned failures_ = 0;  // in a row
    bool had_one_ = false;
    bool private_shm_ = true;
    Clock::time_point serving_since_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace aliquot::mps
