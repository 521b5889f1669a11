// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/cluster_link.h"
#include "agent/cluster_options.h"
#include "agent/cordon.h"
#include "agent/late_driver.h"
#include "kubelet/pod_resources.h"
#include "mig/apply.h"
#include "mig/config.h"
#include "mig/geometry.h"
#include "node/health.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::agent {

/// Cuts the GPUs as the Node's label nvidia.com/mig.config says, on a thread of its own, and answers
/// by nvidia.com/mig.config.state: pending, then success or failed, always one of the two after a
/// limited time. A GPU that need not change is not touched, nor what is not in the way. While a GPU
/// is being cut it is offered to nobody; pods that hold it are refused to, waited for or evicted, as
/// is configured. What failed is tried again after a while, without a change of the label.
class MigRequests {
public:
    struct Sources {
        LateDriver& driver;
        ClusterLink& cluster;
        Cordon& cordon;
        /// Who holds which devices, as kubelet tells.
        std::function<Result<std::vector<kubelet::Holder>>()> holders;
        /// Asks for a pod to be evicted. errors: why it cannot be now
        std::function<Result<Done>(const std::string& pod_namespace, const std::string& pod)> evict;
    };
    struct Options {
        std::string state_directory;  // host path of mig::StateDirectory
        ClusterOptions::Drain drain = ClusterOptions::Drain::kRefuse;
        std::chrono::milliseconds drain_timeout{300'000};
        std::chrono::milliseconds settle{2000};  // for grants that are on their way
        std::chrono::milliseconds retry{60'000};
    };

    /// root, clock and sources   must outlive this
    MigRequests(const os::Root& root, os::Clock& clock, Sources sources, Options options);

private:
    void run(const std::stop_token& stop);
    node::MigTold attempt(const ClusterLink::MigAsked& asked, const std::stop_token& stop);
    Result<std::vector<mig::GpuWish>> wishes_of(const ClusterLink::MigAsked& asked);
    Result<mig::Report> change(const std::vector<mig::GpuWish>& wishes, bool dry_run);
    node::MigTold carry_out(const std::string& config, const std::vector<mig::GpuWish>& wishes,
                            const mig::Report& planned, const std::stop_token& stop);
    /// Until nobody holds what is in the way. Returns why it did not come to that; empty: it did.
    std::string drain(const std::string& config, const std::vector<mig::GpuWish>& wishes,
                      const std::stop_token& stop);
    void evict(const std::vector<std::string>& pods);

    const os::Root& root_;
    os::Clock& clock_;
    Sources sources_;
    Options options_;
    gpu::Inventory inventory_;              // of the last attempt
    std::vector<kubelet::Holder> holders_;  // likewise
    std::jthread thread_;                   // last: it uses all the others
};

using GeometryOf = std::function<std::optional<mig::Geometry>(const gpu::Gpu& gpu)>;

/// What a configuration by name means for the GPUs of a node. Pure.
/// text        of the file of configurations; empty optional: there is none
/// place       of that file, for messages
/// geometry    of one GPU, for well-known names
/// errors   kInvalidInput: the file is wrong; kNotFound: no such name; kUnsupported: a GPU has none
///          of it. One line with what there is.
Result<std::vector<mig::GpuWish>> mig_wishes(const std::string& name,
                                             const std::optional<std::string>& text,
                                             const std::string& place,
                                             const gpu::Inventory& inventory,
                                             const std::vector<mig::Board>& boards,
                                             const GeometryOf& geometry);

/// The pods that stand in the way of a report's refused GPUs, each once: "default/trainer". Of a GPU
/// whose refusal names busy instances only those that hold these.
std::vector<std::string> pods_in_the_way(const mig::Report& report, const gpu::Inventory& inventory,
                                         const std::vector<kubelet::Holder>& holders);

}  // namespace aliquot::agent
