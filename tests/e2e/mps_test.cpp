// SPDX-License-Identifier: Apache-2.0
// MPS as kubelet and its pods see it: the built agent against a simulated node and kubelet.
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <set>
#include <thread>

#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/kubelet/kubelet.h"
#include "sim/mps/client.h"
#include "sim/node/node.h"
#include "sim/node/shared_state.h"
#include "tests/e2e/agent_process.h"
#include "tests/other_user.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint32_t kDefaultMode = 0;
constexpr std::uint32_t kExclusiveProcess = 3;

const std::string kEight = "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}\n";
const std::string kTurns =
    "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}\n";

/// Not gone, and not only waiting for its parent to notice.
bool is_alive(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    return std::getline(file, line) && !line.substr(line.rfind(')')).starts_with(") Z");
}

class MpsAgentTest : public testing::Test {
protected:
    void SetUp() override {
        // Containers that are not root come through this directory.
        fs::permissions(directory_.path(), fs::perms::others_exec, fs::perm_options::add);
        const unsigned gpus = 2;
        auto node = sim::Node::create(
            directory_.path() / "driver", {.gpus = {{.model = "rtx-3090", .count = gpus}}},
            ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        auto state = sim::SharedState::open(directory_.path() / "driver" / sim::kStateFile);
        ASSERT_TRUE(state) << state.error().message;
        state_ = *std::move(state);
        kubelet_ = std::make_unique<sim::Kubelet>(root_, sim::KubeletOptions{});
        ASSERT_TRUE(kubelet_->start());
    }

    void TearDown() override {
        if (HasFailure()) std::cerr << "agent's log:\n" << log() << "\n";
        if (agent_) agent_->terminate(60s);
        for (unsigned gpu = 0; gpu < 2; ++gpu) {
            if (const pid_t pid = daemon(gpu); pid > 0) ::kill(-pid, SIGKILL);
        }
    }

    void start_agent(const std::string& config) {
        ASSERT_TRUE(root_.write_atomically("/etc/config.yaml", config));
        auto process =
            e2e::start_agent_on(directory_.path(), {"--config-file", "/etc/config.yaml"});
        ASSERT_TRUE(process) << process.error().message;
        agent_.emplace(*std::move(process));
    }
    void kill_agent() {
        agent_->signal(SIGKILL);
        ASSERT_TRUE(agent_->wait(60s));
        agent_.reset();
    }

    static bool eventually(const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + 120s;  // the machine may be busy
        while (std::chrono::steady_clock::now() < end) {
            if (holds()) return true;
            std::this_thread::sleep_for(10ms);  // polls: other processes do it
        }
        return false;
    }
    [[nodiscard]] bool offers(unsigned count) {
        return eventually([&] {
            const auto view = kubelet_->resources()[std::string(kGpu)];
            return view.connected && view.allocatable == count;
        });
    }
    [[nodiscard]] std::uint32_t mode(unsigned gpu) {
        const auto state = state_->lock();
        return state ? (*state)->gpus[gpu].compute_mode : 99;
    }
    [[nodiscard]] std::string uuid(unsigned gpu) const { return node_->gpus()[gpu].uuid; }
    [[nodiscard]] fs::path home(unsigned gpu) const {
        return root_.resolve("/run/nvidia/mps/" + uuid(gpu));
    }
    [[nodiscard]] pid_t daemon(unsigned gpu) const {
        std::ifstream file(home(gpu) / "pipe/nvidia-cuda-mps-control.pid");
        pid_t pid = 0;
        file >> pid;
        return file ? pid : 0;
    }
    [[nodiscard]] Result<sim::mps::Client> connect(unsigned gpu) const {
        return sim::mps::Client::connect((home(gpu) / "pipe").native(), "workload");
    }
    [[nodiscard]] std::string log() const {
        std::ifstream file(directory_.path() / "agent.log");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    grant::Grant admit(const std::string& name) {
        sim::PodRequest pod{.uid = name, .name = name, .init_containers = {}, .containers = {}};
        pod.containers.push_back({.name = "main", .limits = {{std::string(kGpu), 1}}});
        auto grants = kubelet_->admit(pod);
        EXPECT_TRUE(grants) << grants.error().message;
        return grants ? grants->front().grant : grant::Grant{};
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    std::optional<sim::Node> node_;
    std::unique_ptr<sim::SharedState> state_;
    std::unique_ptr<sim::Kubelet> kubelet_;
    std::optional<os::Process> agent_;
};

TEST_F(MpsAgentTest, EightSharesOfAGpuHaveThreeGiAndTwelvePercentEach) {
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(16));
    EXPECT_EQ(mode(0), kExclusiveProcess);
    EXPECT_EQ(mode(1), kExclusiveProcess);
    const auto grant = admit("pod-1");
    EXPECT_EQ(grant.environment.at("CUDA_MPS_PIPE_DIRECTORY"), "/mps/nvidia.com/gpu/pipe");
    ASSERT_EQ(grant.mounts.size(), 2U);
    const auto client =
        sim::mps::Client::connect(root_.resolve(grant.mounts[0].host_path).native(), "workload");
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_EQ(client->memory_limit(), 3 * kGiB);
    EXPECT_EQ(client->thread_percent(), 12U);
    // Whoever comes without MPS is kept out.
    EXPECT_FALSE(
        node_->set_process(client->gpu(), static_cast<std::uint32_t>(::getpid()), kGiB, 1));
}

TEST_F(MpsAgentTest, UnequalSharesGetTheirOwnLimits) {
    ASSERT_NO_FATAL_FAILURE(
        start_agent("sharing: {mps: {resources: [{name: nvidia.com/gpu, devices: [0], shares: "
                    "[{memory: 12Gi, compute: 60}, {memory: 4Gi, compute: 20}]}]}}\n"));
    ASSERT_TRUE(offers(3));  // two shares and the other GPU, whole
    EXPECT_EQ(mode(1), kDefaultMode);
    const auto client = connect(0);
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_EQ(client->memory_limit(), 12 * kGiB);
    EXPECT_EQ(client->thread_percent(), 60U);
    std::set<std::string> limits;
    for (int i = 0; i < 3; ++i) {
        auto grant = admit("pod-" + std::to_string(i));
        if (!grant.environment.contains("CUDA_MPS_PIPE_DIRECTORY")) continue;
        limits.insert(grant.environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"]);
    }
    EXPECT_EQ(limits, (std::set<std::string>{"", "0=4096M"}));
}

TEST_F(MpsAgentTest, ADeadDaemonMakesItsGpuUnhealthyAndANewOneMakesItHealthy) {
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(16));
    const pid_t other = daemon(1);
    std::optional<sim::mps::Client> client;
    {
        auto connected = connect(0);
        ASSERT_TRUE(connected) << connected.error().message;
        client.emplace(*std::move(connected));
        ASSERT_TRUE(node_->set_process(0, static_cast<std::uint32_t>(::getpid()), kGiB, 1, {},
                                       sim::ProcessKind::kMpsClient));
    }
    const pid_t before = daemon(0);
    ASSERT_EQ(::kill(before, SIGKILL), 0);
    ASSERT_TRUE(offers(8));  // GPU 1 goes on
    EXPECT_TRUE(client->connected()) << "who was there goes on too";
    ASSERT_TRUE(eventually([&] { return log().contains("still serves those who were there"); }));
    ASSERT_TRUE(node_->set_process(0, static_cast<std::uint32_t>(::getpid()), 0, 0));
    client.reset();
    ASSERT_TRUE(offers(16));
    EXPECT_NE(daemon(0), before);
    EXPECT_EQ(daemon(1), other);
    const auto again = connect(0);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->memory_limit(), 3 * kGiB) << "limits are applied again";
    EXPECT_EQ(again->thread_percent(), 12U);
}

TEST_F(MpsAgentTest, ADaemonThatNeverComesUpStaysUnhealthyWithoutDisturbingTheOtherGpu) {
    ASSERT_TRUE(root_.write_atomically("/run/nvidia/mps/" + uuid(1), "not a directory"));
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(8));
    EXPECT_TRUE(eventually([&] { return log().contains("mps.not_serving"); }));
    const auto client = connect(0);
    EXPECT_TRUE(client) << client.error().message;
}

TEST_F(MpsAgentTest, AKilledAgentsModeIsRestoredByTheNextOneWithoutMps) {
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(16));
    const pid_t left = daemon(0);
    ASSERT_NO_FATAL_FAILURE(kill_agent());
    EXPECT_TRUE(is_alive(left)) << "the daemon must outlive the agent";
    EXPECT_EQ(mode(0), kExclusiveProcess);
    ASSERT_NO_FATAL_FAILURE(start_agent(kTurns));
    ASSERT_TRUE(offers(4));
    EXPECT_EQ(mode(0), kDefaultMode);
    EXPECT_EQ(mode(1), kDefaultMode);
    EXPECT_TRUE(eventually([&] { return !is_alive(left); }));
    EXPECT_TRUE(eventually([&] { return !root_.exists("/var/lib/aliquot/mps.journal"); }));
    EXPECT_FALSE(fs::exists(home(0)));
}

TEST_F(MpsAgentTest, AKilledAgentsDaemonAndItsClientsAreAdoptedByTheNextOne) {
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(16));
    auto client = connect(0);
    ASSERT_TRUE(client) << client.error().message;
    const pid_t before = daemon(0);
    ASSERT_NO_FATAL_FAILURE(kill_agent());
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(eventually([&] { return log().contains("mps.adopted"); }));
    ASSERT_TRUE(offers(16));
    EXPECT_EQ(daemon(0), before);
    EXPECT_TRUE(client->connected());
}

TEST_F(MpsAgentTest, AnAgentThatEndsLeavesClientsAloneAndUndoesTheRest) {
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(16));
    auto client = connect(0);
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_EQ(agent_->terminate(120s).code, 0);
    agent_.reset();
    EXPECT_TRUE(client->connected());
    EXPECT_EQ(mode(0), kExclusiveProcess);
    EXPECT_EQ(mode(1), kDefaultMode);
    EXPECT_EQ(daemon(1), 0);
}

TEST_F(MpsAgentTest, AConfigurationWithoutMpsWaitsForTheClientsOfEachGpu) {
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(16));
    std::optional<sim::mps::Client> client;
    {
        auto connected = connect(0);
        ASSERT_TRUE(connected) << connected.error().message;
        client.emplace(*std::move(connected));
    }
    ASSERT_TRUE(root_.write_atomically("/etc/config.yaml", kTurns));
    ASSERT_TRUE(offers(2)) << "GPU 1 takes turns at once, GPU 0 is still exclusive";
    EXPECT_EQ(mode(1), kDefaultMode);
    EXPECT_TRUE(client->connected());
    client.reset();
    ASSERT_TRUE(offers(4));
    EXPECT_EQ(mode(0), kDefaultMode);
    ASSERT_TRUE(root_.write_atomically("/etc/config.yaml", kEight));
    ASSERT_TRUE(offers(16));
    EXPECT_EQ(mode(0), kExclusiveProcess);
}

TEST_F(MpsAgentTest, AContainerThatIsNotRootReachesItsDaemon) {
    if (!may_become_nobody()) GTEST_SKIP() << "only root can become somebody else";
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(16));
    const std::string pipe = (home(0) / "pipe").native();
    const pid_t pid = ::fork();
    if (pid == 0) {
        if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(3);
        ::_exit(sim::mps::Client::connect(pipe, "workload").ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(MpsAgentTest, ProcessesThatUseTheGpuWithoutMpsAreWaitedFor) {
    ASSERT_TRUE(node_->set_process(0, static_cast<std::uint32_t>(::getpid()), kGiB, 1));
    ASSERT_NO_FATAL_FAILURE(start_agent(kEight));
    ASSERT_TRUE(offers(8));
    EXPECT_TRUE(
        eventually([&] { return log().contains("MPS waits until those who use the GPU"); }));
    EXPECT_EQ(mode(0), kDefaultMode);
    ASSERT_TRUE(node_->set_process(0, static_cast<std::uint32_t>(::getpid()), 0, 0));
    ASSERT_TRUE(offers(16));
}

}  // namespace
}  // namespace aliquot
