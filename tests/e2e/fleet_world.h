// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kube_client/connect.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"
#include "sim/fleet/kubelets.h"
#include "sim/fleet/scheduler.h"
#include "tests/contract/controller_process.h"
#include "tests/e2e/real_peers.h"

namespace aliquot {

/// A simulated cluster with two controllers of ours that place pods, and a stand-in for who makes pods: an owner
/// wants one pod and gets another one when it is gone or has failed. API server and kube-scheduler can be
/// Kubernetes' own ones.
class FleetWorld : public testing::Test {
protected:
    using Json = nlohmann::json;
    static constexpr char kShare[] = "nvidia.com/gpu.shared";
    static constexpr char kGpu[] = "nvidia.com/gpu";
    static constexpr char kSpace[] = "team";

    void SetUp() override;
    void TearDown() override;

    kube_client::Api& api() { return *connection_.api; }
    /// The API server, empty but for the namespaces.
    void start_server();
    /// n0 to n5: three with two A2 in four shares each, three with four A100.
    virtual void add_nodes();
    void start_controller(std::size_t index);
    void start_scheduler();

    struct Owner {
        std::string resource;
        unsigned count = 0;
        bool gated = true;
        std::string node;  // spec.nodeName by hand; empty: scheduled
        std::string cpu = "0";
        unsigned made = 0;
        std::string pod;  // the last that was made
    };
    void add_owner(const std::string& name, Owner owner);
    void remove_owner(const std::string& name);
    /// Makes what is missing.
    void tend_owners();

    struct Pod {
        std::string name;
        std::string uid;
        std::string node;
        std::string phase;
        std::string resource;
        unsigned count = 0;
        bool gated = false;
        bool leaving = false;
        bool unschedulable = false;
        std::set<std::string> targets;  // of its plan
        [[nodiscard]] bool is_over() const { return phase == "Failed" || phase == "Succeeded"; }
    };
    std::map<std::string, Pod> pods();  // by name
    /// By node: resource -> units that no pod holds, of healthy GPUs.
    std::map<std::string, std::map<std::string, unsigned>> free_units() const;

    /// Empty: every pod runs or waits for good reason, and kubelets and API server agree; else what is wrong.
    std::string complaint();
    /// What the API server and the kubelets say of nodes and pods.
    std::string nodes_text();
    /// complaint() is empty within `patience`.
    testing::AssertionResult settles(std::chrono::seconds patience);
    /// As many pods of one unit as units are free all get to run, and one more does not.
    void expect_exact_books(const std::string& resource);

    void cordon(const std::string& node, bool closed);
    /// Of the last pod of an owner; empty: it has none yet.
    std::string node_of(const std::string& owner);
    template <class Holds>
    static bool soon(const Holds& holds, std::chrono::seconds patience = std::chrono::seconds(60)) {
        const auto limit = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < limit) {
            if (holds()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return false;
    }

    // Before SetUp().
    bool real_ = false;                    // real_peers; the test is skipped without them
    std::string scheduler_lines_;          // of the configuration of a real kube-scheduler
    std::string sharing_ = "timeSlicing";  // of the nodes with shares; or mps
    std::string configuration_ = "none";   // of webhooks, that the controllers keep
    std::vector<std::string> more_words_;  // of the controllers' command line

    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;  // null: a real one
    std::string kubeconfig_;
    kube_client::Connection connection_;
    std::unique_ptr<sim::fleet::Kubelets> kubelets_;
    std::unique_ptr<sim::fleet::Scheduler> scheduler_;
    std::unique_ptr<real_peers::KubeScheduler> kube_scheduler_;
    std::array<std::unique_ptr<contract::ControllerProcess>, 2> controllers_;
    std::map<std::string, Owner> owners_;
    unsigned fills_ = 0;
};

}  // namespace aliquot
