// SPDX-License-Identifier: Apache-2.0
// The simulated MPS by its own words; what every MPS must do is asked in tests/contract.
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <unistd.h>

#include <thread>

#include "os/exchange.h"
#include "os/process_stat.h"
#include "os/root.h"
#include "os/temporary_directory.h"
#include "sim/mps/amount.h"
#include "sim/mps/client.h"
#include "sim/node/node.h"

namespace aliquot::sim::mps {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kGiB = 1ULL << 30U;

bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < end) {
        if (holds()) return true;
        std::this_thread::sleep_for(5ms);  // polls: another process does it
    }
    return false;
}

/// Also when nobody has noticed: a container's first process need not look after orphans.
bool has_ended(pid_t pid) {
    const auto line = os::Root("/").read("/proc/" + std::to_string(pid) + "/stat");
    const auto stat = line ? os::parse_stat(*line) : std::nullopt;
    return !stat || stat->has_ended();
}

class MpsTest : public testing::Test {
protected:
    void make(const std::string& model) {
        auto node =
            Node::create(directory_.path() / "node", {.gpus = {{.model = model}}},
                         ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", ALIQUOT_SIM_DIR "/nvidia-smi");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        ASSERT_NO_FATAL_FAILURE(start());
    }
    void start() {
        auto daemon = os::Process::start(command({"-f"}));
        ASSERT_TRUE(daemon) << daemon.error().message;
        daemon_.emplace(*std::move(daemon));
        ASSERT_TRUE(eventually([&] { return ask("get_server_list").exit.code == 0; }));
    }
    [[nodiscard]] os::Command command(const std::vector<std::string>& arguments) const {
        os::Command result{
            .argv = {(directory_.path() / "node/bin/nvidia-cuda-mps-control").native()},
            .environment = {{"CUDA_MPS_PIPE_DIRECTORY", pipe()}},
            .output_path = (directory_.path() / "daemon.out").native()};
        result.argv.insert(result.argv.end(), arguments.begin(), arguments.end());
        return result;
    }
    [[nodiscard]] os::Exchange ask(const std::string& line) const {
        auto done = os::exchange(command({}), line + "\n", {.deadline = 60s});
        return done ? *std::move(done) : os::Exchange{.exit = {.code = -1}, .output = {}};
    }
    [[nodiscard]] std::string pipe() const { return (directory_.path() / "pipe").native(); }

    os::TemporaryDirectory directory_;
    std::optional<Node> node_;
    std::optional<os::Process> daemon_;
};

TEST_F(MpsTest, AClientGetsTheLimitsThatHeldWhenItsServerStarted) {
    ASSERT_NO_FATAL_FAILURE(make("rtx-3090"));
    ASSERT_EQ(ask("set_default_device_pinned_mem_limit 0 3072M").exit.code, 0);
    ASSERT_EQ(ask("set_default_active_thread_percentage 12").output, "12.0\n");
    const auto client = Client::connect(pipe(), "workload");
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_EQ(client->memory_limit(), 3 * kGiB);
    EXPECT_EQ(client->thread_percent(), 12U);
    EXPECT_THAT(ask("ps").output, HasSubstr("workload"));
    EXPECT_EQ(ask("get_client_list " + std::to_string(client->server())).output,
              std::to_string(::getpid()) + "\n");
    EXPECT_EQ(ask("get_default_device_pinned_mem_limit 0").output, "3G\n");
}

TEST_F(MpsTest, APreVoltaServerHasNoLimitsAndSixteenClients) {
    ASSERT_NO_FATAL_FAILURE(make("gtx-1070"));
    ASSERT_EQ(ask("set_default_active_thread_percentage 12").exit.code, 0);
    std::vector<Client> clients;
    for (int i = 0; i < 16; ++i) {
        auto client = Client::connect(pipe(), "workload");
        ASSERT_TRUE(client) << client.error().message;
        EXPECT_EQ(client->thread_percent(), 100U);
        clients.push_back(*std::move(client));
    }
    const auto another = Client::connect(pipe(), "workload");
    ASSERT_FALSE(another);
    EXPECT_THAT(another.error().message, HasSubstr("16 clients already"));
}

TEST_F(MpsTest, AnExclusiveGpuTakesTheServerAndItsClientsAndNobodyElse) {
    ASSERT_NO_FATAL_FAILURE(make("a2"));
    const auto smi =
        os::exchange({.argv = {(directory_.path() / "node/bin/nvidia-smi").native(), "-c", "3"},
                      .environment = {}},
                     "", {.deadline = 60s});
    ASSERT_TRUE(smi);
    ASSERT_EQ(smi->exit.code, 0) << smi->output;
    auto client = Client::connect(pipe(), "workload");
    ASSERT_TRUE(client) << client.error().message;
    const auto own = static_cast<std::uint32_t>(::getpid());
    EXPECT_FALSE(node_->set_process(0, own, kGiB, 10));
    EXPECT_TRUE(node_->set_process(0, own, kGiB, 10, {}, ProcessKind::kMpsClient));
    ASSERT_TRUE(node_->set_process(0, own, 0, 0));
}

TEST_F(MpsTest, AServerOutlivesItsDaemonUntilItsClientsHaveLeft) {
    ASSERT_NO_FATAL_FAILURE(make("a2"));
    std::optional<Client> client;
    {
        auto connected = Client::connect(pipe(), "workload");
        ASSERT_TRUE(connected) << connected.error().message;
        client.emplace(*std::move(connected));
    }
    const auto server = static_cast<pid_t>(client->server());
    ::kill(daemon_->pid(), SIGKILL);
    ASSERT_TRUE(daemon_->wait(60s));
    EXPECT_TRUE(client->connected());
    EXPECT_EQ(::kill(server, 0), 0);
    ASSERT_NO_FATAL_FAILURE(start());  // the directory is free for the next one
    client.reset();
    EXPECT_TRUE(eventually([&] { return has_ended(server); }));
}

TEST_F(MpsTest, ADaemonInTheBackgroundListensOnceItsStarterHasEnded) {
    ASSERT_NO_FATAL_FAILURE(make("a2"));
    ASSERT_EQ(ask("quit").exit.code, 0);
    ASSERT_TRUE(daemon_->wait(60s));
    for (int i = 0; i < 5; ++i) {
        const auto started = os::exchange(command({"-d"}), "", {.deadline = 60s});
        ASSERT_TRUE(started) << started.error().message;
        ASSERT_EQ(started->exit.code, 0) << started->output;
        EXPECT_EQ(ask("get_server_list").exit.code, 0) << i;
        const auto second = os::exchange(command({"-d"}), "", {.deadline = 60s});
        ASSERT_TRUE(second) << second.error().message;
        EXPECT_EQ(second->exit.code, 1) << "there is one already";
        EXPECT_EQ(ask("quit").exit.code, 0);
        ASSERT_TRUE(eventually([&] { return ask("get_server_list").exit.code != 0; }));
    }
}

TEST_F(MpsTest, TheSecondDaemonOfADirectoryIsRefused) {
    ASSERT_NO_FATAL_FAILURE(make("a2"));
    const auto second = os::exchange(command({"-f"}), "", {.deadline = 60s});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(second->exit.code, 1);
    EXPECT_THAT(second->output, HasSubstr("already running"));
}

TEST(MpsClient, ItsOwnLimitIsReadFromTheVariable) {
    EXPECT_EQ(limit_of_first_device("0=1G,1=512M"), kGiB);
    EXPECT_EQ(limit_of_first_device("1=1G"), std::nullopt);
    EXPECT_EQ(limit_of_first_device("0="), std::nullopt);
    EXPECT_EQ(amount_text(3 * kGiB), "3G");
}

}  // namespace
}  // namespace aliquot::sim::mps
