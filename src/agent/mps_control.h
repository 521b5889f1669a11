// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/settings.h"
#include "base/result.h"
#include "gpu/compute_mode.h"
#include "gpu/hardware.h"
#include "mps/supervisor.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// Between what is offered and the MPS control daemons that an offer needs. Used by the reconcile
/// loop alone.
class MpsControl {
public:
    struct Options {
        std::string journal;  // host path
        /// Whether this process may change the compute mode and become other users; false: it gave
        /// that up at its start, so MPS cannot be turned on before a restart.
        bool allowed = true;
        std::chrono::milliseconds probe_interval{3000};
    };

    /// The references must outlive this. Takes up what an earlier agent has left.
    MpsControl(const os::Root& root, gpu::Sensors& sensors, gpu::ComputeModes& modes,
               const Settings& settings, Options options);

    /// Why these settings cannot be served now; empty: they can.
    [[nodiscard]] std::optional<Error> objection(const Settings& settings);

    /// Makes the daemons of `offer` run and all others end; a GPU whose daemon does not serve, or
    /// has not ended yet, becomes unhealthy in the offer.
    void apply(sharing::Offer& offer);

    /// Tells grants where the daemons are.
    void complete(sharing::GrantOptions& grant) const;

    [[nodiscard]] std::vector<mps::Status> statuses() const { return supervisor_->statuses(); }
    [[nodiscard]] std::uint64_t version() const { return supervisor_->version() + generation_; }
    [[nodiscard]] bool idle() const { return supervisor_->idle(); }

private:
    [[nodiscard]] std::unique_ptr<mps::Supervisor> make_supervisor(const Settings& settings) const;
    const os::Root& root_;
    gpu::Sensors& sensors_;
    gpu::ComputeModes& modes_;
    Options options_;
    std::unique_ptr<mps::Supervisor> supervisor_;
    std::uint64_t generation_ = 0;  // added for each supervisor before this one
};

/// The daemons that an offer needs. Pure.
std::vector<mps::DaemonSpec> mps_daemons(const sharing::Offer& offer);

/// Makes a GPU unhealthy whose daemon does not serve. Pure.
void note_mps(gpu::Gpu& gpu, std::span<const mps::Status> statuses);

/// Host path of flags.mpsRoot, or its default.
std::string mps_root_of(const Settings& settings);

/// The file that tells what an agent with this state directory has changed for MPS.
std::string mps_journal_path(const std::string& state_directory);

}  // namespace aliquot::agent
