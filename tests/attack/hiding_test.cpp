// SPDX-License-Identifier: Apache-2.0
// A process with GPU memory and without a guard, which hides: it is ended, and nobody else.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL is POSIX

#include <fstream>

#include "tests/attack/attack_node.h"

namespace aliquot::attack {
namespace {

using namespace std::chrono_literals;

class Hiding : public AttackNode, public testing::WithParamInterface<const char*> {
protected:
    void hold(const os::Process& process, std::uint64_t bytes) {
        const auto held =
            node_->set_process(0, static_cast<std::uint32_t>(process.pid()), bytes, 0);
        ASSERT_TRUE(held) << held.error().message;
    }
};

TEST_P(Hiding, FromTheWatchdogIsFoundAndEnded) {
    start_agent("{watchdog: kill}");
    if (HasFatalFailure()) return;
    const auto hostile = admit("hostile");
    const auto honest = admit("honest");
    ASSERT_TRUE(hostile && honest);
    if (hostile->groups.empty()) GTEST_SKIP() << "no control groups can be made here";
    os::Process neighbour = run_in(
        *honest, 65'532, "honest.log",
        {ALIQUOT_TEST_DIR "/cuda_tenant", "alloc:1073741824", "wait:" + file("end").native()},
        true);
    ASSERT_TRUE(eventually([&] { return log("honest.log").contains("alloc 0"); }));
    os::Process hidden = attack_in(*hostile, GetParam(), 100);
    hold(hidden, 8 * kGiB);
    const auto exit = hidden.wait(60s);
    ASSERT_TRUE(exit) << log("attacker.log") << status();
    EXPECT_EQ(exit->signal, SIGKILL) << log("attacker.log");
    EXPECT_TRUE(eventually([&] { return happened("killed", "hostile"); }));
    EXPECT_FALSE(happened("killed", "honest") || happened("unguarded", "honest"));
    EXPECT_FALSE(neighbour.poll());
    make("end");
    const auto done = neighbour.wait(60s);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->code, 0);
}

INSTANTIATE_TEST_SUITE_P(Attack, Hiding,
                         testing::Values("nothing", "mount_over", "pivot", "change_root",
                                         "fake_region", "rename_itself", "leave_first_thread",
                                         "fake_absence", "not_dumpable"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace aliquot::attack
