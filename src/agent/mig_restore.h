// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/deferred_driver.h"
#include "dra/held_devices.h"
#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::agent {

/// Cuts the GPUs again as `aliquot mig apply` left them, once: MIG instances do not survive a
/// reboot, on Hopper and newer the mode does not either. An unfinished change is brought to its end
/// first. No GPU is reset, and one that is cut in another way stays so. Not thread-safe.
class MigRestore {
public:
    /// state_directory   host path of mig::StateDirectory
    /// claims            where claims that are prepared are noted
    /// All references must outlive this.
    MigRestore(const os::Root& root, os::Clock& clock, DeferredDriver& driver,
               kubelet::PodResources& pods, std::string state_directory, dra::NotePlaces claims)
        : root_(root),
          clock_(clock),
          driver_(driver),
          pods_(pods),
          directory_(std::move(state_directory)),
          claims_(std::move(claims)) {}

    /// Does it, and says in the log what became of it. Another process that changes the GPUs right
    /// now knows better: then nothing is done. Returns false when there is nothing to do, or the
    /// driver is not there yet; only then another attempt has a meaning.
    bool attempt();

private:
    [[nodiscard]] bool wanted() const;
    void restore(gpu::Partitioner& gpus);

    const os::Root& root_;
    os::Clock& clock_;
    DeferredDriver& driver_;
    kubelet::PodResources& pods_;
    std::string directory_;
    dra::NotePlaces claims_;
    bool done_ = false;
};

}  // namespace aliquot::agent
