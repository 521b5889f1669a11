// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"

namespace aliquot::soak {

/// A broken invariant: what() says which.
class Broken final : public std::exception {
public:
    explicit Broken(std::string what) : what_(std::move(what)) {}
    [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

private:
    std::string what_;
};

struct Leaks {
    std::size_t descriptors = 0;
    std::size_t threads = 0;
};

/// A simulated node of 8 GPUs in 4 replicas, the real agent as a process, a kubelet and its pods.
/// Every step throws Broken when something is not as it must be. Not thread-safe.
class SoakNode {
public:
    static constexpr unsigned kGpus = 8;
    static constexpr unsigned kReplicas = 4;
    static constexpr unsigned kDevices = kGpus * kReplicas;

    /// agent   the program's path
    SoakNode(std::string agent, std::uint64_t seed);

    void start_agent();
    /// SIGKILL; sometimes in the middle of an admission.
    void kill_agent();
    /// SIGTERM: it must end by itself and clean up.
    void end_agent();
    /// Ends kubelet in one of three ways and starts it anew; pods end and are asked for again
    /// meanwhile.
    void restart_kubelet();
    /// A few pods come and go.
    void change_pods();

    /// Waits until the agent has registered since the last event and all devices are allocatable,
    /// with one stream and no other on its way out. Returns how long it took.
    std::chrono::milliseconds wait_for_all();
    /// Pods hold what they were given, no device is held twice, no file is left over, and the agent has
    /// registered once if kubelet was restarted.
    void check();

    [[nodiscard]] Leaks agent_holds() const;
    [[nodiscard]] static Leaks we_hold();
    /// Since the last event.
    [[nodiscard]] std::uint64_t registrations() const {
        return kubelet_->registrations() - registrations_;
    }
    [[nodiscard]] std::size_t pods() const { return pods_.size(); }
    [[nodiscard]] std::uint64_t admitted() const { return admitted_; }
    /// The last lines that the agent wrote.
    [[nodiscard]] std::string agent_log() const;

private:
    struct Pod {
        sim::PodRequest request;
        std::vector<sim::ContainerGrant> grants;
    };

    sim::PodRequest next_pod();
    void admit_one(bool may_fail);
    void take(sim::PodRequest request, Result<std::vector<sim::ContainerGrant>> answer,
              bool may_fail);
    void remove_one();
    void admit_again();
    void check_grant(const Pod& pod) const;
    void check_files() const;
    void check_registrations() const;
    enum class Event : std::uint8_t { kKubeletRestart, kAgentKill };
    void begin_event(Event event);
    [[nodiscard]] unsigned allocated() const;
    unsigned random(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

    const std::string agent_;
    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::mt19937_64 random_;
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> process_;
    std::map<std::string, Pod> pods_;
    std::uint64_t admitted_ = 0;
    std::uint64_t registrations_ = 0;  // that kubelet had seen before the last event
    bool kubelet_restarted_ = false;   // was the last event
};

}  // namespace aliquot::soak
