// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/deferred_driver.h"
#include "agent/mig_change.h"
#include "agent/node_sync.h"
#include "agent/observer.h"
#include "base/latest.h"
#include "dra/held_devices.h"
#include "kubelet/pod_resources.h"
#include "mig/apply.h"
#include "mig/config.h"
#include "mig/geometry.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::agent {

/// Cuts the GPUs as the Node's label nvidia.com/mig.config says, and answers by
/// nvidia.com/mig.config.state: pending, then success or failed, always one of the two after a
/// limited time. The one owner of such a change: on a thread of its own it does what MigChange says
/// and waits for what others publish. A GPU that need not change is not touched, nor what is not in
/// the way. While a GPU is being cut it is offered to nobody; pods that hold it are refused to,
/// waited for or evicted, as is configured. What failed is tried again after a while, without a
/// change of the label.
class MigRequests {
public:
    struct Sources {
        DeferredDriver& driver;
        NodeSync& cluster;
        Observer& observer;
        const Latest<std::uint64_t>& served;  // the newest observation that kubelet is told of
        kubelet::PodResources& pods;
        /// Whether a part of this GPU or MIG device was granted at most `age` ago.
        std::function<bool(const gpu::Uuid& device, std::chrono::milliseconds age)> granted_within;
        /// Whether claims cut the GPUs, so that the label may not.
        std::function<bool()> cut_by_claims;
        /// Asks for a pod to be evicted. errors: why it cannot be now
        std::function<Result<Done>(const std::string& pod_namespace, const std::string& pod)> evict;
    };
    struct Options {
        std::string state_directory;  // host path of mig::StateDirectory
        MigRules rules;
        /// Until kubelet surely lists the pod of a grant, and until one that does not tell what it
        /// may give away surely has heard what it may not.
        std::chrono::milliseconds settle{2000};
        dra::NotePlaces claims{};  // where claims that are prepared are noted
    };

    /// root, clock and sources   must outlive this
    MigRequests(const os::Root& root, os::Clock& clock, Sources sources, Options options);

private:
    void run(const std::stop_token& stop);
    void act(const MigAction& action);
    MigEvent await(const MigChange& change, const std::stop_token& stop);
    MigEvent wait_label(const MigChange& change, const std::stop_token& stop);
    bool wait_withheld(os::TimePoint until, const std::stop_token& stop);
    /// Until kubelet is told of the observation `version_`. False: not in time.
    bool wait_served(os::TimePoint until, const std::stop_token& stop);
    bool kubelet_keeps_them();
    Result<std::vector<mig::GpuSpec>> specs();
    MigPlan plan(const MigChange& change);
    enum class Run : std::uint8_t { kDry, kReal };
    Result<mig::ApplyReport> apply(Run run);
    void evict(const std::vector<std::string>& pods);
    [[nodiscard]] std::vector<gpu::Uuid> devices_of(const std::set<gpu::Uuid>& gpus) const;
    [[nodiscard]] bool just_granted(const gpu::Uuid& device) const {
        return sources_.granted_within(device, options_.settle);
    }

    const os::Root& root_;
    os::Clock& clock_;
    Sources sources_;
    Options options_;
    MigSpec asked_;
    std::vector<mig::GpuSpec> specs_;       // for it
    gpu::Inventory inventory_;              // when it was asked
    std::vector<kubelet::Holder> holders_;  // of the last look, by devices
    std::vector<gpu::Uuid> withheld_;       // the GPUs and their MIG devices
    os::TimePoint withheld_since_{};
    std::uint64_t version_ = 0;  // of the observation that has what was withheld or released last
    std::jthread thread_;        // last: it uses all the others
};

using GeometryOf = std::function<std::optional<mig::Geometry>(const gpu::Gpu& gpu)>;

/// What a configuration by name means for the GPUs of a node. Pure.
/// text        of the file of configurations; empty optional: there is none
/// place       of that file, for messages
/// geometry    of one GPU, for well-known names
/// errors   kInvalidInput: the file is wrong; kNotFound: no such name; kUnsupported: a GPU has none
///          of it. One line with what there is.
Result<std::vector<mig::GpuSpec>> mig_specs(const std::string& name,
                                            const std::optional<std::string>& text,
                                            const std::string& place,
                                            const gpu::Inventory& inventory,
                                            const std::vector<mig::Board>& boards,
                                            const GeometryOf& geometry);

/// The GPUs and MIG devices that pods have by device plugin or by claim, also one that is prepared
/// for a pod that does not run yet.
/// errors   kUnavailable: something tells of a holder, and nothing of what it holds
Result<std::set<std::string>> held_devices(const os::Root& root, const dra::NotePlaces& claims,
                                           const std::vector<kubelet::Holder>& holders);

/// The pods that stand in the way of a report's refused GPUs, each once: "default/trainer". Of a GPU
/// whose refusal names busy instances only those that hold these.
std::vector<std::string> pods_in_the_way(const mig::ApplyReport& report,
                                         const gpu::Inventory& inventory,
                                         const std::vector<kubelet::Holder>& holders);

}  // namespace aliquot::agent
