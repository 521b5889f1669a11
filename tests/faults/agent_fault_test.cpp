// SPDX-License-Identifier: Apache-2.0
//
// The agent on disks that are full, broken or read-only: each call that writes fails once while it starts, serves and
// gives out a share with limits.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "os/root.h"
#include "sim/kubelet/kubelet.h"
#include "sim/node/node.h"
#include "tests/faults/faulted_process.h"

namespace aliquot::faults {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kConfig =
    "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
    "    - {name: nvidia.com/gpu, replicas: 4, memory: 3Gi, compute: 25}\n";

class AgentFaults : public testing::Test {
protected:
    /// A node of its own for each fault: what one run wrote must not spare the next one a call.
    struct Node {
        os::TemporaryDirectory directory;
        os::Root root{directory.path() / "host"};
        sim::Kubelet kubelet{root, {.dial_timeout = 2000ms}};
        std::optional<os::Process> agent;

        ~Node() {
            if (agent) agent->terminate(30s);
        }
        Node() {
            auto made = sim::Node::create(directory.path() / "driver",
                                          {.gpus = {{.model = "a2", .count = 1}}},
                                          ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
            EXPECT_TRUE(made);
            fs::create_directories(root.base() / "run");
            fs::create_directories(root.base() / "var");
            fs::create_directory_symlink(directory.path() / "driver", root.base() / "driver");
            EXPECT_TRUE(root.write_atomically("/etc/config.yaml", kConfig));
            EXPECT_TRUE(kubelet.start());
        }
        [[nodiscard]] fs::path log() const { return directory.path() / "log"; }
        [[nodiscard]] std::string output() const { return text_of(directory.path() / "output"); }

        void start(const fs::path& under, const Fault& fault) {
            auto started = os::Process::start(
                with_fault({ALIQUOT_BIN_DIR "/aliquot-agent", "--root", root.base().native(),
                            "--driver-root", "/driver", "--metrics-listen", "off", "--config-file",
                            "/etc/config.yaml", "--device-list-strategy", "envvar,cdi-cri",
                            "--guard-library", ALIQUOT_LIB_DIR "/libaliquot-guard.so"},
                           under, log(), fault, directory.path() / "output"));
            ASSERT_TRUE(started) << started.error().message;
            agent.emplace(*std::move(started));
        }
        Result<Done> admit(const std::string& name) {
            auto grants = kubelet.admit({.uid = name,
                                         .pod_namespace = "ai",
                                         .name = name,
                                         .init_containers = {},
                                         .containers = {{.name = "main", .limits = {{kGpu, 1}}}}});
            if (!grants) return grants.error();
            return Done{};
        }
        /// Serves four shares; false when it ended or does not within half a minute.
        bool serves() {
            for (int i = 0; i < 3000 && !agent->poll(); ++i) {
                if (kubelet.resources()[kGpu].allocatable == 4) return true;
                std::this_thread::sleep_for(10ms);  // polls: another process registers
            }
            return false;
        }
    };

    /// What stays left over: kubelet and agent are writing.
    static std::vector<std::string> settled(const fs::path& under) {
        auto left = left_over(under);
        for (int i = 0; i < 200 && !left.empty(); ++i) {
            std::this_thread::sleep_for(10ms);  // polls: other processes write
            left = left_over(under);
        }
        return left;
    }

    /// One run. Its calls, when nothing fails.
    static std::vector<std::string> run(const Fault& fault) {
        Node node;
        const fs::path under = node.root.base();
        node.start(under, fault);
        if (!node.serves()) {
            // It may refuse to start, and must say why; a service manager starts it again.
            const auto exit = node.agent->wait(30s);
            EXPECT_TRUE(exit) << "does not serve and does not end: " << node.output();
            if (exit) {
                EXPECT_EQ(exit->signal, 0);
                EXPECT_THAT(exit->code, testing::AnyOf(2, 3));
            }
            EXPECT_THAT(node.output(), HasSubstr(::strerror(fault.error)));
            node.start(under, {});
            EXPECT_TRUE(node.serves()) << node.output();
        }
        unsigned refused = 0;  // by the one fault, if it had not come before
        for (const char* const name : {"first", "second", "third"}) {
            const auto given = node.admit(name);
            if (given) continue;
            ++refused;
            EXPECT_THAT(given.error().message, HasSubstr(::strerror(fault.error)));
        }
        EXPECT_LE(refused, fault.number == 0 ? 0U : 1U) << node.output();
        EXPECT_FALSE(node.agent->poll()) << node.output();
        const auto exit = node.agent->terminate(30s);
        EXPECT_EQ(exit.code, 0) << node.output();
        node.agent.reset();
        auto calls = lines_of(node.log());
        // The next start removes what a fault in the middle of removing has left.
        node.start(under, {});
        EXPECT_TRUE(node.serves()) << node.output();
        EXPECT_THAT(settled(node.root.base()), ElementsAre());
        return calls;
    }
};

/// Every seventh; all with ALIQUOT_ALL_FAULTS=1.
TEST_F(AgentFaults, EachCallThatWritesFailsOnceAndTheAgentGoesOn) {
    const auto calls = run({});
    ASSERT_GT(calls.size(), 30U);
    const bool all = ::getenv("ALIQUOT_ALL_FAULTS") != nullptr;  // NOLINT(concurrency-mt-unsafe)
    auto faults = faults_for(calls);
    std::erase_if(faults, [&](const Fault& one) {  // what the simulated driver writes is not ours
        return calls[one.number - 1].contains("/driver/");
    });
    unsigned done = 0;
    const unsigned step = all ? 1 : 7;
    for (std::size_t i = 0; i < faults.size(); i += step, ++done) {
        SCOPED_TRACE(faults[i].text() + " " + calls[faults[i].number - 1]);
        run(faults[i]);
        if (HasFailure()) return;
    }
    std::cout << calls.size() << " calls, " << done << " faults\n";
}

/// As a tenant or a neighbour fills it: shares are refused with the reason, the agent lives, and goes on when there
/// is room again.
TEST_F(AgentFaults, AFullRunRefusesSharesAndNamesTheReason) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
    Node node;
    const auto run_directory = node.root.base() / "run";
    if (::mount("none", run_directory.c_str(), "tmpfs", 0, "size=4m") != 0)
        GTEST_SKIP() << "no mounts are allowed here";
    node.start(node.root.base(), {});
    ASSERT_TRUE(node.serves()) << node.output();
    std::ofstream(run_directory / "fill") << std::string(8U << 20U, 'x');
    const auto refused = node.admit("first");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("No space left on device"));
    EXPECT_FALSE(node.agent->poll()) << node.output();
    EXPECT_THAT(settled(node.root.base()), ElementsAre());
    fs::remove(run_directory / "fill");
    const auto given = node.admit("second");
    EXPECT_TRUE(given) << given.error().message;
    node.agent->terminate(30s);
    node.agent.reset();
    ::umount2(run_directory.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace aliquot::faults
