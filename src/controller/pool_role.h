// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "controller/pool_options.h"

namespace aliquot::controller {

class PoolWork;

/// The role `pools`: every Pool is looked at when it, a node or a GPU pod changes, when a schedule ticks, and every ten
/// seconds. Written are what its autoscaler reads (NodePools, placeholder pods, annotations of nodes), its status and
/// Events; pods of a node whose cloud takes it back are evicted in time. Every replica follows the cluster; only the
/// leader writes. What another owner has set is left alone and told in the condition Applied. Thread-safe; a thread of
/// its own from start() to the destructor.
class PoolRole {
public:
    PoolRole(PoolWorld world, PoolOptions options);
    ~PoolRole();
    PoolRole(const PoolRole&) = delete;
    PoolRole& operator=(const PoolRole&) = delete;

    void start();
    /// Writes no more.
    void stop();
    /// Something else has changed: who leads, or the clock.
    void wake();
    /// Prometheus text.
    [[nodiscard]] std::string metrics() const;

private:
    std::unique_ptr<PoolWork> work_;
};

}  // namespace aliquot::controller
