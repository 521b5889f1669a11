// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kube_client/api.h"

namespace aliquot::sim::fleet {

struct SchedulerOptions {
    unsigned binds_per_second = 0;  // 0: no limit; a stock kube-scheduler has 50
};

/// What we rely on of kube-scheduler: pods without gates and without a node are bound, by priority and age, to a
/// node that is ready, not cordoned, whose taints they tolerate, that their nodeName, nodeSelector and required
/// node affinity allow and that has room for their requests; of several to the one with most CPU free. A pod that
/// fits nowhere gets the condition PodScheduled=False with kube-scheduler's words and is looked at again when
/// something has changed. Not there: topology spread, affinity between pods, volumes, pre-emption, preferences.
/// Pods that name another schedulerName are left alone. Thread-safe; a thread of its own from start() to stop().
class Scheduler {
public:
    Scheduler(kube_client::Api& api, const SchedulerOptions& options);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    void start();
    void stop();
    [[nodiscard]] std::uint64_t bound() const;

private:
    class Work;
    std::unique_ptr<Work> work_;
};

}  // namespace aliquot::sim::fleet
