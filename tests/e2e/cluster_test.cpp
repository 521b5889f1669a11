// SPDX-License-Identifier: Apache-2.0
//
// The agent in a cluster: what its Node asks for, and what it tells there.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

#include "tests/e2e/cluster_node.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr char kConfigLabel[] = "nvidia.com/device-plugin.config";
constexpr char kMigLabel[] = "nvidia.com/mig.config";
constexpr char kMigState[] = "nvidia.com/mig.config.state";
constexpr char kUnhealthy[] = "aliquot.dev/gpu-unhealthy";

std::string replicas(unsigned count) {
    return "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, "
           "replicas: " +
           std::to_string(count) + "}\n";
}

TEST_F(ClusterNode, IsLabelledAndToldOf) {
    make_gpus("a2", 2);
    start_agent({"--node-taint", "nvidia.com/gpu=true:NoSchedule", "--label-profile", "type"});
    ASSERT_TRUE(offers(kGpu, 2));
    ASSERT_TRUE(soon([&] { return condition("GpuConfigServed")["status"] == "True"; }));
    const Json seen = node();
    const Json& labels = seen["metadata"]["labels"];
    EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A2");
    EXPECT_EQ(labels["nvidia.com/gpu.count"], "2");
    EXPECT_EQ(labels["gpu-type"], "a2");
    EXPECT_EQ(labels["role"], "gpu");  // not ours
    EXPECT_THAT(annotation("aliquot.dev/owned-labels"), testing::Not(HasSubstr("role")));
    EXPECT_EQ(Json::parse(annotation("aliquot.dev/gpus"))[1]["model"], "NVIDIA A2");
    EXPECT_EQ(Json::parse(annotation("aliquot.dev/shares"))[0]["devices"], 2);
    EXPECT_TRUE(has_taint("nvidia.com/gpu"));
    EXPECT_EQ(condition("GpuHealthy")["message"], "2 GPUs, all healthy");
    EXPECT_THAT(condition("GpuConfigServed")["message"].get<std::string>(),
                HasSubstr("whole GPUs"));
}

TEST_F(ClusterNode, ServesTheConfigurationThatItsLabelAndTheConfigMapSay) {
    make_gpus("a2", 1);
    configure({{"default", replicas(2)}, {"four", replicas(4)}});
    start_agent();
    ASSERT_TRUE(offers(kGpu, 2));
    label(kConfigLabel, "four");
    ASSERT_TRUE(offers(kGpu, 4));
    ASSERT_TRUE(soon(
        [&] { return node()["metadata"]["labels"].value("nvidia.com/gpu.replicas", "") == "4"; }));
    EXPECT_TRUE(soon([&] { return has_event("GpuConfigServed"); }));
    // Editing the ConfigMap is enough.
    configure({{"default", replicas(2)}, {"four", replicas(5)}});
    ASSERT_TRUE(offers(kGpu, 5));
    // A bad key and bad content change nothing but what is told.
    label(kConfigLabel, "fuor");
    ASSERT_TRUE(soon([&] { return condition("GpuConfigServed")["status"] == "False"; }));
    EXPECT_THAT(condition("GpuConfigServed")["message"].get<std::string>(),
                HasSubstr("did you mean 'four'?"));
    EXPECT_TRUE(soon([&] { return has_event("GpuConfigRefused"); }));
    EXPECT_TRUE(offers(kGpu, 5));
    label(kConfigLabel, "four");
    ASSERT_TRUE(soon([&] { return condition("GpuConfigServed")["status"] == "True"; }));
    configure({{"four", "version: v1\nsharing:\n  timeSlicing: {resources: [{name: x}]}\n"}});
    ASSERT_TRUE(soon([&] { return condition("GpuConfigServed")["status"] == "False"; }));
    EXPECT_THAT(condition("GpuConfigServed")["message"].get<std::string>(),
                HasSubstr("aliquot-config/four:3:"));
    EXPECT_TRUE(offers(kGpu, 5));
    // An agent that starts anew meanwhile serves the last good one, too.
    agent_->terminate(60s);
    start_agent();
    ASSERT_TRUE(offers(kGpu, 5));
    label(kConfigLabel, nullptr);
    configure({{"default", replicas(3)}});
    ASSERT_TRUE(offers(kGpu, 3));
    ASSERT_TRUE(soon([&] { return condition("GpuConfigServed")["status"] == "True"; }));
}

TEST_F(ClusterNode, TellsOfAGpuThatFallsOffTheBus) {
    make_gpus("a2", 2);
    start_agent({"--unhealthy-taint", "any"});
    ASSERT_TRUE(offers(kGpu, 2));
    ASSERT_TRUE(gpus_->inject(1, sim::FaultKind::kXid, 79));
    ASSERT_TRUE(soon([&] { return condition("GpuHealthy")["status"] == "False"; }));
    EXPECT_THAT(condition("GpuHealthy")["message"].get<std::string>(), HasSubstr("Xid 79"));
    EXPECT_TRUE(soon([&] { return has_taint(kUnhealthy); }));
    EXPECT_TRUE(soon([&] { return has_event("GpuXid79"); }));
    EXPECT_TRUE(offers(kGpu, 1));
    ASSERT_TRUE(gpus_->inject(1, sim::FaultKind::kClear, 0));
    ASSERT_TRUE(soon([&] { return condition("GpuHealthy")["status"] == "True"; }));
    EXPECT_TRUE(soon([&] { return !has_taint(kUnhealthy); }));
    EXPECT_TRUE(soon([&] { return has_event("GpuRecovered"); }));
    EXPECT_TRUE(offers(kGpu, 2));
}

TEST_F(ClusterNode, TellsOfADriverThatIsReplacedWhileItRuns) {
    make_gpus("a2", 2);
    start_agent();
    ASSERT_TRUE(offers(kGpu, 2));
    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kDriverMismatch, 0));
    ASSERT_TRUE(offers(kGpu, 0));  // no new program could use them
    ASSERT_TRUE(soon([&] { return condition("GpuHealthy")["status"] == "False"; }));
    EXPECT_THAT(condition("GpuHealthy")["message"].get<std::string>(),
                HasSubstr("different versions"));
    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kClear, 0));
    EXPECT_TRUE(offers(kGpu, 2));
}

TEST_F(ClusterNode, TellsOfADriverThatNeverAnswered) {
    // A board on the bus, and no driver.
    const std::string board = "/sys/bus/pci/devices/0000:01:00.0";
    ASSERT_TRUE(root_.write_atomically(board + "/vendor", "0x10de\n"));
    ASSERT_TRUE(root_.write_atomically(board + "/class", "0x030200\n"));
    start_agent();
    ASSERT_TRUE(soon([&] { return condition("GpuHealthy")["reason"] == "DriverProblem"; }));
    EXPECT_EQ(condition("GpuHealthy")["status"], "False");
    EXPECT_TRUE(soon([&] { return has_taint(kUnhealthy); }));
    make_gpus("a2", 1);  // it is installed
    ASSERT_TRUE(soon([&] { return condition("GpuHealthy")["status"] == "True"; }));
    EXPECT_TRUE(soon([&] { return !has_taint(kUnhealthy); }));
    EXPECT_TRUE(offers(kGpu, 1));
}

TEST_F(ClusterNode, IsServedWhileTheApiServerIsGone) {
    make_gpus("a2", 1);
    configure({{"default", replicas(2)}});
    start_agent();
    ASSERT_TRUE(offers(kGpu, 2));
    ASSERT_TRUE(soon([&] { return condition("GpuHealthy")["status"] == "True"; }));
    api_->inject({.path = "/api", .status = 503, .times = 1'000'000});
    api_->cut_connections();
    ASSERT_TRUE(admit("a", kGpu));
    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kXid, 79));
    ASSERT_TRUE(offers(kGpu, 0));
    agent_->terminate(60s);
    ASSERT_TRUE(gpus_->inject(0, sim::FaultKind::kClear, 0));
    start_agent();  // by the last good configuration
    ASSERT_TRUE(offers(kGpu, 2));
    api_->clear_faults();
    configure({{"default", replicas(4)}});
    EXPECT_TRUE(offers(kGpu, 1));  // of two shares the one that is held, until it is free
    kubelet_->remove("a");
    EXPECT_TRUE(offers(kGpu, 4));
}

TEST_F(ClusterNode, IsServedByAnAgentThatMayNotWrite) {
    make_gpus("a2", 1);
    configure({{"default", replicas(2)}});
    ask("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles/agent");
    start_agent();
    ASSERT_TRUE(soon([&] { return agent_log().contains("forbidden"); }));
    agent_->terminate(60s);
    // It may read, and not patch: what it would write is told once, and the GPUs are served.
    ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        Json::parse(R"({"metadata":{"name":"agent"},"rules":[
          {"apiGroups":[""],"resources":["nodes"],"verbs":["get","list","watch"]}]})"));
    start_agent();
    ASSERT_TRUE(offers(kGpu, 2));
    ASSERT_TRUE(soon([&] { return agent_log().contains("cluster.not_written"); }));
    EXPECT_FALSE(node()["metadata"].contains("annotations"));
}

TEST_F(ClusterNode, IsCutAsItsMigLabelSays) {
    make_gpus("a100-40", 2);
    label(kConfigLabel, "mixed");
    configure({{"mixed", "version: v1\nflags:\n  migStrategy: mixed\n"}});
    label(kMigLabel, "all-1g.5gb");
    start_agent({"--mig"});
    ASSERT_TRUE(
        soon([&] { return node()["metadata"]["labels"].value(kMigState, "") == "success"; }));
    ASSERT_TRUE(offers("nvidia.com/mig-1g.5gb", 14));
    EXPECT_TRUE(soon([&] { return condition("MigConfigServed")["status"] == "True"; }));
    // Held: refused, with the pod's name; nothing is touched.
    ASSERT_TRUE(admit("trainer", "nvidia.com/mig-1g.5gb"));
    label(kMigLabel, "all-3g.20gb");
    ASSERT_TRUE(
        soon([&] { return node()["metadata"]["labels"].value(kMigState, "") == "failed"; }));
    EXPECT_THAT(annotation("aliquot.dev/mig.config.problem"), HasSubstr("default/trainer"));
    EXPECT_TRUE(offers("nvidia.com/mig-1g.5gb", 14));
    // What can be had around the pod is done: its instance stays.
    label(kMigLabel, "all-balanced");
    ASSERT_TRUE(
        soon([&] { return node()["metadata"]["labels"].value(kMigState, "") == "success"; }));
    EXPECT_TRUE(offers("nvidia.com/mig-1g.5gb", 4));
    EXPECT_TRUE(offers("nvidia.com/mig-3g.20gb", 2));
    label(kMigLabel, "all-9g.99gb");
    ASSERT_TRUE(soon([&] {
        return annotation("aliquot.dev/mig.config.problem").contains("nobody knows it: ");
    }));
    // What is asked for no more is told no more; the GPUs stay as they are.
    label(kMigLabel, nullptr);
    ASSERT_TRUE(soon([&] { return !node()["metadata"]["labels"].contains(kMigState); }));
    EXPECT_TRUE(soon([&] { return condition("MigConfigServed")["status"] == ""; }));
    EXPECT_TRUE(offers("nvidia.com/mig-1g.5gb", 4));
}

TEST_F(ClusterNode, WaitsForThePodsThatHoldAGpuToBeCut) {
    make_gpus("a100-40", 1);
    configure({{"mixed", "version: v1\nflags:\n  migStrategy: mixed\n"}});
    label(kMigLabel, "all-3g.20gb");
    start_agent({"--mig", "--mig-drain", "wait"});
    ASSERT_TRUE(offers("nvidia.com/mig-3g.20gb", 2));
    ASSERT_TRUE(
        soon([&] { return node()["metadata"]["labels"].value(kMigState, "") == "success"; }));
    ASSERT_TRUE(admit("trainer", "nvidia.com/mig-3g.20gb"));
    label(kMigLabel, "all-1g.5gb");
    ASSERT_TRUE(soon([&] {
        return annotation("aliquot.dev/mig.config.problem").contains("held by default/trainer");
    }));
    EXPECT_EQ(node()["metadata"]["labels"].value(kMigState, ""), "pending");
    EXPECT_TRUE(offers("nvidia.com/mig-3g.20gb", 0));  // no new pod gets in the way
    kubelet_->remove("trainer");
    ASSERT_TRUE(offers("nvidia.com/mig-1g.5gb", 7));
    ASSERT_TRUE(
        soon([&] { return node()["metadata"]["labels"].value(kMigState, "") == "success"; }));
}

TEST_F(ClusterNode, EvictsThePodsThatHoldAGpuToBeCut) {
    make_gpus("a100-40", 1);
    configure({{"mixed", "version: v1\nflags:\n  migStrategy: mixed\n"}});
    label(kMigLabel, "all-3g.20gb");
    start_agent({"--mig", "--mig-drain", "evict"});
    ASSERT_TRUE(offers("nvidia.com/mig-3g.20gb", 2));
    ASSERT_TRUE(admit("trainer", "nvidia.com/mig-3g.20gb"));
    ask("POST", "/api/v1/namespaces/default/pods",
        {{"metadata", {{"name", "trainer"}}},
         {"spec", {{"nodeName", "gpu-1"}, {"containers", {{{"name", "main"}, {"image", "x"}}}}}}});
    label(kMigLabel, "all-1g.5gb");
    ASSERT_TRUE(soon([&] { return agent_log().contains("mig.evicted"); }));
    kubelet_->remove("trainer");  // what kubelet does then
    ASSERT_TRUE(offers("nvidia.com/mig-1g.5gb", 7));
}

// In a cluster the configuration is not known when privileges go: MPS's are kept only where its directory is.
TEST_F(ClusterNode, HasAFilterOfSystemCallsAndNoMoreCapabilitiesThanItNeeds) {
    make_gpus("a2", 1);
    start_agent();
    ASSERT_TRUE(offers(kGpu, 1));
    const auto field = [&](const std::string& name) {
        const auto status =
            os::Root("/").read("/proc/" + std::to_string(agent_->pid()) + "/status");
        const auto begin = status ? status->find("\n" + name + ":\t") : std::string::npos;
        if (begin == std::string::npos) return std::string("?");
        const auto value = begin + name.size() + 3;
        return status->substr(value, status->find('\n', value) - value);
    };
    EXPECT_EQ(field("NoNewPrivs"), "1");
    EXPECT_EQ(field("Seccomp"), "2");
    constexpr std::uint64_t kMost =
        (1U << 5U) | (1U << 19U) | (1U << 21U);  // KILL, SYS_PTRACE, SYS_ADMIN
    for (const char* const set : {"CapEff", "CapPrm", "CapInh", "CapAmb"}) {
        EXPECT_EQ(std::stoull(field(set), nullptr, 16) & ~kMost, 0U) << set << ' ' << field(set);
    }
}

// Pods were refused with an exact reason while the node said that all is well.
TEST_F(ClusterNode, SaysSoWhileThereIsNoRoomForShares) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
    make_gpus("a2", 1);
    configure({{"default",
                "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
                "    - {name: nvidia.com/gpu, replicas: 4, memory: 3Gi, compute: 25}\n"}});
    const auto full = root_.resolve("/run");
    std::filesystem::create_directories(full);
    if (::mount("none", full.c_str(), "tmpfs", 0, "size=4m") != 0)
        GTEST_SKIP() << "no mounts are allowed here";
    start_agent({"--guard-library", ALIQUOT_LIB_DIR "/libaliquot-guard.so"});
    EXPECT_TRUE(offers(kGpu, 4));
    std::ofstream(full / "fill") << std::string(8U << 20U, 'x');
    EXPECT_FALSE(admit("refused", kGpu));
    EXPECT_TRUE(soon([&] { return condition("GpuConfigServed")["reason"] == "LimitsNotKept"; }));
    // What the pod was refused for, or what the agent saw of the disk since.
    EXPECT_THAT(condition("GpuConfigServed")["message"].get<std::string>(),
                testing::AnyOf(HasSubstr("No space left on device"),
                               HasSubstr("has 0 left, 1Mi are needed")));
    std::filesystem::remove(full / "fill");
    EXPECT_TRUE(soon([&] { return condition("GpuConfigServed")["status"] == "True"; }));
    EXPECT_TRUE(admit("given", kGpu));
    agent_->terminate(60s);
    agent_.reset();
    ::umount2(full.c_str(), MNT_DETACH);
}

TEST_F(ClusterNode, IsCleanAfterCleaningUp) {
    make_gpus("a2", 1);
    configure({{"default", replicas(2)}});
    start_agent({"--device-list-strategy", "cdi-cri"});
    ASSERT_TRUE(offers(kGpu, 2));
    // It is written down once it is served.
    ASSERT_TRUE(soon([&] { return root_.exists("/var/lib/aliquot/last-good-config.yaml"); }));
    agent_->signal(SIGKILL);  // leaves all it has
    ASSERT_TRUE(agent_->wait(60s));
    agent_.reset();
    EXPECT_TRUE(root_.exists("/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"));
    auto process = os::Process::start({.argv = {ALIQUOT_BIN_DIR "/aliquot-agent", "--clean-up",
                                                "--root", temporary_.path().string()},
                                       .environment = os::current_environment(),
                                       .output_path = (temporary_.path() / "clean.log").string()});
    ASSERT_TRUE(process);
    const auto exit = process->wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0) << agent_log();
    EXPECT_FALSE(root_.exists("/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"));
    EXPECT_FALSE(root_.exists("/var/lib/aliquot"));
    EXPECT_FALSE(root_.exists("/run/aliquot"));
    const auto sockets = root_.list("/var/lib/kubelet/device-plugins");
    ASSERT_TRUE(sockets);
    EXPECT_THAT(*sockets, testing::Not(testing::Contains("nvidia-gpu.sock")));
}

}  // namespace
}  // namespace aliquot
