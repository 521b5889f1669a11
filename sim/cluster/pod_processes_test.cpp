// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/pod_processes.h"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "os/temporary_directory.h"
#include "pods/census.h"

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;
using Kind = pods::Belonging::Kind;

const PodIdentity kPod{
    .name = "kokoro", .pod_namespace = "speech", .uid = "00000000-0000-4000-8000-000000000001"};

class PodProcessesTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(processes_.begin()); }

    ContainerRun container(const std::string& name, std::vector<std::string> argv) const {
        return ContainerRun({.name = name,
                             .argv = std::move(argv),
                             .environment = {{"PATH", "/usr/bin:/bin"}},
                             .working_directory = directory_.path().native(),
                             .log_path = (directory_.path() / "log").native()});
    }
    /// The pids that the command has written, one a line.
    std::set<std::uint32_t> pids_in_log() const {
        std::ifstream file(directory_.path() / "log");
        return {std::istream_iterator<std::uint32_t>(file), {}};
    }
    bool eventually(ContainerRun& container, const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < end) {
            const auto now = std::chrono::steady_clock::now();
            container.tick(RestartPolicy::kAlways, now);
            processes_.note(kPod, container);
            processes_.refresh(now);
            if (holds()) return true;
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }
    pods::Owner owner(std::uint32_t pid) {
        census_.refresh();
        const auto found = census_.belonging_of(pid);
        return found.kind == Kind::kPod ? found.owner : pods::Owner{};
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path() / "root"};
    os::SystemClock clock_;
    PodProcesses processes_{root_};
    pods::Census census_{root_, clock_, {}, {}};
};

TEST_F(PodProcessesTest, ShowsTheCensusWhoseACommandAndItsChildrenAre) {
    ContainerRun main = container(
        "tts", {"sh", "-c", "echo $$; sleep 1000 & echo $!; (sleep 1000 & echo $!); sleep 1000"});
    std::set<std::uint32_t> pids;
    ASSERT_TRUE(eventually(main, [&] {
        pids = pids_in_log();
        return pids.size() == 3 && std::ranges::all_of(pids, [&](std::uint32_t pid) {
                   return owner(pid).pod == "kokoro";
               });
    }));
    for (const std::uint32_t pid : pids) {
        EXPECT_EQ(owner(pid).pod_uid, kPod.uid);
        EXPECT_EQ(owner(pid).pod_namespace, "speech");
        EXPECT_EQ(owner(pid).container, "tts");
        EXPECT_EQ(owner(pid).container_id.size(), 64U);
    }
    main.stop(0ms);
    // Its children are killed with it, and end when the kernel comes to it.
    const auto end = std::chrono::steady_clock::now() + 60s;
    for (const std::uint32_t pid : pids) {
        auto kind = census_.belonging_of(pid).kind;
        while (kind == Kind::kPod && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(1ms);
            kind = census_.belonging_of(pid).kind;
        }
        EXPECT_EQ(kind, Kind::kGone);
    }
    EXPECT_EQ(processes_.take_problem(), std::nullopt);
}

TEST_F(PodProcessesTest, GivesAContainerThatIsStartedAgainAnotherId) {
    ContainerRun main = container(
        "tts", {"sh", "-c", "echo $$; test -e again || exec touch again; exec sleep 1000"});
    std::set<std::uint32_t> pids;
    ASSERT_TRUE(
        eventually(main, [&] { return main.restarts() == 0 && pids_in_log().size() == 1; }));
    const auto before = root_.list("/var/log/containers");
    ASSERT_TRUE(eventually(main, [&] { return pids_in_log().size() == 2 && main.pid() > 0; }));
    EXPECT_EQ(owner(static_cast<std::uint32_t>(main.pid())).container, "tts");
    const auto after = root_.list("/var/log/containers");
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->size(), 1U);
    EXPECT_NE(*before, *after);
    main.stop(0ms);
}

TEST_F(PodProcessesTest, ShowsAContainerThatOnlyHoldsItsDevices) {
    ContainerRun pause = container("tts", {});
    ASSERT_TRUE(eventually(pause, [&] { return pause.state() == ContainerRun::State::kRunning; }));
    census_.refresh();
    EXPECT_TRUE(root_.exists("/var/log/pods/speech_kokoro_" + kPod.uid + "/tts"));
}

}  // namespace
}  // namespace aliquot::sim::cluster
