// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"

namespace aliquot::chaos {

/// A broken invariant: what() says which.
class Broken final : public std::exception {
public:
    explicit Broken(std::string what) : what_(std::move(what)) {}
    [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

private:
    std::string what_;
};

/// The device that a replica is of: "GPU-a" of "GPU-a::2".
inline std::string base_of(const std::string& replica) {
    return replica.substr(0, replica.find("::"));
}

enum class Sharing { kTimeSlicingAndMig, kMps };

/// A simulated node with the real agent, a kubelet, pods that are real processes on the node's GPUs,
/// and everything that can happen to them. Each method throws Broken when something is not as it
/// must be: a pod on a healthy GPU disturbed, a device held twice, a recovered GPU not offered again
/// within kRecovery. Not thread-safe.
class ChaosNode {
public:
    static constexpr std::chrono::seconds kRecovery{10};

    /// late   after the end of a stream, before kubelet notices it
    ChaosNode(Sharing sharing, std::uint64_t seed, std::chrono::milliseconds late);
    ~ChaosNode();
    ChaosNode(const ChaosNode&) = delete;
    ChaosNode& operator=(const ChaosNode&) = delete;

    /// One thing that happens, chosen by chance. Returns what it was.
    std::string happen();
    /// Looks at everything that must always hold.
    void look();
    /// Ends all faults and waits until everything is offered.
    void settle();

    [[nodiscard]] std::uint64_t admitted() const { return admitted_; }
    [[nodiscard]] std::chrono::milliseconds slowest_recovery() const { return slowest_; }
    [[nodiscard]] std::string agent_log() const;

private:
    using Clock = std::chrono::steady_clock;
    struct Pod {
        sim::PodRequest request;
        std::string resource;
        std::string device;  // as kubelet names it
        unsigned gpu = 0;
        sim::Instance where;
        std::string mig_uuid;  // empty: not on a MIG device
        std::optional<os::Process> process;
    };
    struct Trouble {
        std::optional<Clock::time_point> since;  // empty: none now
        std::optional<Clock::time_point> ended;  // and not yet offered again
        std::chrono::milliseconds ended_at{0};   // of lived_
        std::optional<sim::Instance> where;      // only this MIG device
        Clock::time_point until;
    };

    void start_agent();
    void kill_agent();
    void restart_kubelet();
    void wait_registered(std::uint64_t registrations_before);
    [[nodiscard]] std::set<std::string> wanted_resources() const;
    std::string admit();
    std::string remove();
    std::string break_gpu();
    std::string application_fault();
    std::string cut_anew();
    std::string kill_daemon();
    /// MPS daemons that have a pid file: GPU and process.
    [[nodiscard]] std::vector<std::pair<unsigned, pid_t>> daemons() const;
    void mend_what_is_due();
    void end(Trouble& trouble) const;
    void look_at_pods();
    void look_at_devices();
    [[nodiscard]] std::vector<sim::GpuView> gpus() const;
    [[nodiscard]] std::string owner_of(const std::string& device) const;
    [[nodiscard]] bool may_be_unhealthy(const std::string& device) const;
    unsigned random(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

    Sharing sharing_;
    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    std::mt19937_64 random_;
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> agent_;
    std::map<std::string, Pod> pods_;
    std::vector<Trouble> troubles_;                      // by GPU
    std::map<std::string, Clock::time_point> cut_away_;  // MIG devices, and when
    std::uint64_t admitted_ = 0;
    std::chrono::milliseconds slowest_{0};
    /// Time as a machine gives it to us that may be too busy: a step between two looks counts as
    /// what it should have been, so a process that gets no processor is not too late.
    std::chrono::milliseconds lived_{0};
    Clock::time_point looked_ = Clock::now();
};

}  // namespace aliquot::chaos
