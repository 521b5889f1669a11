// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "mps/control_daemon.h"
#include "mps/journal_file.h"
#include "mps/status.h"

namespace aliquot::mps {

/// All control daemons of a machine: one per GPU that is shared by MPS, so that a fault, a restart
/// or a setting concerns that GPU alone. Has no thread and touches nothing while no GPU is wished
/// for and no earlier run has left anything. Thread-safe.
class Supervisor {
public:
    /// journal   host path
    /// The references must outlive this.
    Supervisor(const os::Root& root, gpu::Sensors& sensors, gpu::ComputeModes& modes,
               std::string journal, DaemonOptions options);
    /// Leaves daemons with clients running, ends the others and undoes what was changed for them.
    ~Supervisor();
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    /// Takes over what an earlier run has left: adopts or undoes it as apply() says later. To be
    /// called once, before apply().
    /// errors   of JournalFile::load(); the supervisor works all the same
    Result<Done> recover();

    /// Which GPUs are shared by MPS from now on, and how. Returns at once.
    void apply(const std::vector<DaemonSpec>& wanted);

    /// By GPU, also those that are being taken down; a GPU without MPS is not in it.
    [[nodiscard]] std::vector<Status> statuses() const;
    /// Grows with each change of statuses().
    [[nodiscard]] std::uint64_t version() const { return version_; }
    /// Whether there is a daemon to look after.
    [[nodiscard]] bool idle() const;
    [[nodiscard]] const std::string& mps_root() const { return around_.options.mps_root; }

    /// Ends the work of one client; what comes of it is seen in statuses() and the log.
    /// errors   kNotFound: no MPS on that GPU, or no such client
    Result<Done> terminate_client(const gpu::Uuid& gpu, std::uint32_t client);

private:
    JournalFile journal_;
    Surroundings around_;
    std::atomic<std::uint64_t> version_{0};
    mutable std::mutex mutex_;  // guards daemons_
    std::map<gpu::Uuid, std::unique_ptr<ControlDaemon>> daemons_;
    std::vector<gpu::Uuid> left_over_;  // from the journal, until the first apply()
};

}  // namespace aliquot::mps
