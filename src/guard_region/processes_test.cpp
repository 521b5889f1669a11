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
    // What a tenant mounts on top hides ours.
    EXPECT_EQ(parse_region(line + "40 36 0:30 / /run/aliquot/guard rw - tmpfs x rw\n"), "");
    EXPECT_EQ(parse_region(other), "");
    EXPECT_EQ(parse_region(""), "");
    EXPECT_EQ(parse_region("\n\n36\n36 35 0:25\n"), "");
}

TEST(Processes, TheControlGroupOfAPodIsPreferred) {
    EXPECT_EQ(parse_cgroup("0::/system.slice/x.service\n"), "/system.slice/x.service");
    EXPECT_EQ(parse_cgroup("5:memory:/kubepods/podx/c\n1:name=systemd:/kubepods/podx/c\n0::/\n"),
              "/kubepods/podx/c");
    EXPECT_EQ(parse_cgroup("nonsense"), "");
}

TEST(Processes, AnIdHasThirtyTwoDigits) {
    EXPECT_EQ(region_id_in("/a/" + kId + "/guard"), kId);
    EXPECT_EQ(region_id_in("/a/" + kId), "");
    EXPECT_EQ(region_id_in("/a/x" + kId + "/guard"), "");
    EXPECT_EQ(region_id_in("/guard"), "");
}

TEST(Processes, AreFoundInASimulatedRoot) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    std::string stat = "4711 (a) b) S";
    for (int field = 4; field < 22; ++field) stat += " " + std::to_string(field);
    ASSERT_TRUE(root.write_atomically("/proc/4711/stat", stat + " 987 23 24\n"));
    ASSERT_TRUE(root.write_atomically("/proc/4711/status", "NSpid:\t4711\t7\n"));
    ASSERT_TRUE(root.write_atomically("/proc/4711/cgroup", "0::/kubepods.slice/c\n"));
    ASSERT_TRUE(root.write_atomically("/proc/4711/environ",
                                      "ALIQUOT_GUARD_REGION=/x/" + kId + "/guard/ledger"));
    HostProcesses processes(root);
    const auto process = processes.look(4711);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->start_ticks, 987U);
    EXPECT_EQ(process->inner_pid, 7U);
    EXPECT_EQ(process->command, "a) b");
    EXPECT_EQ(process->region, "");  // a container of a pod may say what it likes
    ASSERT_TRUE(root.write_atomically("/proc/4711/cgroup", "0::/user.slice\n"));
    EXPECT_EQ(processes.look(4711)->region, kId);
    EXPECT_FALSE(processes.look(1));
    EXPECT_FALSE(processes.look(-1));
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
    auto child = os::Process::start(
        {.argv = {"/bin/sleep", "100"}, .environment = os::current_environment()});
    ASSERT_TRUE(child) << child.error().message;
    auto process = processes.look(child->pid());
    ASSERT_TRUE(process);
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
