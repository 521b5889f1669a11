// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "controller/placement_options.h"
#include "kube_client/event_recorder.h"
#include "kube_client/informer.h"
#include "pins/decide.h"

namespace aliquot::controller {

struct ClaimPinOptions {
    bool enabled = false;
    pins::Rules rules;
};

/// The role `claims`: for pods whose ResourceClaim the webhook has named and nobody has made, chooses a GPU and makes the
/// claim for it; kube-scheduler allocates. Every replica follows the cluster, only the leader writes. Nothing is kept: what
/// was tried stands on the claims. Thread-safe; a thread of its own from start() to stop().
class ClaimPins {
public:
    ClaimPins(PlacementWorld world, const ClaimPinOptions& options);
    ~ClaimPins();
    ClaimPins(const ClaimPins&) = delete;
    ClaimPins& operator=(const ClaimPins&) = delete;

    void start();
    /// Writes no more.
    void stop();
    /// Something else has changed: who leads.
    void wake();
    [[nodiscard]] bool is_synced() const;

private:
    using Steady = std::chrono::steady_clock;

    void run(const std::stop_token& stop);
    [[nodiscard]] pins::World look() const;
    /// Whether pods wait for something.
    bool tend(const std::stop_token& stop);
    void carry_out(const pins::Act& act, const std::stop_token& stop);
    kube_client::Outcome<Done> write(const pins::Act& act, const kube_client::Call& call);
    kube_client::Outcome<Done> evict(const pins::Act& act, const kube_client::Call& call);
    void tell(const pins::Act& act);

    const PlacementWorld world_;
    const ClaimPinOptions options_;
    std::mutex mutex_;  // guards look_
    std::condition_variable_any changed_;
    bool look_ = true;

    // Of the thread.
    std::map<std::string, Steady::time_point>
        busy_;  // pods (uids) until the watch shows what we wrote
    std::map<std::string, Steady::time_point> told_;  // pods (uids): when their Events said why

    kube_client::EventRecorder events_;
    kube_client::Informer pods_;
    kube_client::Informer nodes_;
    kube_client::Informer slices_;
    kube_client::Informer claims_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace aliquot::controller
