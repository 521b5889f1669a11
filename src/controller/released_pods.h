// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>

#include "http/certificate.h"
#include "kube_client/api.h"
#include "kube_client/election.h"
#include "kube_client/event_recorder.h"
#include "scheduling/gangs.h"
#include "scheduling/gpu_pod.h"

namespace aliquot::controller {

/// Pods that have a plan and no node yet. One that finds none of its nodes free for a while is deleted where a
/// controller makes it again, which gets other nodes, for one controller three times in ten minutes; of others an Event says what to do. Used by one
/// thread.
class ReleasedPods {
public:
    struct Dependencies {
        kube_client::Api& api;
        const kube_client::Elector& elector;
        std::function<http::Instant()> now;
        kube_client::EventRecorder& events;
        std::function<std::chrono::steady_clock::time_point()> monotonic;
    };
    ReleasedPods(Dependencies dependencies, std::chrono::seconds patience)
        : world_(std::move(dependencies)), patience_(patience) {}

    void set(const scheduling::GpuPod& pod) { pods_[pod.uid] = pod; }
    /// It is bound, has ended, or is gone.
    void erase(const std::string& uid);
    [[nodiscard]] bool contains(const std::string& uid) const { return pods_.contains(uid); }
    [[nodiscard]] bool empty() const { return pods_.empty(); }

    struct Tended {
        unsigned remade = 0;  // pods deleted
        std::vector<std::string>
            stuck;  // uids of those that stay, for now or until a person helps; each told once
    };
    /// As the leader.
    Tended tend(const std::stop_token& stop);
    /// Takes back what a gang that is placed in part holds: its pods without a node are deleted where a controller
    /// makes them again, so that they wait together; of another one an Event says what to do.
    Tended undo(const scheduling::GangTurn& turn, const std::stop_token& stop);

private:
    using Steady = std::chrono::steady_clock;
    /// How often pods of one controller or gang were made again.
    struct Remakes {
        unsigned count = 0;
        Steady::time_point since;
    };
    enum class Outcome : std::uint8_t { kRemade, kLater, kNotAnyMore };
    Remakes* remakes_of(const std::string& whose);
    Outcome remake(const scheduling::GpuPod& pod, const std::stop_token& stop);
    Outcome remove(const scheduling::GpuPod& pod, const std::string& why,
                   const std::stop_token& stop);
    void complain(const scheduling::GpuPod& pod, const char* reason, const std::string& note);

    const Dependencies world_;
    const std::chrono::seconds patience_;
    std::map<std::string, scheduling::GpuPod> pods_;  // by uid
    std::map<std::string, Remakes> remakes_;          // by uid of the controller or id of the gang
    std::set<std::string> stuck_;
};

}  // namespace aliquot::controller
