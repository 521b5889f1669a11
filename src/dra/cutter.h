// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"
#include "dra/prepare.h"
#include "gpu/inventory.h"
#include "gpu/partitioning.h"
#include "mig/apply.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::dra {

/// Cuts GPUs as claims need them and takes back what was cut, by the journalled changes of mig::apply: whoever is
/// killed leaves what the next change brings to its end. What others hold stays; instances that nobody holds and no
/// process uses go where they are in the way. GPUs that are reset together get one MIG mode while no other claim has any
/// of them, so that no later claim of the same kind needs a reset. Not thread-safe; other processes that cut GPUs are excluded by the lock of
/// mig::StateDirectory.
class Cutter {
public:
    /// The node as it is now.
    struct Seen {
        gpu::Inventory inventory;
        cdi::Spec node;  // as cdi::describe_node() describes it, by uuid
    };
    struct Sources {
        /// errors   kUnavailable: the driver is not there
        std::function<Result<std::shared_ptr<gpu::Partitioner>>()> gpus;
        /// Ask the driver. errors   as gpus; `look`: the driver's files are not there
        std::function<Result<gpu::Inventory>()> inventory;
        std::function<Result<Seen>()> look;
        /// The GPUs that are reset when the MIG mode of this one changes, by uuid, without itself. Empty: none are.
        std::function<std::set<std::string>(const std::string& gpu)> reset_along{};
    };
    struct Options {
        std::string state_directory = mig::kDefaultStateDirectory;  // host path
        std::chrono::milliseconds lock_wait{5000};
        /// For the way forward, and again for the way back: kubelet waits 45 s for all of it.
        std::chrono::milliseconds limit{15'000};
        std::function<void(std::string_view step)> checkpoint{};  // mig::ApplyOptions
    };
    using Note = std::function<Result<Done>()>;

    /// root, clock   must outlive this
    Cutter(const os::Root& root, os::Clock& clock, Sources sources, Options options);

    /// Makes what the devices of `claim` need, and fills in their uuids and CDI names. One that is there already is
    /// taken. Calls `note` when that is known and before anybody else may cut.
    /// returns  the node with it; empty: nothing had to be made
    /// errors   kConflict: something busy is in the way, or somebody else is cutting; of mig::apply; of `note`. What was
    ///          made before stays, for undo()
    Result<std::optional<Seen>> cut(PreparedClaim& claim, const PreparedClaims& prepared,
                                    const Note& note);

    /// Takes back what was made for `claim`. What is not there (any more), or on a GPU that is not, is success.
    /// errors   kConflict: a process still uses it, or somebody else is cutting; of mig::apply
    Result<Done> undo(const PreparedClaim& claim, const PreparedClaims& prepared);

private:
    class Others;
    class Joined;

    Result<bool> apply_with_joined(gpu::Partitioner& gpus, const mig::StateDirectory& state,
                                   const std::vector<mig::GpuSpec>& specs, const Others& others,
                                   const std::set<std::string>& held);
    /// What one GPU has to be; adds to `held` what must stay.
    Result<mig::GpuSpec> spec_for(gpu::Partitioner& gpus, const std::string& uuid,
                                  const std::vector<const PreparedDevice*>& devices,
                                  const Others& others, std::set<std::string>& held) const;
    /// Whether anything had to change.
    Result<bool> apply(gpu::Partitioner& gpus, const mig::StateDirectory& state,
                       const std::vector<mig::GpuSpec>& specs, std::set<std::string> held);

    const os::Root& root_;
    os::Clock& clock_;
    const Sources sources_;
    const Options options_;
};

}  // namespace aliquot::dra
