// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "http/certificate.h"
#include "k8s/label_selector.h"
#include "kube_client/api.h"
#include "kube_client/election.h"

namespace aliquot::controller {

/// What kube-scheduler may ask as an extender.
struct ExtenderOptions {
    std::string listen = "off";
    std::string client_ca;  // file: who has signed the certificates of those who may ask
    std::vector<std::string> client_names{"system:kube-scheduler"};  // common names of theirs

    [[nodiscard]] bool is_on() const { return listen != "off"; }
};

struct PlacementOptions {
    bool enabled = false;
    unsigned targets = 3;  // nodes that one pod may go to; 1 to 64
    /// How long a pod that was let go may find none of its nodes free before it is made again.
    std::chrono::seconds unfit_patience{30};
    /// The first pod of the queue that has waited so long gets a node kept for it: others of its priority or a
    /// lower one get no place there; 0: never.
    std::chrono::seconds keep_after{600};
    /// Pods of a lower priority may be evicted for one that has no place.
    bool preemption = false;
    std::chrono::seconds preemption_least_run{600};  // a pod that runs for less is left alone
    /// After so long a waiting pod is let go without a place, so that an autoscaler sees it; 0: never.
    std::chrono::seconds release_after{0};
    /// Bindings are asked about: POST /bind/pods.
    bool strict = false;
    ExtenderOptions extender;
    /// This pod, which says whether it leads where a Service goes by that; empty: there is none.
    std::string name_space;
    std::string pod_name;
};

/// What the role works with; all of it must outlive the role.
struct PlacementWorld {
    kube_client::Api& api;
    const kube_client::Elector& elector;
    std::function<http::Instant()> now;
    std::function<std::chrono::steady_clock::time_point()> monotonic =
        std::chrono::steady_clock::now;
    /// Why pods of a namespace must not be let go now, in one sentence: a budget that is spent; empty: they may.
    std::function<std::string(const std::string& name_space)> held{};
};

}  // namespace aliquot::controller
