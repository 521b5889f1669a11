// SPDX-License-Identifier: Apache-2.0
// Limits from the agent's side: the built agent on a simulated node and kubelet, with processes that
// hold GPU memory in guarded containers, with and without having joined.
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <unistd.h>

#include <atomic>
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
#include "region/config_file.h"
#include "region/config_reader.h"
#include "region/fake_tenant.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::uint64_t kGiB = 1ULL << 30U;

std::string config_text(const std::string& memory, const std::string& guard) {
    return "version: v1\nsharing:\n  guard: " + guard +
           "\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4, memory: " +
           memory + ", compute: 25}\n";
}

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

    /// A CUDA program in a container, with its guard where a runtime would have mounted it.
    [[nodiscard]] os::Process tenant_in(const kubelet::Grant& grant, bool guarded,
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
        auto process = os::Process::start(
            {.argv = {ALIQUOT_BIN_DIR "/aliquot-agent", "--root", directory_.path().native(),
                      "--driver-root", "/driver", "--config-file", "/etc/config.yaml",
                      "--guard-library", library},
             .environment = os::current_environment(),
             .output_path = (directory_.path() / "agent.log").native()});
        ASSERT_TRUE(process) << process.error().message;
        agent_.emplace(*std::move(process));
        ASSERT_TRUE(kubelet_->wait_allocatable(std::string(kGpu), 4, 60s));
    }

    Result<kubelet::Grant> admit(const std::string& name, unsigned count = 1) {
        auto grants = kubelet_->admit(
            {.uid = "uid-" + name,
             .pod_namespace = "ai",
             .name = name,
             .containers = {{.name = "main", .limits = {{std::string(kGpu), count}}}}});
        if (!grants) return grants.error();
        return grants->at(0).grant;
    }
    [[nodiscard]] fs::path guard_of(const kubelet::Grant& grant) const {
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

TEST_F(GuardAgentTest, APodWithLimitsIsGuardedNamedAndMeasured) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train", 2);
    ASSERT_TRUE(grant) << grant.error().message;
    const fs::path guard = guard_of(*grant);
    const auto settings = region::read_config(guard / "config");
    ASSERT_TRUE(settings) << settings.error().message;
    ASSERT_EQ(settings->devices.size(), 1U);
    EXPECT_EQ(settings->devices[0].memory_bytes, 6 * kGiB);  // two shares
    EXPECT_EQ(settings->devices[0].cap_ppm, 500'000U);
    ASSERT_TRUE(eventually([&] { return named("train"); }));

    // A process that has joined: what the driver says beyond what it counts is its overhead.
    os::Process process = process_in(guard);
    region::FakeTenant tenant(guard / "ledger");
    tenant.join(0, static_cast<std::uint32_t>(process.pid()));
    tenant.use(0, settings->devices[0].uuid, 2 * kGiB);
    hold(process, 2 * kGiB + 300 * (kGiB >> 10U));
    EXPECT_TRUE(eventually([&] {
        const auto config = region::ConfigFile::open(guard / "config");
        return config && config->told_overhead(0, tenant.owner(0), 0) == 300 * (kGiB >> 10U);
    }));
    EXPECT_TRUE(eventually([&] {
        const Json seen = status();
        return seen.is_object() && seen["containers"][0]["devices"][0]["trackedBytes"] == 2 * kGiB;
    }));
    EXPECT_THAT(ask({"guard", "status", "--agent", address()}), HasSubstr("ai/train/main"));
    EXPECT_THAT(ask({"guard", "status", "--region", guard}), HasSubstr("ai/train/main"));
    EXPECT_EQ(status()["containers"][0]["devices"][0]["unguardedProcesses"], 0);
    process.signal(SIGKILL);
}

TEST_F(GuardAgentTest, WithoutAGuardAPodIsRefusedOrRunsWithoutLimits) {
    write_config("3Gi");
    start_agent("/nowhere/libaliquot-guard.so");
    const auto refused = admit("train");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("/nowhere/libaliquot-guard.so"));
    EXPECT_EQ(kubelet_->resources()[std::string(kGpu)].allocatable, 4U);
    write_config("3Gi", "{fail: open}");
    EXPECT_TRUE(eventually([&] {
        const auto open = admit("notebook");
        if (open) {
            EXPECT_TRUE(guard_of(*open).empty());
        }
        return open.ok();
    }));
    EXPECT_TRUE(eventually([&] { return happened("open", std::string(kGpu)); }));
}

TEST_F(GuardAgentTest, AGuardedProgramKeepsItsLimitAlsoWhenThatChanges) {
    write_config("2Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    const fs::path more = directory_.path() / "more";
    const fs::path end = directory_.path() / "end";
    os::Process process =
        tenant_in(*grant, true,
                  {"info", "alloc:1073741824", "alloc:1073741824", "wait:" + more.native(),
                   "alloc:1073741824", "info", "wait:" + end.native()});
    ASSERT_TRUE(eventually([&] { return tenant_log().contains("alloc 2\n"); })) << tenant_log();
    EXPECT_THAT(tenant_log(), HasSubstr("total 2147483648\nalloc 0\nalloc 2\n"));
    const auto device = [&]() -> Json {
        const Json seen = status();
        if (!seen.is_object() || seen["containers"].empty()) return Json::object();
        return seen["containers"][0]["devices"][0];
    };
    // The driver's figure has taken the place of the estimate.
    EXPECT_TRUE(eventually([&] {
        const Json one = device();
        return one.value("trackedBytes", 0ULL) == kGiB &&
               one.value("overheadBytes", 0ULL) == 314572800 &&
               one.value("usedBytes", 0ULL) == one.value("driverBytes", 1ULL) &&
               one.value("processes", 0) == 1 && one.value("unguardedProcesses", 9) == 0 &&
               one.value("denied", 0) == 1;
    })) << device().dump();
    write_config("3Gi");
    ASSERT_TRUE(eventually([&] {
        const auto settings = region::read_config(guard_of(*grant) / "config");
        return settings && settings->devices[0].memory_bytes == 3 * kGiB;
    }));
    std::ofstream(more) << "";
    EXPECT_TRUE(eventually([&] {
        return tenant_log().contains("waited 0\nalloc 0\n") &&
               tenant_log().contains("total 3221225472\n");
    })) << tenant_log();
    // It dies with all that it has; nothing of it stays in the books.
    process.signal(SIGKILL);
    ASSERT_TRUE(process.wait(60s));
    EXPECT_TRUE(eventually([&] { return device().value("usedBytes", 1ULL) == 0; }));
}

TEST_F(GuardAgentTest, AProgramThatDropsItsGuardIsEnded) {
    write_config("2Gi", "{watchdog: kill}");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    const fs::path end = directory_.path() / "end";
    os::Process process = tenant_in(*grant, false, {"alloc:4294967296", "wait:" + end.native()});
    const auto exit = process.wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->signal, SIGKILL);
    EXPECT_THAT(tenant_log(), HasSubstr("alloc 0\n"));
}

TEST_F(GuardAgentTest, LimitsChangeWhileAContainerRuns) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    write_config("2Gi");
    EXPECT_TRUE(eventually([&] {
        const auto settings = region::read_config(guard_of(*grant) / "config");
        return settings && settings->devices[0].memory_bytes == 2 * kGiB;
    }));
}

TEST_F(GuardAgentTest, TheWatchdogTellsOfWhatGoesAroundTheGuard) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    ASSERT_TRUE(eventually([&] { return named("train"); }));
    os::Process process = process_in(guard_of(*grant));
    hold(process, 5 * kGiB);
    EXPECT_TRUE(eventually([&] { return happened("unguarded", "ai/train/main"); }));
    EXPECT_TRUE(eventually([&] { return happened("over_limit", "ai/train/main"); }));
    EXPECT_FALSE(process.poll());
    process.signal(SIGKILL);
}

TEST_F(GuardAgentTest, TheWatchdogEndsOnlyWhoGoesAroundTheGuard) {
    write_config("3Gi", "{watchdog: kill}");
    start_agent();
    const auto grant = admit("train");
    const auto other = admit("neighbour");
    ASSERT_TRUE(grant && other);
    ASSERT_TRUE(eventually([&] { return named("train") && named("neighbour"); }));
    os::Process around = process_in(guard_of(*grant));
    os::Process joined = process_in(guard_of(*grant));
    os::Process neighbour = process_in(guard_of(*other));
    os::Process host = process_in({});
    region::FakeTenant tenant(guard_of(*grant) / "ledger");
    region::FakeTenant beside(guard_of(*other) / "ledger");
    tenant.join(0, static_cast<std::uint32_t>(joined.pid()));
    beside.join(0, static_cast<std::uint32_t>(neighbour.pid()));
    hold(joined, kGiB);
    hold(neighbour, 2 * kGiB);
    hold(host, 4 * kGiB);
    hold(around, kGiB);
    const auto exit = around.wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->signal, SIGKILL);
    EXPECT_TRUE(eventually([&] { return happened("killed", "ai/train/main"); }));
    EXPECT_FALSE(joined.poll());
    EXPECT_FALSE(neighbour.poll());
    EXPECT_FALSE(host.poll());
    EXPECT_FALSE(happened("unguarded", "ai/neighbour/main"));
    for (os::Process* one : {&joined, &neighbour, &host}) one->signal(SIGKILL);
}

TEST_F(GuardAgentTest, ATenantThatCutsItsLedgerShortHarmsNobody) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    const auto other = admit("neighbour");
    ASSERT_TRUE(grant && other);
    ASSERT_TRUE(eventually([&] { return named("train") && named("neighbour"); }));
    std::atomic<bool> stop{false};
    std::jthread hostile([&] {
        const fs::path ledger = guard_of(*grant) / "ledger";
        std::uintmax_t size = 1;
        while (!stop) {
            size = size * 7 % 900'001;
            fs::resize_file(ledger, size);
            std::fstream(ledger).seekp(static_cast<std::streamoff>(size / 2)).write("garbage!", 8);
        }
    });
    EXPECT_TRUE(eventually([&] { return happened("ledger", "ai/train/main"); }));
    stop = true;
    hostile.join();
    EXPECT_FALSE(agent_->poll());
    EXPECT_THAT(ask({"guard", "status", "--agent", address()}), HasSubstr("ai/neighbour/main"));
}

TEST_F(GuardAgentTest, AnAgentThatWasKilledFindsItsContainersAgain) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant);
    ASSERT_TRUE(eventually([&] { return named("train"); }));
    agent_->signal(SIGKILL);
    ASSERT_TRUE(agent_->wait(60s));
    start_agent();
    EXPECT_TRUE(eventually([&] { return named("train"); }));
    EXPECT_TRUE(fs::is_socket(guard_of(*grant) / "node"));
}

/// As a container runtime does it: nothing in the process's own hands says where it belongs.
TEST_F(GuardAgentTest, AContainerIsKnownByItsMount) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant);
    ASSERT_TRUE(eventually([&] { return named("train"); }));
    auto process =
        os::Process::start({.argv = {"unshare", "--mount", "sh", "-c",
                                     "mount -t tmpfs none /run && mkdir -p /run/aliquot/guard && "
                                     "mount --bind \"$0\" /run/aliquot/guard && exec sleep 1000",
                                     guard_of(*grant)},
                            .environment = os::current_environment(),
                            .output_path = (directory_.path() / "unshare.log").native()});
    ASSERT_TRUE(process) << process.error().message;
    const std::string mountinfo = "/proc/" + std::to_string(process->pid()) + "/mountinfo";
    bool mounted = false;
    ASSERT_TRUE(eventually([&] {
        const auto text = os::Root("/").read(mountinfo);
        mounted = text && text->contains("/guard /run/aliquot/guard ");
        return mounted || process->poll().has_value();
    }));
    if (!mounted) GTEST_SKIP() << "no mounts are allowed here";
    hold(*process, kGiB);
    EXPECT_TRUE(eventually([&] { return happened("unguarded", "ai/train/main"); }));
    process->signal(SIGKILL);
}

}  // namespace
}  // namespace aliquot
