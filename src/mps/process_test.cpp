// SPDX-License-Identifier: Apache-2.0
#include "mps/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "mps/wake.h"
#include "os/spawner.h"

namespace aliquot::mps {
namespace {

using namespace std::chrono_literals;

TEST(ProcessFacts, AStatLineIsReadWhateverTheNameIs) {
    const auto facts = parse_stat(
        "812 (a ) b (c) S 1 810 810 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 998877 123 45\n");
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->name, "a ) b (c");
    EXPECT_EQ(facts->group, 810);
    EXPECT_EQ(facts->id, (ProcessId{812, 998877}));
    EXPECT_FALSE(parse_stat("812 (x) Z 1 810 810 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9 1"));
    EXPECT_FALSE(parse_stat("812 (x) S 1 2"));
}

TEST(ProcessFacts, AReusedPidIsAnotherProcess) {
    const auto self = look_at_process(::getpid());
    ASSERT_TRUE(self);
    EXPECT_TRUE(is_alive(self->id));
    EXPECT_FALSE(is_alive({self->id.pid, self->id.start_ticks + 1}));
}

TEST(EndWatch, TheEndOfAProcessWakesTheSleeper) {
    auto child = os::Process::start({.argv = {"/bin/sleep", "1000"}, .environment = {}});
    ASSERT_TRUE(child) << child.error().message;
    const auto facts = look_at_process(child->pid());
    ASSERT_TRUE(facts);
    const EndWatch end(facts->id);
    Wake wake;
    wake.notify();
    wake.wait(1h, &end);  // returns for the notification
    EXPECT_FALSE(end.ended());
    child->signal(SIGKILL);
    wake.wait(1h, &end);
    EXPECT_TRUE(child->wait(10s));
    EXPECT_TRUE(end.ended());
}

TEST(PodName, IsFoundInTheControlGroupsOfEveryRuntime) {
    const std::string id(64, 'a');
    const std::string uid = "8f0c1a2b-1111-2222-3333-444455556666";
    const std::string systemd =
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8f0c1a2b_1111_2222_3333_"
        "444455556666.slice/cri-containerd-" +
        id + ".scope\n";
    EXPECT_EQ(parse_cgroup(systemd), (PodName{uid, id}));
    const std::string old = "12:memory:/kubepods/besteffort/pod" + uid + "/" + id +
                            "\n11:cpu:/kubepods/besteffort/pod" + uid + "/" + id + "\n";
    EXPECT_EQ(parse_cgroup(old), (PodName{uid, id}));
    EXPECT_EQ(parse_cgroup("0::/user.slice/podman-123.scope\n"), PodName{});
    EXPECT_EQ(parse_cgroup(""), PodName{});
}

}  // namespace
}  // namespace aliquot::mps
