// SPDX-License-Identifier: Apache-2.0
#include "sim/node/node.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

#include "os/temporary_directory.h"
#include "sim/node/fault.h"
#include "sim/node/processes.h"
#include "sim/node/shared_state.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30;

/// A directory with a node in it, and stand-ins for the files that create() copies.
class NodeTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::ofstream(temporary_.path() / "library.so") << "library";
        std::ofstream(temporary_.path() / "smi") << "smi";
    }

    Result<Node> create(std::vector<GpuRequest> gpus) {
        return Node::create(directory_, {.gpus = std::move(gpus)}, temporary_.path() / "library.so",
                            temporary_.path() / "smi");
    }

    std::unique_ptr<SharedState> open_state() {
        auto state = SharedState::open(directory_ / kStateFile);
        EXPECT_TRUE(state) << state.error().message;
        return *std::move(state);
    }

    /// Runs `body` in a child process until it ends, and returns its wait status.
    static int in_child(const std::function<void()>& body) {
        const pid_t child = ::fork();
        if (child == 0) {
            body();
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return status;
    }

    os::TemporaryDirectory temporary_;
    std::filesystem::path directory_ = temporary_.path() / "node";
};

TEST_F(NodeTest, HasTheGpusThatWereAskedFor) {
    const auto node = create({{.model = "a2"}, {.model = "h100-80", .count = 8}});
    ASSERT_TRUE(node) << node.error().message;
    const auto gpus = node->gpus();
    ASSERT_EQ(gpus.size(), 9U);
    EXPECT_EQ(gpus[0].product, "NVIDIA A2");
    EXPECT_EQ(gpus[0].memory_total_bytes, std::uint64_t{15356} << 20);
    EXPECT_EQ(gpus[8].product, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(gpus[8].index, 8U);
    EXPECT_NE(gpus[7].uuid, gpus[8].uuid);
    EXPECT_LT(gpus[7].pci_bus_id, gpus[8].pci_bus_id);
}

TEST_F(NodeTest, LooksTheSameEachTimeItIsMade) {
    const auto uuid = create({{.model = "t4"}})->gpus()[0].uuid;
    ASSERT_TRUE(Node::destroy(directory_));
    EXPECT_EQ(create({{.model = "t4"}})->gpus()[0].uuid, uuid);
}

TEST_F(NodeTest, MakesADriverRoot) {
    const auto node = create({{.model = "a100-40", .count = 2}});
    ASSERT_TRUE(node) << node.error().message;
    for (const auto* name :
         {"lib/libnvidia-ml.so.1", "lib/libnvidia-ml.so.580.65.06", "bin/nvidia-smi",
          "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "usr/bin/nvidia-smi", "dev/nvidia0",
          "dev/nvidia1", "dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia-uvm-tools",
          "dev/nvidia-caps/nvidia-cap1", "proc/driver/nvidia/version",
          "proc/driver/nvidia/gpus/0000:07:00.0/information",
          "sys/bus/pci/devices/0000:07:00.0/numa_node"}) {
        EXPECT_TRUE(std::filesystem::exists(directory_ / name)) << name;
    }
    std::ifstream minors(directory_ / "proc/driver/nvidia-caps/mig-minors");
    const std::string text{std::istreambuf_iterator<char>(minors), {}};
    EXPECT_TRUE(text.contains("config 1\nmonitor 2\n"));
    EXPECT_TRUE(text.contains("\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n"));
}

TEST_F(NodeTest, LeavesNothingBehindWhenItCannotBeMade) {
    const auto node = Node::create(directory_, {.gpus = {{.model = "a2"}}},
                                   temporary_.path() / "no-such-library", {});
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(NodeTest, LeavesADirectoryAloneThatHoldsSomethingElse) {
    std::filesystem::create_directories(directory_ / "lib");
    std::ofstream(directory_ / "lib/precious") << "x";
    const auto node = create({{.model = "a2"}});
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(std::filesystem::exists(directory_ / "lib/precious"));
}

TEST_F(NodeTest, IsNotMadeTwice) {
    ASSERT_TRUE(create({{.model = "a2"}}));
    const auto second = create({{.model = "t4"}});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_NE(second.error().message.find("aliquot sim down --state "), std::string::npos);
    EXPECT_EQ(Node::open(directory_)->gpus()[0].model, "a2");
}

TEST_F(NodeTest, CleansUpAfterACreatorThatWasKilled) {
    std::filesystem::create_directories(directory_ / "lib");
    std::ofstream(directory_ / ".node.unfinished") << "";
    const auto node = create({{.model = "a2"}});
    EXPECT_TRUE(node) << node.error().message;
}

TEST_F(NodeTest, IsLostToWhoeverHasItOpenWhenItIsDestroyed) {
    auto node = create({{.model = "a2"}});
    ASSERT_TRUE(Node::destroy(directory_));
    EXPECT_FALSE(std::filesystem::exists(directory_));
    EXPECT_EQ(node->gpus()[0].fault, "lost");
    EXPECT_FALSE(node->set_process(0, static_cast<std::uint32_t>(::getpid()), kGi, 10));
    EXPECT_EQ(Node::open(directory_).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(Node::destroy(directory_).error().code, ErrorCode::kNotFound);
}

TEST_F(NodeTest, RefusesFilesThatAreNoState) {
    ASSERT_TRUE(create({{.model = "a2"}}));
    const auto file = directory_ / kStateFile;
    const auto whole = std::filesystem::file_size(file);
    std::string good(whole, '\0');
    std::ifstream(file).read(good.data(), static_cast<std::streamsize>(whole));
    const auto code_for = [&](const std::string& content) {
        std::filesystem::remove(file);
        std::ofstream(file) << content;
        const auto node = Node::open(directory_);
        return node ? ErrorCode::kInternal : node.error().code;
    };
    EXPECT_EQ(code_for(""), ErrorCode::kInvalidInput);
    EXPECT_EQ(code_for(good.substr(0, 100)), ErrorCode::kInvalidInput);
    EXPECT_EQ(code_for(good + "x"), ErrorCode::kInvalidInput);
    EXPECT_EQ(code_for(std::string(whole, '\xff')), ErrorCode::kInvalidInput);
    auto changed = [&](std::size_t offset, char value) {
        std::string content = good;
        content[offset] = value;
        return content;
    };
    EXPECT_EQ(code_for(changed(offsetof(State, version), 99)), ErrorCode::kInvalidInput);
    EXPECT_EQ(code_for(changed(offsetof(State, gpu_count), 99)), ErrorCode::kInvalidInput);
    EXPECT_EQ(code_for(changed(offsetof(State, gpus), '!')), ErrorCode::kInvalidInput);
    std::filesystem::remove(file);
    std::filesystem::create_symlink("/dev/zero", file);
    EXPECT_FALSE(Node::open(directory_));
}

TEST_F(NodeTest, SurvivesNonsenseInItsTables) {
    auto node = create({{.model = "a2"}});
    {
        const auto shared = open_state();
        const auto state = shared->lock();
        for (ProcessState& process : (*state)->processes) {
            process = {.pid = 1, .gpu = 4'000'000'000, .memory_bytes = ~std::uint64_t{0}};
        }
        (*state)->next_event = ~std::uint64_t{0};
        for (GpuState& gpu : (*state)->gpus) gpu.uuid = Text<48>{};
    }
    EXPECT_EQ(node->gpus()[0].processes, 0U);
    EXPECT_TRUE(node->inject(0, FaultKind::kXid, 31));
    EXPECT_TRUE(node->inject(0, FaultKind::kXid, 31));
    EXPECT_TRUE(node->set_process(0, static_cast<std::uint32_t>(::getpid()), kGi, 10));
}

TEST_F(NodeTest, SharesMemoryBetweenProcesses) {
    auto node = create({{.model = "a2"}});
    const auto idle = node->gpus()[0].memory_used_bytes;
    int ready[2];
    int finish[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(finish), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(finish[1]);
        auto mine = Node::open(directory_);
        const bool held =
            mine && mine->set_process(0, static_cast<std::uint32_t>(::getpid()), 9 * kGi, 40).ok();
        char byte = held ? 'y' : 'n';
        (void)!::write(ready[1], &byte, 1);
        (void)!::read(finish[0], &byte, 1);  // until the other end is closed
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    EXPECT_EQ(node->gpus()[0].memory_used_bytes, idle + 9 * kGi);
    EXPECT_EQ(node->gpus()[0].processes, 1U);

    const auto mine = static_cast<std::uint32_t>(::getpid());
    const auto refused = node->set_process(0, mine, 8 * kGi, 10);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(node->set_process(0, mine, 4 * kGi, 10));

    ::kill(child, SIGKILL);  // frees nothing by itself
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(node->gpus()[0].memory_used_bytes, idle + 4 * kGi);
    EXPECT_TRUE(node->set_process(0, mine, 0, 0));
    EXPECT_EQ(node->gpus()[0].memory_used_bytes, idle);
    for (const int end : {ready[0], ready[1], finish[0], finish[1]}) ::close(end);
}

TEST_F(NodeTest, FreesTheMemoryOfAProcessThatNobodyHasWaitedFor) {
    auto node = create({{.model = "a2"}});
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(gate[1]);
        char byte = 0;
        (void)!::read(gate[0], &byte, 1);
        ::_exit(0);
    }
    ASSERT_TRUE(node->set_process(0, static_cast<std::uint32_t>(child), kGi, 10));
    EXPECT_EQ(node->gpus()[0].processes, 1U);
    ::close(gate[0]);
    ::close(gate[1]);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(node->gpus()[0].processes, 0U);
    ::waitpid(child, nullptr, 0);
}

TEST_F(NodeTest, NoticesThatAPidWasGivenToAnotherProcess) {
    auto node = create({{.model = "a2"}});
    const auto mine = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(node->set_process(0, mine, kGi, 10));
    (*open_state()->lock())->processes[0].start_time += 1;
    EXPECT_EQ(node->gpus()[0].processes, 0U);
}

TEST_F(NodeTest, LeavesProcessesOfOtherPidNamespacesAlone) {
    auto node = create({{.model = "a2"}});
    ASSERT_TRUE(node->set_process(0, static_cast<std::uint32_t>(::getpid()), kGi, 10));
    {
        const auto shared = open_state();
        const auto state = shared->lock();
        (*state)->processes[0].pid_namespace += 1;
        (*state)->processes[0].pid = 4'000'000;
    }
    EXPECT_EQ(node->gpus()[0].processes, 1U);
}

TEST_F(NodeTest, KnowsNoProcessThatDoesNotExist) {
    auto node = create({{.model = "a2"}});
    EXPECT_EQ(node->set_process(0, 0x7ffffff0, kGi, 10).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(node->set_process(7, 1, kGi, 10).error().code, ErrorCode::kNotFound);
}

TEST_F(NodeTest, GoesOnWhenAProcessIsKilledWhileItHoldsTheLock) {
    auto node = create({{.model = "a2"}});
    for (int round = 0; round < 3; ++round) {
        const int status = in_child([&] {
            const auto shared = SharedState::open(directory_ / kStateFile);
            const auto state = (*shared)->lock();
            (*state)->processes[round].memory_bytes = kGi;  // half of an entry
            ::kill(::getpid(), SIGKILL);
        });
        ASSERT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(node->gpus()[0].processes, 0U);
        EXPECT_TRUE(node->inject(0, FaultKind::kTemperature, 60));
    }
}

TEST_F(NodeTest, SurvivesKillsAtAnyPointOfACall) {
    auto node = create({{.model = "a2", .count = 2}});
    const auto idle = node->gpus()[0].memory_used_bytes;
    for (int round = 0; round < 20; ++round) {
        int started[2];
        ASSERT_EQ(::pipe(started), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            auto mine = Node::open(directory_);
            const auto pid = static_cast<std::uint32_t>(::getpid());
            for (std::uint64_t i = 1;; ++i) {
                (void)mine->set_process(i % 2, pid, i % 5 * kGi, 10);
                (void)mine->inject(1, FaultKind::kXid, 1 + i % 30);
                if (i == 10) (void)!::write(started[1], "x", 1);
            }
        }
        char byte = 0;
        ASSERT_EQ(::read(started[0], &byte, 1), 1);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        ::close(started[0]);
        ::close(started[1]);
        ASSERT_EQ(node->gpus().size(), 2U);
        ASSERT_EQ(node->gpus()[0].memory_used_bytes, idle);
    }
}

TEST_F(NodeTest, ShowsFaultsAndTakesThemBack) {
    auto node = create({{.model = "a2", .count = 2}});
    EXPECT_TRUE(node->inject(1, FaultKind::kXid, 79));
    EXPECT_EQ(node->gpus()[1].fault, "lost");
    EXPECT_EQ(node->gpus()[1].last_xid, 79U);
    EXPECT_EQ(node->gpus()[0].fault, "");
    EXPECT_TRUE(node->inject(1, FaultKind::kClear, 0));
    EXPECT_EQ(node->gpus()[1].fault, "");
    EXPECT_TRUE(node->inject(0, FaultKind::kCallError, 999));
    EXPECT_EQ(node->gpus()[0].fault, "call error 999");
    EXPECT_TRUE(node->inject(0, FaultKind::kClear, 0));
    EXPECT_TRUE(node->inject(0, FaultKind::kXid, 48));
    EXPECT_EQ(node->gpus()[0].fault, "needs GPU reset");
    EXPECT_TRUE(node->inject(0, FaultKind::kClear, 0));
    EXPECT_TRUE(node->inject(0, FaultKind::kXid, 31));
    EXPECT_EQ(node->gpus()[0].fault, "");
}

TEST_F(NodeTest, RefusesFaultsThatCannotBe) {
    auto node = create({{.model = "a2"}, {.model = "gtx-1070"}});
    EXPECT_EQ(node->inject(2, FaultKind::kLost, 0).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(node->inject(0, FaultKind::kXid, 0).error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(node->inject(0, FaultKind::kCallError, 1000).error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(node->inject(0, FaultKind::kTemperature, 999).error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(node->inject(1, FaultKind::kEccCorrected, 1).error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(node->inject(0, FaultKind::kEccCorrected, 1));
}

TEST_F(NodeTest, WakesASleeperInAnotherProcess) {
    auto node = create({{.model = "a2"}});
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto shared = SharedState::open(directory_ / kStateFile);
        const auto seen = (*shared)->change();
        (void)!::write(ready[1], "x", 1);
        while ((*shared)->change() == seen) (*shared)->wait_change(seen, std::chrono::seconds(1));
        const auto state = (*shared)->lock();
        const EventState& event = (*state)->events[0];
        ::_exit((*state)->next_event == 1 && event.data == 13 && event.type == kEventXid ? 0 : 1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ASSERT_TRUE(node->inject(0, FaultKind::kXid, 13));
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(NodeTest, CanBeUsedByManyThreads) {
    auto node = create({{.model = "a2", .count = 4}});
    const auto pid = static_cast<std::uint32_t>(::getpid());
    std::vector<std::jthread> threads;
    for (unsigned gpu = 0; gpu < 4; ++gpu) {
        threads.emplace_back([&, gpu] {
            for (int i = 0; i < 200; ++i) {
                EXPECT_TRUE(node->set_process(gpu, pid, kGi, 10));
                EXPECT_EQ(node->gpus().size(), 4U);
                EXPECT_TRUE(node->set_process(gpu, pid, 0, 0));
            }
        });
    }
    threads.clear();
    EXPECT_EQ(node->gpus()[0].processes, 0U);
}

TEST_F(NodeTest, TakesOnlyDriverVersionsThatCanBeFileNames) {
    for (const auto* version : {"", "580", "../580.1", "580..1", ".580.1", "580.1.", "580.1/x"}) {
        const auto node =
            Node::create(directory_, {.gpus = {{.model = "a2"}}, .driver_version = version},
                         temporary_.path() / "library.so", {});
        ASSERT_FALSE(node) << version;
        EXPECT_EQ(node.error().code, ErrorCode::kInvalidInput) << version;
    }
}

}  // namespace
}  // namespace aliquot::sim
