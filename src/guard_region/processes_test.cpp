// SPDX-License-Identifier: Apache-2.0
#include "guard_region/processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

using namespace std::chrono_literals;

const std::string kId = "0123456789abcdef0123456789abcdef";

TEST(Processes, TheInnermostPidIsTheLast) {
    EXPECT_EQ(parse_inner_pid("Name:\tx\nNSpid:\t4711\t12\t1\nVmPeak:\t1\n"), 1U);
    EXPECT_EQ(parse_inner_pid("NSpid:\t4711\n"), 4711U);
    EXPECT_FALSE(parse_inner_pid("NSpid:\n"));
    EXPECT_FALSE(parse_inner_pid("Pid:\t1\n"));
}

TEST(Processes, ARegionIsKnownByWhatIsMounted) {
    const std::string other = "22 1 0:21 / /proc rw - proc proc rw\n";
    const std::string line = "36 35 0:25 /aliquot/regions/" + kId +
                             "/guard /run/aliquot/guard ro,nosuid - tmpfs tmpfs rw\n";
    EXPECT_EQ(parse_region(other + line + other), kId);
    EXPECT_EQ(parse_region("36 35 0:25 /aliquot/regions/" + kId +
                           "/guard//deleted /run/aliquot/guard ro - tmpfs tmpfs rw\n"),
              kId);
    EXPECT_EQ(parse_region(other), "");
    EXPECT_EQ(parse_region(""), "");
    EXPECT_EQ(parse_region("\n\n36\n36 35 0:25\n"), "");
}

TEST(Processes, NoMountOfATenantHidesItsRegionOrTellsAnother) {
    const std::string line =
        "36 35 0:25 /aliquot/regions/" + kId + "/guard /run/aliquot/guard ro - tmpfs tmpfs rw\n";
    EXPECT_EQ(parse_region(line + "40 36 0:30 / /run/aliquot/guard rw - tmpfs x rw\n"), kId);
    // The ledger's own mount is left, or the region is bound to some other place.
    EXPECT_EQ(parse_region("37 36 0:25 /aliquot/regions/" + kId +
                           "/guard/ledger /run/aliquot/guard/ledger rw - tmpfs x rw\n"),
              kId);
    EXPECT_EQ(parse_region("37 36 0:25 /regions/" + kId + "/guard /hidden ro - tmpfs x rw\n"), kId);
    // A directory of its own that has the name of a neighbour's region.
    const std::string neighbour(32, 'f');
    const std::string faked =
        "40 36 0:30 /regions/" + neighbour + "/guard /run/aliquot/guard rw - tmpfs x rw\n";
    EXPECT_EQ(parse_region(line + faked), kId);
    EXPECT_EQ(parse_region(faked + line, "0:25"), kId);
    EXPECT_EQ(parse_region(faked, "0:25"), "");
}

TEST(Processes, TheDeviceOfRegionsIsThatOfTheLastMountAbove) {
    const std::string mounts =
        "1 0 8:1 / / rw - ext4 x rw\n2 1 0:25 / /run rw - tmpfs t rw\n"
        "3 1 0:30 / /runtime rw - tmpfs t rw\n4 2 0:31 / /run/a\\040b rw - tmpfs t rw\n";
    EXPECT_EQ(parse_device(mounts, "/run/aliquot/regions"), "0:25");
    EXPECT_EQ(parse_device(mounts, "/var/x"), "8:1");
    EXPECT_EQ(parse_device(mounts, "/run/a b/c"), "0:31");
    EXPECT_EQ(parse_device(mounts + "5 2 0:40 / /run rw - tmpfs t rw\n", "/run/x"), "0:40");
    EXPECT_EQ(parse_device("", "/run"), "");
}

TEST(Processes, AnIdHasThirtyTwoDigits) {
    EXPECT_EQ(region_id_in("/a/" + kId + "/guard"), kId);
    EXPECT_EQ(region_id_in("/a/" + kId), "");
    EXPECT_EQ(region_id_in("/a/x" + kId + "/guard"), "");
    EXPECT_EQ(region_id_in("/guard"), "");
    EXPECT_EQ(region_id_in("/a/" + kId + "/guard/ledger"), kId);
    EXPECT_EQ(region_id_in("/a/" + kId + "/guards"), "");
    EXPECT_EQ(region_id_in(kId + "/guard"), "");
}

/// A /proc that the test writes.
class SimulatedProcesses : public testing::Test {
protected:
    void set(int pid, const std::string& cgroup, const std::string& mountinfo = "",
             const std::string& state = "S", unsigned threads = 1) {
        const std::string place = "/proc/" + std::to_string(pid) + "/";
        std::string stat = std::to_string(pid) + " (a) b) " + state;
        for (int field = 4; field < 20; ++field) stat += " " + std::to_string(field);
        stat += " " + std::to_string(threads) + " 0 987 23 24\n";
        ASSERT_TRUE(root_.write_atomically(place + "stat", stat));
        ASSERT_TRUE(root_.write_atomically(place + "status", "NSpid:\t4711\t7\n"));
        ASSERT_TRUE(root_.write_atomically(place + "cgroup", cgroup + "\n"));
        ASSERT_TRUE(root_.write_atomically(place + "mountinfo", mountinfo));
    }
    [[nodiscard]] static std::string mounted(const std::string& id) {
        return "36 35 0:25 /regions/" + id + "/guard /run/aliquot/guard ro - tmpfs tmpfs rw\n";
    }
    std::string region_of(pid_t pid) {
        const auto process = processes_.look(pid);
        return process ? process->region : "gone";
    }

    const std::string pod_ = "/kubepods/pod8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284/";
    const std::string ours_ = pod_ + std::string(64, 'a');
    const std::string other_ = pod_ + std::string(64, 'b');
    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    HostProcesses processes_{root_};
};

TEST_F(SimulatedProcesses, AreFound) {
    set(4711, "0::/kubepods.slice/c");
    ASSERT_TRUE(root_.write_atomically("/proc/4711/environ",
                                       "ALIQUOT_GUARD_REGION=/x/" + kId + "/guard/ledger"));
    const auto process = processes_.look(4711);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->start_ticks, 987U);
    EXPECT_EQ(process->inner_pid, 7U);
    EXPECT_EQ(process->command, "a) b");
    EXPECT_EQ(process->region, "");  // a container of a pod may say what it likes
    ASSERT_TRUE(root_.write_atomically("/proc/4711/cgroup", "0::/user.slice\n"));
    EXPECT_EQ(region_of(4711), kId);
    EXPECT_FALSE(processes_.look(1));
    EXPECT_FALSE(processes_.look(-1));
}

TEST_F(SimulatedProcesses, OfAContainerAreKnownWhateverTheyMountOrWhereverTheyMove) {
    set(1, "0::" + ours_, mounted(kId));
    set(2, "0::" + ours_);
    set(3, "0::" + ours_ + "/below/deeper");
    set(4, "0::" + other_);
    // A group with a neighbour's name, in a container that may make groups.
    set(5, "0::" + ours_ + other_);
    set(6, "9:memory:" + ours_ + "\n0::/");
    EXPECT_EQ(region_of(4), "");
    // By the first process, which the driver does not list.
    EXPECT_EQ(region_of(2), kId);
    for (const pid_t pid : {2, 3, 5, 6}) EXPECT_EQ(region_of(pid), kId) << pid;
    EXPECT_EQ(region_of(4), "");
    EXPECT_EQ(processes_.look(3)->group, ours_);
    EXPECT_EQ(processes_.containers().take_news(), (std::vector<ContainerGroup>{{ours_, kId}}));
    std::filesystem::remove_all(directory_.path() / "proc/1");
    set(7, "0::" + ours_);
    EXPECT_EQ(region_of(7), kId) << "after the first one has ended, too";
    processes_.forget(kId);
    EXPECT_EQ(region_of(7), "");
    set(8, "0::" + ours_, mounted(kId));
    EXPECT_EQ(region_of(7), "") << "all processes are looked at now and then only";
    EXPECT_EQ(region_of(8), kId);
    EXPECT_EQ(region_of(7), kId);
}

TEST_F(SimulatedProcesses, OfAContainerWithoutOurMountAreAskedFor) {
    std::vector<pid_t> asked;
    processes_.set_find([&](pid_t pid) {
        asked.push_back(pid);
        return kId;
    });
    set(2, "0::" + ours_);
    set(3, "0::" + other_ + ours_);  // who it says it is, is not believed
    set(4, "0::/system.slice/x.service");
    EXPECT_EQ(region_of(2), kId);
    EXPECT_EQ(region_of(3), "");
    EXPECT_EQ(region_of(4), "");
    EXPECT_EQ(asked, (std::vector<pid_t>{2}));
}

TEST_F(SimulatedProcesses, OneWhoseFirstThreadHasEndedLives) {
    set(1, "0::" + ours_, mounted(kId));
    set(2, "0::" + ours_, "", "Z", 3);
    set(3, "0::" + ours_, "", "Z", 1);
    EXPECT_EQ(region_of(1), kId);
    EXPECT_EQ(region_of(2), kId);
    EXPECT_EQ(region_of(3), "gone");
}

TEST_F(SimulatedProcesses, OfAContainerInWhichWeAreOurselvesAreNotTaken) {
    ASSERT_TRUE(root_.write_atomically(
        "/proc/self/cgroup", "0::/docker/" + std::string(64, 'a') + "/kubelet.slice/x\n"));
    HostProcesses processes(root_);
    set(1, "0::/docker/" + std::string(64, 'a') + "/init.scope", mounted(kId));
    set(2, "0::/docker/" + std::string(64, 'a') + "/system.slice/x.service");
    EXPECT_EQ(processes.look(1)->region, kId);
    EXPECT_EQ(processes.look(2)->region, "") << "the node's own";
}

TEST(Processes, OwnASlotByPidNamespaceAndStart) {
    const HostProcess process{.pid = 9, .start_ticks = 5, .inner_pid = 1, .pid_namespace = 77};
    SlotView slot{.owner = std::uint64_t{1} << 32U | 3};
    EXPECT_TRUE(process.owns(slot));
    slot.pid_namespace = 78;
    EXPECT_FALSE(process.owns(slot));
    slot.pid_namespace = 77;
    slot.start_time = 4;
    EXPECT_FALSE(process.owns(slot));
    slot.start_time = 5;
    EXPECT_TRUE(process.owns(slot));
    slot.owner = std::uint64_t{2} << 32U;
    EXPECT_FALSE(process.owns(slot));
}

TEST(Processes, EndsOnlyTheOneThatIsMeant) {
    const os::Root root("/");
    HostProcesses processes(root);
    auto environment = os::current_environment();
    environment["ALIQUOT_GUARD_REGION"] = "/x/" + kId + "/guard/ledger";
    auto child = os::Process::start({.argv = {"/bin/sleep", "100"}, .environment = environment});
    ASSERT_TRUE(child) << child.error().message;
    auto process = processes.look(child->pid());
    ASSERT_TRUE(process);
    EXPECT_EQ(process->region, kId);
    HostProcess stranger = *process;
    stranger.region = std::string(32, 'f');
    EXPECT_EQ(processes.kill(stranger).error().code, ErrorCode::kConflict);
    HostProcess another = *process;
    ++another.start_ticks;
    EXPECT_EQ(processes.kill(another).error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(child->poll());
    EXPECT_TRUE(processes.kill(*process));
    const auto exit = child->wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->signal, 9);
    EXPECT_FALSE(processes.kill({.pid = 1}));
}

}  // namespace
}  // namespace aliquot::guard_region
