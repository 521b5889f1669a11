// SPDX-License-Identifier: Apache-2.0
// `aliquot run` as people use it: exit codes, signals, books, what it leaves behind.
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "os/exchange.h"
#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kAliquot = ALIQUOT_BIN_DIR "/aliquot";

/// Answers everybody who asks at a socket with one page, until it goes.
class StubAgent {
public:
    StubAgent(const fs::path& socket, const std::string& page)
        : path_(socket), fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(fd_, 4), 0);
        answering_ = std::thread([this, page] {
            const std::string answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + page;
            for (int one = 0; (one = ::accept(fd_, nullptr, nullptr)) >= 0; ::close(one)) {
                std::array<char, 1024> request{};
                (void)::recv(one, request.data(), request.size(), 0);
                (void)::send(one, answer.data(), answer.size(), MSG_NOSIGNAL);
            }
        });
    }
    ~StubAgent() {
        ::shutdown(fd_, SHUT_RDWR);
        answering_.join();
        ::close(fd_);
        fs::remove(path_);
    }
    StubAgent(const StubAgent&) = delete;
    StubAgent& operator=(const StubAgent&) = delete;

private:
    fs::path path_;
    int fd_;
    std::thread answering_;
};

class RunTest : public testing::Test {
protected:
    void SetUp() override {
        auto node =
            sim::Node::create(directory_.path() / "node", {.gpus = {{.model = "a2", .count = 2}}},
                              ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        const fs::path driver = directory_.path() / "node/lib/libcuda.so.1";
        if (!fs::exists(driver)) fs::create_symlink(ALIQUOT_SIM_DIR "/libcuda.so.1", driver);
        environment_ = os::current_environment();
        environment_.erase("CUDA_VISIBLE_DEVICES");
        environment_["ALIQUOT_RUN_DIRECTORY"] = books_;
        environment_["ALIQUOT_AGENT"] = "unix:" + (directory_.path() / "agent.sock").native();
    }

    [[nodiscard]] std::vector<std::string> argv(const std::vector<std::string>& limits,
                                                const std::vector<std::string>& command) const {
        std::vector<std::string> all{kAliquot,          "run",
                                     "--node-state",    (directory_.path() / "node").native(),
                                     "--guard-library", library_};
        all.insert(all.end(), limits.begin(), limits.end());
        all.emplace_back("--");
        all.insert(all.end(), command.begin(), command.end());
        return all;
    }
    [[nodiscard]] os::Exchange run(const std::vector<std::string>& limits,
                                   const std::vector<std::string>& command) const {
        const auto answer = os::exchange(
            {.argv = argv(limits, command), .environment = environment_}, "", {.deadline = 60s});
        if (!answer) throw std::runtime_error(answer.error().message);
        return *answer;
    }
    [[nodiscard]] os::Process start(const std::vector<std::string>& limits,
                                    const std::vector<std::string>& command) const {
        auto process = os::Process::start({.argv = argv(limits, command),
                                           .environment = environment_,
                                           .output_path = (directory_.path() / "log").native()});
        if (!process) throw std::runtime_error(process.error().message);
        return *std::move(process);
    }
    [[nodiscard]] unsigned places() const {
        unsigned count = 0;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(books_, none)) {
            count += entry.is_directory() ? 1U : 0U;
        }
        return count;
    }
    static bool eventually(const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < end) {
            if (holds()) return true;
            std::this_thread::sleep_for(10ms);  // polls: other processes do it
        }
        return false;
    }
    /// A program that says that it runs, then waits for its end.
    [[nodiscard]] std::vector<std::string> waiting(const std::string& trap = "") const {
        return {"sh", "-c", trap + "echo $$ > \"$0\"; while :; do sleep 0.05; done", ready_};
    }
    [[nodiscard]] bool runs() const { return fs::exists(ready_) && fs::file_size(ready_) > 1; }

    os::TemporaryDirectory directory_;
    std::optional<sim::Node> node_;
    std::map<std::string, std::string> environment_;
    fs::path books_ = directory_.path() / "books";
    std::string ready_ = directory_.path() / "ready";
    std::string library_ = ALIQUOT_LIB_DIR "/libaliquot-guard.so";
};

TEST_F(RunTest, GivesTheExitCodeAndSaysNothingItself) {
    const auto seven = run({"--gpu-memory", "2Gi"}, {"sh", "-c", "echo hello; exit 7"});
    EXPECT_EQ(seven.exit.code, 7);
    EXPECT_EQ(seven.output, "hello\n");
    const auto killed = run({"--gpu-memory", "2Gi"}, {"sh", "-c", "kill -TERM $$"});
    EXPECT_EQ(killed.exit.code, 128 + SIGTERM);
    EXPECT_EQ(run({"--gpu-memory", "2Gi"}, {"/no/such/program"}).exit.code, 127);
    EXPECT_EQ(run({"--gpu-memory", "2Gi"}, {"/etc/passwd"}).exit.code, 126);
    EXPECT_EQ(places(), 0U);
}

TEST_F(RunTest, TellsTheProgramItsGpuAndItsGuard) {
    const auto shown = run({"--gpu-memory", "2Gi", "--gpu", "1"},
                           {"sh", "-c",
                            "echo $CUDA_VISIBLE_DEVICES; echo $LD_PRELOAD; cmp -n 8 "
                            "$ALIQUOT_GUARD_CONFIG $ALIQUOT_GUARD_CONFIG && test -f "
                            "$ALIQUOT_GUARD_REGION && echo there"});
    EXPECT_EQ(shown.output, node_->gpus()[1].uuid + "\n" + library_ + "\nthere\n");
    EXPECT_EQ(run({"--gpu-weight", "30"}, {"sh", "-c", "test -S $ALIQUOT_GUARD_NODE && echo turns"})
                  .output,
              "turns\n");
    environment_["LD_PRELOAD"] = ALIQUOT_SIM_DIR "/libnvidia-ml.so.1";
    EXPECT_EQ(run({"--gpu-memory", "2Gi"}, {"sh", "-c", "echo $LD_PRELOAD"}).output,
              library_ + ":" ALIQUOT_SIM_DIR "/libnvidia-ml.so.1\n");
}

TEST_F(RunTest, RefusesWhatDoesNotFitAndTakesTheOtherGpu) {
    os::Process first = start({"--gpu-memory", "10Gi", "--gpu", "0"}, waiting());
    ASSERT_TRUE(eventually([&] { return runs(); }));
    const auto refused = run({"--gpu-memory", "8Gi", "--gpu", "0"}, {"true"});
    EXPECT_EQ(refused.exit.code, 3);
    EXPECT_THAT(refused.output, HasSubstr("8Gi asked for"));
    EXPECT_THAT(refused.output, HasSubstr("1 run has 10Gi"));
    EXPECT_EQ(run({"--gpu-memory", "8Gi", "--gpu", "0", "--overcommit"}, {"true"}).exit.code, 0);
    EXPECT_EQ(run({"--gpu-memory", "8Gi"}, {"sh", "-c", "echo $CUDA_VISIBLE_DEVICES"}).output,
              node_->gpus()[1].uuid + "\n");
    EXPECT_EQ(places(), 1U);
    first.signal(SIGTERM);
    ASSERT_TRUE(first.wait(60s));
    EXPECT_EQ(places(), 0U);
}

TEST_F(RunTest, PassesSignalsOn) {
    os::Process process =
        start({"--gpu-memory", "1Gi"}, waiting("trap 'exit 42' USR1; trap '' HUP; "));
    ASSERT_TRUE(eventually([&] { return runs(); }));
    ::kill(process.pid(), SIGHUP);  // to it alone, not to the group
    ::kill(process.pid(), SIGUSR1);
    const auto exit = process.wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 42);
    EXPECT_EQ(places(), 0U);
}

TEST_F(RunTest, KilledItTakesTheProgramWithItAndTheNextRunClears) {
    os::Process process = start({"--gpu-memory", "12Gi", "--gpu", "0"}, waiting());
    ASSERT_TRUE(eventually([&] { return runs(); }));
    pid_t child = 0;
    std::ifstream(ready_) >> child;
    ASSERT_GT(child, 1);
    ::kill(process.pid(), SIGKILL);
    ASSERT_TRUE(process.wait(60s));
    EXPECT_TRUE(eventually([&] { return !fs::exists("/proc/" + std::to_string(child) + "/cwd"); }));
    EXPECT_EQ(places(), 1U);
    EXPECT_EQ(run({"--gpu-memory", "12Gi", "--gpu", "0"}, {"true"}).exit.code, 0);
    EXPECT_EQ(places(), 0U);
}

TEST_F(RunTest, WithoutAGuardItDoesNotRunUnlessTold) {
    library_ = "/nowhere/libaliquot-guard.so";
    const auto closed = run({"--gpu-memory", "1Gi"}, {"echo", "hello"});
    EXPECT_EQ(closed.exit.code, 3);
    EXPECT_THAT(closed.output, HasSubstr("/nowhere/libaliquot-guard.so"));
    const auto open = run({"--gpu-memory", "1Gi", "--fail", "open"}, {"echo", "hello"});
    EXPECT_EQ(open.exit.code, 0);
    EXPECT_THAT(open.output, HasSubstr("running without limits"));
    EXPECT_THAT(open.output, HasSubstr("hello\n"));
}

TEST_F(RunTest, WrongWordsAreUsageErrors) {
    EXPECT_EQ(run({}, {"true"}).exit.code, 2);
    EXPECT_EQ(run({"--gpu-memory", "much"}, {"true"}).exit.code, 2);
    EXPECT_EQ(run({"--gpu-memory", "1Gi", "--gpu", "9"}, {"true"}).exit.code, 2);
    EXPECT_EQ(run({"--gpu-compute", "50", "--gpu-weight", "3"}, {"true"}).exit.code, 2);
}

constexpr const char* kTenant = ALIQUOT_TEST_DIR "/cuda_tenant";

TEST_F(RunTest, AProgramSeesItsSliceAndGetsNoMore) {
    const auto said = run({"--gpu-memory", "2Gi", "-v"},
                          {kTenant, "info", "alloc:1073741824", "alloc:3221225472", "info"});
    EXPECT_EQ(said.exit.code, 0);
    EXPECT_THAT(said.output, HasSubstr("total 2147483648\nalloc 0\nalloc 2\n")) << said.output;
    EXPECT_THAT(said.output, HasSubstr(" of 2Gi, 1 denied"));
}

TEST_F(RunTest, WhatTheDriverSaysBecomesItsOverhead) {
    const fs::path end = directory_.path() / "end";
    environment_["ALIQUOT_SIM_CUDA_CONTEXT_BYTES"] = "314572800";
    os::Process process =
        start({"--gpu-memory", "2Gi"}, {kTenant, "alloc:1073741824", "wait:" + end.native()});
    std::string seen;
    EXPECT_TRUE(eventually([&] {
        const auto answer = os::exchange(
            {.argv = {kAliquot, "guard", "status", "-o", "json"}, .environment = environment_}, "",
            {.deadline = 60s});
        seen = answer ? answer->output : answer.error().message;
        return seen.contains("\"trackedBytes\": 1073741824") &&
               seen.contains("\"overheadBytes\": 314572800");
    })) << seen;
    std::ofstream(end) << "";
    const auto exit = process.wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0);
}

TEST_F(RunTest, IsListedBesideWhatAnAgentWatches) {
    const fs::path end = directory_.path() / "end";
    os::Process process =
        start({"--gpu-memory", "2Gi"}, {kTenant, "alloc:1073741824", "wait:" + end.native()});
    const auto status = [&] {
        const auto answer =
            os::exchange({.argv = {kAliquot, "guard", "status"}, .environment = environment_}, "",
                         {.deadline = 60s});
        return answer ? answer->output : answer.error().message;
    };
    std::string seen;
    EXPECT_TRUE(eventually([&] {
        seen = status();
        return seen.contains("cuda_tenant");
    })) << seen;
    {
        const StubAgent agent(
            directory_.path() / "agent.sock",
            R"({"guard":{"containers":[{"container":"of-the-agent","devices":[{"uuid":"GPU-0"}]}]}})");
        seen = status();
        EXPECT_THAT(seen, HasSubstr("of-the-agent"));
        EXPECT_THAT(seen, HasSubstr("cuda_tenant"));
    }
    {
        const StubAgent agent(directory_.path() / "agent.sock", "no JSON");
        seen = status();
        EXPECT_THAT(seen, HasSubstr("its /status is not of this version"));
        EXPECT_THAT(seen, HasSubstr("cuda_tenant"));
    }
    environment_["ALIQUOT_AGENT"] = "nonsense";
    EXPECT_THAT(status(), HasSubstr("ALIQUOT_AGENT: 'nonsense' is not an agent address"));
    std::ofstream(end) << "";
    ASSERT_TRUE(process.wait(60s));
}

TEST_F(RunTest, ProgramsTogetherEachKeepTheirOwn) {
    const fs::path end = directory_.path() / "end";
    std::vector<os::Process> runs;
    runs.reserve(3);
    for (int i = 0; i < 3; ++i) {
        runs.push_back(start(
            {"--gpu-memory", "4Gi", "--gpu", "0", "--gpu-weight", "10"},
            {kTenant, "alloc:3221225472", "alloc:3221225472", "spin:20", "wait:" + end.native()}));
    }
    const auto log = [&] {
        std::ifstream file(directory_.path() / "log");
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const auto count = [&](std::string_view line) {
        int found = 0;
        const std::string text = log();
        for (auto at = text.find(line); at != text.npos; at = text.find(line, at + 1)) ++found;
        return found;
    };
    EXPECT_TRUE(eventually([&] { return count("spun 0\n") == 3; })) << log();
    EXPECT_EQ(count("alloc 0\n"), 3);
    EXPECT_EQ(count("alloc 2\n"), 3);
    EXPECT_EQ(places(), 3U);
    std::ofstream(end) << "";
    for (os::Process& one : runs) EXPECT_TRUE(one.wait(60s));
    EXPECT_EQ(places(), 0U);
}

TEST_F(RunTest, SaysAtTheEndWhatWasUsedWhenAsked) {
    const auto said = run({"--gpu-memory", "1Gi", "-v"}, {"true"});
    EXPECT_EQ(said.exit.code, 0);
    EXPECT_THAT(said.output, HasSubstr("peak 0 of 1Gi, 0 denied"));
}

}  // namespace
}  // namespace aliquot
