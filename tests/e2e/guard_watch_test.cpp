// SPDX-License-Identifier: Apache-2.0
// What goes around the guard: the watchdog, hostile ledgers.
#include <unistd.h>

#include <atomic>

#include "guard_region/fake_tenant.h"
#include "tests/e2e/guard_node.h"

namespace aliquot {
namespace {

using testing::HasSubstr;

TEST_F(GuardAgentTest, AProgramThatDropsItsGuardIsEnded) {
    if (!may_look_into_processes()) GTEST_SKIP() << "needs CAP_SYS_PTRACE";
    write_config("2Gi", "{watchdog: kill}");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    const fs::path end = directory_.path() / "end";
    os::Process process = tenant_in(*grant, false, {"alloc:4294967296", "wait:" + end.native()});
    const auto exit = process.wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->signal, SIGKILL);
    EXPECT_THAT(tenant_log(), HasSubstr("alloc 0\n"));
}

TEST_F(GuardAgentTest, TheWatchdogTellsOfWhatGoesAroundTheGuard) {
    if (!may_look_into_processes()) GTEST_SKIP() << "needs CAP_SYS_PTRACE";
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    ASSERT_TRUE(eventually([&] { return named("train"); }));
    os::Process process = process_in(guard_of(*grant));
    hold(process, 5 * kGiB);
    EXPECT_TRUE(eventually([&] { return happened("unguarded", "ai/train/main"); }));
    EXPECT_TRUE(eventually([&] { return happened("over_limit", "ai/train/main"); }));
    EXPECT_FALSE(process.poll());
    process.signal(SIGKILL);
}

TEST_F(GuardAgentTest, TheWatchdogEndsOnlyWhoGoesAroundTheGuard) {
    if (!may_look_into_processes()) GTEST_SKIP() << "needs CAP_SYS_PTRACE";
    write_config("3Gi", "{watchdog: kill}");
    start_agent();
    const auto grant = admit("train");
    const auto other = admit("neighbour");
    ASSERT_TRUE(grant && other);
    ASSERT_TRUE(eventually([&] { return named("train") && named("neighbour"); }));
    os::Process around = process_in(guard_of(*grant));
    os::Process joined = process_in(guard_of(*grant));
    os::Process neighbour = process_in(guard_of(*other));
    os::Process host = process_in({});
    guard_region::FakeTenant tenant(guard_of(*grant) / "ledger");
    guard_region::FakeTenant beside(guard_of(*other) / "ledger");
    tenant.join(0, static_cast<std::uint32_t>(joined.pid()));
    beside.join(0, static_cast<std::uint32_t>(neighbour.pid()));
    hold(joined, kGiB);
    hold(neighbour, 2 * kGiB);
    hold(host, 4 * kGiB);
    hold(around, kGiB);
    const auto exit = around.wait(60s);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->signal, SIGKILL);
    EXPECT_TRUE(eventually([&] { return happened("killed", "ai/train/main"); }));
    EXPECT_FALSE(joined.poll());
    EXPECT_FALSE(neighbour.poll());
    EXPECT_FALSE(host.poll());
    EXPECT_FALSE(happened("unguarded", "ai/neighbour/main"));
    for (os::Process* one : {&joined, &neighbour, &host}) one->signal(SIGKILL);
}

TEST_F(GuardAgentTest, ATenantThatScribblesOverItsLedgerHarmsNobody) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    const auto other = admit("neighbour");
    ASSERT_TRUE(grant && other);
    ASSERT_TRUE(eventually([&] { return named("train") && named("neighbour"); }));
    std::atomic<bool> stop{false};
    std::jthread hostile([&] {
        guard_region::FakeTenant tenant(guard_of(*grant) / "ledger");
        auto* const bytes = reinterpret_cast<volatile unsigned char*>(&tenant.ledger());
        std::size_t at = 1;
        while (!stop) {
            at = at * 7 % sizeof(abi::Ledger);
            bytes[at] = static_cast<unsigned char>(at);
            bytes[at % 16] = static_cast<unsigned char>(at >> 8U);  // of the head
        }
    });
    EXPECT_TRUE(eventually([&] { return happened("ledger", "ai/train/main"); }));
    stop = true;
    hostile.join();
    EXPECT_FALSE(agent_->poll());
    EXPECT_THAT(ask({"guard", "status", "--agent", address()}), HasSubstr("ai/neighbour/main"));
}

/// A container by its mount alone, as a runtime makes it: nothing in the process's own hands says
/// where it belongs.
class GuardMountTest : public GuardAgentTest {
protected:
    /// Starts `words` of a shell there. Skips the test where no mounts are allowed.
    void start_contained(const std::string& words) {
        if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
        write_config("3Gi");
        start_agent();
        const auto grant = admit("train");
        ASSERT_TRUE(grant);
        ASSERT_TRUE(eventually([&] { return named("train"); }));
        const fs::path ready = directory_.path() / "ready";
        auto process = os::Process::start(
            {.argv = {"unshare", "--mount", "sh", "-c",
                      "mount -t tmpfs none /run && mkdir -p /run/aliquot/guard && "
                      "mount --bind \"$0\" /run/aliquot/guard && " +
                          words + " && : >\"$1\" && exec sleep 1000",
                      guard_of(*grant), ready},
             .environment = os::current_environment(),
             .output_path = (directory_.path() / "unshare.log").native()});
        ASSERT_TRUE(process) << process.error().message;
        process_ = *std::move(process);
        ASSERT_TRUE(eventually([&] { return fs::exists(ready) || process_->poll().has_value(); }));
        if (!fs::exists(ready)) GTEST_SKIP() << "no mounts are allowed here";
        hold(*process_, kGiB);
    }
    void TearDown() override {
        if (process_) process_->signal(SIGKILL);
        GuardAgentTest::TearDown();
    }
    std::optional<os::Process> process_;
};

TEST_F(GuardMountTest, AContainerIsKnownByItsMount) {
    start_contained("true");
    if (IsSkipped()) return;
    EXPECT_TRUE(eventually([&] { return happened("unguarded", "ai/train/main"); }));
}

TEST_F(GuardMountTest, AMountOverItHidesNothing) {
    start_contained("mount -t tmpfs none /run/aliquot/guard && mount -t tmpfs none /run");
    if (IsSkipped()) return;
    EXPECT_TRUE(eventually([&] { return happened("unguarded", "ai/train/main"); }));
}

}  // namespace
}  // namespace aliquot
