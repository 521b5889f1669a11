// SPDX-License-Identifier: Apache-2.0
// The vocabulary of nvidia-cuda-mps-control, asked through mps::Control. The simulated program
// answers always; NVIDIA's where it is installed and ALIQUOT_TEST_MPS_GPU names a GPU that the test
// may use.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "mps/control.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/mps/client.h"
#include "sim/node/node.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1ULL << 20U;

bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < end) {
        if (holds()) return true;
        std::this_thread::sleep_for(5ms);  // polls: another process does it
    }
    return false;
}

class MpsControlContract : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        std::string program;
        if (GetParam()) {
            auto node = sim::Node::create(directory_.path() / "node", {.gpus = {{"a100-40", 1}}},
                                          ALIQUOT_SIM_DIR "/libnvidia-ml.so.1",
                                          ALIQUOT_SIM_DIR "/nvidia-smi");
            ASSERT_TRUE(node) << node.error().message;
            gpu_.text = node->gpus().front().uuid;
            program = (directory_.path() / "node/usr/bin/nvidia-cuda-mps-control").native();
        } else {
            const char* const gpu = std::getenv("ALIQUOT_TEST_MPS_GPU");  // NOLINT(concurrency*)
            program = "/usr/bin/nvidia-cuda-mps-control";
            if (gpu == nullptr || ::access(program.c_str(), X_OK) != 0) {
                GTEST_SKIP() << "NVIDIA's program is not here, or ALIQUOT_TEST_MPS_GPU is not set";
            }
            gpu_.text = gpu;
        }
        const std::string pipe = (directory_.path() / "pipe").native();
        auto environment = os::current_environment();
        control_.emplace(mps::Control::Options{.program = program,
                                               .environment = environment,
                                               .pipe_directory = pipe,
                                               .deadline = 60s});
        EXPECT_EQ(control_->servers().error().code, ErrorCode::kUnavailable) << "before the daemon";
        std::filesystem::create_directories(pipe);
        environment["CUDA_MPS_PIPE_DIRECTORY"] = pipe;
        environment["CUDA_MPS_LOG_DIRECTORY"] = directory_.path().native();
        environment["CUDA_VISIBLE_DEVICES"] = gpu_.text;
        auto daemon = os::Process::start({.argv = {program, "-f"},
                                          .environment = environment,
                                          .output_path = (directory_.path() / "out").native()});
        ASSERT_TRUE(daemon) << daemon.error().message;
        daemon_.emplace(*std::move(daemon));
        ASSERT_TRUE(eventually([&] { return control_->servers().ok(); }));
    }

    os::TemporaryDirectory directory_;
    gpu::Uuid gpu_;
    std::optional<mps::Control> control_;
    std::optional<os::Process> daemon_;
};

TEST_P(MpsControlContract, ANewDaemonHasNoServerNoClientAndNoLimit) {
    EXPECT_TRUE(control_->servers()->empty());
    EXPECT_TRUE(control_->clients()->empty());
    EXPECT_EQ(*control_->default_thread_percentage(), 100.0);
}

TEST_P(MpsControlContract, DefaultLimitsAreKept) {
    ASSERT_TRUE(control_->set_default_thread_percentage(12));
    EXPECT_EQ(*control_->default_thread_percentage(), 12.0);
    ASSERT_TRUE(control_->set_default_memory_limit(gpu_, 3072 * kMiB));
    const auto limit = control_->default_memory_limit(gpu_);
    ASSERT_TRUE(limit) << limit.error().message;
    EXPECT_EQ(*limit, 3072 * kMiB);
}

TEST_P(MpsControlContract, WhatCannotBeIsRefusedInWords) {
    const auto refused = control_->set_default_thread_percentage(0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << refused.error().message;
    EXPECT_FALSE(control_->set_default_memory_limit({"GPU-no; quit"}, kMiB));
}

TEST_P(MpsControlContract, QuitEndsTheDaemon) {
    ASSERT_TRUE(control_->quit(1s));
    ASSERT_TRUE(daemon_->wait(60s));
    EXPECT_EQ(control_->servers().error().code, ErrorCode::kUnavailable);
}

TEST_P(MpsControlContract, ClientsAreListedWithTheirServerAndCanBeTerminated) {
    if (!GetParam()) GTEST_SKIP() << "needs a CUDA program";
    auto client = sim::mps::Client::connect(control_->options().pipe_directory, "workload");
    ASSERT_TRUE(client) << client.error().message;
    const auto rows = control_->clients();
    ASSERT_TRUE(rows) << rows.error().message;
    ASSERT_EQ(rows->size(), 1U);
    EXPECT_EQ(rows->front().pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(rows->front().server, client->server());
    EXPECT_TRUE(gpu_.text.starts_with(rows->front().device));
    EXPECT_EQ(*control_->servers(), std::vector<std::uint32_t>{client->server()});
    EXPECT_EQ(*control_->server_state(client->server()), mps::ServerState::kActive);
    EXPECT_EQ(*control_->clients_of(client->server()),
              std::vector<std::uint32_t>{rows->front().pid});
    ASSERT_TRUE(control_->terminate_client(client->server(), rows->front().pid));
    EXPECT_TRUE(eventually([&] { return !client->connected(); }));
    EXPECT_FALSE(control_->terminate_client(client->server(), rows->front().pid));
}

TEST_P(MpsControlContract, LimitsOfARunningServerCountForClientsThatComeLater) {
    if (!GetParam()) GTEST_SKIP() << "needs a CUDA program";
    const auto first = sim::mps::Client::connect(control_->options().pipe_directory, "first");
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(control_->set_thread_percentage(first->server(), 30));
    ASSERT_TRUE(control_->set_memory_limit(first->server(), gpu_, 512 * kMiB));
    const auto later = sim::mps::Client::connect(control_->options().pipe_directory, "later");
    ASSERT_TRUE(later) << later.error().message;
    EXPECT_EQ(first->thread_percent(), 100U);
    EXPECT_EQ(later->thread_percent(), 30U);
    EXPECT_EQ(later->memory_limit(), 512 * kMiB);
    ASSERT_TRUE(control_->shut_down_server(first->server(), mps::ServerShutdown::kForced));
    EXPECT_TRUE(eventually([&] { return control_->servers()->empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Programs, MpsControlContract, testing::Values(true, false),
                         [](const auto& program) { return program.param ? "Simulated" : "Real"; });

}  // namespace
}  // namespace aliquot
