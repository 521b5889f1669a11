// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>

#include "gpu/partitioning.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::agent {

/// Cuts the GPUs again as `aliquot mig apply` left them, once: MIG instances do not survive a
/// reboot, on Hopper and newer the mode does not either. An unfinished change is brought to its end
/// first. No GPU is reset, and one that is cut in another way stays so. Not thread-safe.
class MigRestore {
public:
    /// state_directory   host path of mig::StateDirectory
    /// root, clock       must outlive this
    MigRestore(const os::Root& root, os::Clock& clock, std::string state_directory)
        : root_(root), clock_(clock), directory_(std::move(state_directory)) {}

    /// Whether there is something to do: nothing was ever applied on most nodes.
    [[nodiscard]] bool wanted() const;
    /// Does it, and says in the log what became of it. Another process that changes the GPUs right
    /// now knows better: then nothing is done.
    /// held   uuids of GPUs and MIG devices that pods hold
    void run(gpu::Partitioner& gpus, std::set<std::string> held);

private:
    const os::Root& root_;
    os::Clock& clock_;
    std::string directory_;
    bool done_ = false;
};

}  // namespace aliquot::agent
