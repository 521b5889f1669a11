// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sim/cluster/container_run.h"
#include "sim/cluster/snapshot.h"
#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

/// The containers of an admitted pod: init containers one after another, then the rest together.
/// Not thread-safe.
class PodRun {
public:
    PodRun(RestartPolicy policy, std::vector<ContainerRun> init_containers,
           std::vector<ContainerRun> containers)
        : policy_(policy),
          init_containers_(std::move(init_containers)),
          containers_(std::move(containers)) {}

    void tick(TimePoint now);
    void signal(int number);
    void stop(std::chrono::milliseconds grace);

    /// kPending while init containers run.
    [[nodiscard]] Phase phase() const { return phase_; }
    /// What is to say about it: a crash, which init container runs; empty: nothing.
    [[nodiscard]] std::string reason() const;
    [[nodiscard]] bool is_crashing() const;
    [[nodiscard]] unsigned restarts() const;
    [[nodiscard]] TimePoint changed() const;  // of the newest change of a container
    [[nodiscard]] const std::vector<ContainerRun>& init_containers() const {
        return init_containers_;
    }
    [[nodiscard]] const std::vector<ContainerRun>& containers() const { return containers_; }

private:
    bool tick_init_containers(TimePoint now);

    RestartPolicy policy_;
    std::vector<ContainerRun> init_containers_;
    std::vector<ContainerRun> containers_;
    std::size_t init_done_ = 0;
    Phase phase_ = Phase::kPending;
};

}  // namespace aliquot::sim::cluster
