// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/mps/client.h"
#include "sim/node/node.h"
#include "sim/node/script.h"
#include "sim/proc/process_tree.h"
#include "telemetry/snapshot.h"
#include "tests/contract/sleeper.h"

namespace aliquot::e2e {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A pod with one container, "main", and in it one process that does nothing itself: what it does to
/// its GPU is simulated.
struct MeteredPod {
    std::string uid;
    std::string name;
    unsigned gpu = 0;
    sim::Instance where;
    std::unique_ptr<contract::Sleeper> process;
    sim::LoadScript script;
    SteadyTime begun{};
};

/// A simulated node of 8 GPUs with the real agent, a kubelet and pods whose load is scripted. What
/// goes wrong is a failure of the test.
class TelemetryNode {
public:
    static constexpr unsigned kGpus = 8;

    struct Kind {
        std::string model;
        std::string layout;    // of MIG; empty: not cut
        std::string config;    // of the agent
        std::string resource;  // what a pod asks for
        unsigned devices = 0;  // of it on the node
        bool mps = false;
    };

    explicit TelemetryNode(Kind kind);
    ~TelemetryNode();

    void start();
    /// Admits a pod and starts its process; it does nothing yet.
    void add_pod(const std::string& name);
    /// Has every pod begin its script, which is one of `scripts` by the order on its GPU.
    void run(const std::vector<std::string>& scripts);
    /// A pod that is admitted and begins its script, at once.
    void start_pod(const std::string& name, const std::string& script);
    /// Its process is killed, then it is deleted.
    void end_pod(const std::string& name);
    /// Waits until the agent has seen all of what was scripted.
    telemetry::Snapshot wait_for_the_end();
    /// SIGKILL; another agent comes at once.
    void kill_agent();
    /// All pods are deleted.
    void remove_pods();

    [[nodiscard]] const std::vector<MeteredPod>& pods() const { return pods_; }
    [[nodiscard]] telemetry::Snapshot state();
    [[nodiscard]] std::string metrics();
    [[nodiscard]] std::string log() const;

    /// GPU seconds (of a MIG device its own) that a pod has used by its script, given all the others
    /// on its place.
    [[nodiscard]] double scripted_seconds(const MeteredPod& pod) const;

private:
    void start_agent();
    void begin(MeteredPod& pod, const std::string& script);
    void find_place(const std::vector<std::string>& ids, MeteredPod& pod) const;
    bool wait_until(const std::function<bool(const telemetry::Snapshot&)>& so);
    std::optional<std::string> get(const std::string& path);

    Kind kind_;
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::unique_ptr<sim::ProcessTree> tree_;
    std::optional<os::Process> agent_;
    std::vector<sim::mps::Client> mps_clients_;  // so that each GPU has a server
    std::vector<MeteredPod> pods_;
    unsigned admitted_ = 0;
    unsigned port_ = 0;
};

}  // namespace aliquot::e2e
