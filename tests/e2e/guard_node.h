// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/prctl.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "abi/region.h"
#include "os/exchange.h"
#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"
#include "tests/e2e/agent_process.h"

/// A node whose agent keeps limits: the built agent on a simulated node and kubelet, and processes
/// that hold GPU memory in its containers.
namespace aliquot {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace std::chrono_literals;

inline constexpr std::string_view kGpu = "nvidia.com/gpu";
inline constexpr std::uint64_t kGiB = 1ULL << 30U;

inline std::string config_text(const std::string& memory, const std::string& guard) {
    return "version: v1\nsharing:\n  guard: " + guard +
           "\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4, memory: " +
           memory + ", compute: 25}\n";
}

/// The node of a test, with what happens on it.
class GuardAgentTest : public testing::Test {
protected:
    void SetUp() override {
        auto node =
            sim::Node::create(directory_.path() / "driver", {.gpus = {{.model = "a2", .count = 1}}},
                              ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
        ASSERT_TRUE(kubelet_->start());
    }
    void TearDown() override {
        if (HasFailure()) {
            std::cerr << "agent's log:\n"
                      << std::ifstream(directory_.path() / "agent.log").rdbuf() << "\n";
        }
        if (agent_) agent_->terminate(60s);
    }

    /// What the agent has on a node (its manifest says so), and a container has by default not.
    static bool may_look_into_processes() { return ::prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE) == 1; }

    /// A CUDA program in a container, with its guard where a runtime would have mounted it.
    [[nodiscard]] os::Process tenant_in(const grant::Grant& grant, bool guarded,
                                        std::vector<std::string> words) {
        auto environment = os::current_environment();
        environment["ALIQUOT_SIM_STATE"] = directory_.path() / "driver";
        environment["LD_LIBRARY_PATH"] = ALIQUOT_SIM_DIR;
        environment["ALIQUOT_SIM_CUDA_CONTEXT_BYTES"] = "314572800";
        environment["ALIQUOT_GUARD_CONFIG"] = guard_of(grant) / "config";
        environment["ALIQUOT_GUARD_REGION"] = guard_of(grant) / "ledger";
        environment["ALIQUOT_GUARD_NODE"] = guard_of(grant) / "node";
        for (const auto& mount : grant.mounts) {
            if (guarded && mount.container_path == "/run/aliquot/lib") {
                environment["LD_PRELOAD"] = root_.resolve(mount.host_path) / "libaliquot-guard.so";
            }
        }
        words.insert(words.begin(), ALIQUOT_TEST_DIR "/cuda_tenant");
        auto process =
            os::Process::start({.argv = words,
                                .environment = environment,
                                .output_path = (directory_.path() / "tenant.log").native()});
        if (!process) throw std::runtime_error(process.error().message);
        return *std::move(process);
    }
    [[nodiscard]] std::string tenant_log() const {
        std::ifstream file(directory_.path() / "tenant.log");
        return std::string(std::istreambuf_iterator<char>(file), {});
    }

    void write_config(const std::string& memory, const std::string& guard = "{}") {
        ASSERT_TRUE(root_.write_atomically("/etc/config.yaml", config_text(memory, guard)));
    }
    void start_agent(const std::string& library = ALIQUOT_LIB_DIR "/libaliquot-guard.so") {
        auto process = e2e::start_agent_on(
            directory_.path(), {"--config-file", "/etc/config.yaml", "--guard-library", library});
        ASSERT_TRUE(process) << process.error().message;
        agent_.emplace(*std::move(process));
        ASSERT_TRUE(kubelet_->wait_allocatable(std::string(kGpu), 4, 60s));
    }

    Result<grant::Grant> admit(const std::string& name, unsigned count = 1) {
        auto grants = kubelet_->admit(
            {.uid = "uid-" + name,
             .pod_namespace = "ai",
             .name = name,
             .containers = {{.name = "main", .limits = {{std::string(kGpu), count}}}}});
        if (!grants) return grants.error();
        return grants->at(0).grant;
    }
    [[nodiscard]] fs::path guard_of(const grant::Grant& grant) const {
        for (const auto& mount : grant.mounts) {
            if (mount.container_path == abi::kGuardDirectory) return root_.resolve(mount.host_path);
        }
        return {};
    }
    /// A process of a container, as where no runtime mounts anything.
    [[nodiscard]] os::Process process_in(const fs::path& guard) const {
        auto environment = os::current_environment();
        if (!guard.empty()) environment["ALIQUOT_GUARD_REGION"] = guard / "ledger";
        auto process =
            os::Process::start({.argv = {"/bin/sleep", "1000"}, .environment = environment});
        if (!process) throw std::runtime_error(process.error().message);
        return *std::move(process);
    }
    void hold(const os::Process& process, std::uint64_t bytes) {
        const auto held =
            node_->set_process(0, static_cast<std::uint32_t>(process.pid()), bytes, 0);
        ASSERT_TRUE(held) << held.error().message;
    }

    [[nodiscard]] std::string ask(std::vector<std::string> argv) const {
        argv.insert(argv.begin(), ALIQUOT_BIN_DIR "/aliquot");
        const auto answer = os::exchange({.argv = argv, .environment = os::current_environment()},
                                         "", {.deadline = 60s});
        return answer ? answer->output : answer.error().message;
    }
    [[nodiscard]] std::string address() const {
        return "unix:" + (directory_.path() / "run/aliquot/agent.sock").native();
    }
    [[nodiscard]] Json status() const {
        return Json::parse(ask({"guard", "status", "--agent", address(), "-o", "json"}), nullptr,
                           false);
    }
    static bool eventually(const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + 60s;  // the machine may be busy
        while (std::chrono::steady_clock::now() < end) {
            if (holds()) return true;
            std::this_thread::sleep_for(20ms);  // polls: other processes do it
        }
        return false;
    }
    /// Whether there is such an event about that container.
    [[nodiscard]] bool happened(const std::string& kind, const std::string& container) const {
        const Json seen = status();
        if (!seen.is_object()) return false;
        for (const Json& event : seen["events"]) {
            if (event["kind"] == kind && event["container"] == container) return true;
        }
        return false;
    }
    [[nodiscard]] bool named(const std::string& pod) const {
        const Json seen = status();
        if (!seen.is_object()) return false;
        for (const Json& one : seen["containers"]) {
            if (one["pod"] == pod && one["namespace"] == "ai" && one["container"] == "main") {
                return true;
            }
        }
        return false;
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> agent_;
};

}  // namespace aliquot
