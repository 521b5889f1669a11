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

TEST_F(GuardAgentTest, ATenantThatCutsItsLedgerShortHarmsNobody) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    const auto other = admit("neighbour");
    ASSERT_TRUE(grant && other);
    ASSERT_TRUE(eventually([&] { return named("train") && named("neighbour"); }));
    std::atomic<bool> stop{false};
    std::jthread hostile([&] {
        const fs::path ledger = guard_of(*grant) / "ledger";
        std::uintmax_t size = 1;
        while (!stop) {
            size = size * 7 % 900'001;
            fs::resize_file(ledger, size);
            std::fstream(ledger).seekp(static_cast<std::streamoff>(size / 2)).write("garbage!", 8);
        }
    });
    EXPECT_TRUE(eventually([&] { return happened("ledger", "ai/train/main"); }));
    stop = true;
    hostile.join();
    EXPECT_FALSE(agent_->poll());
    EXPECT_THAT(ask({"guard", "status", "--agent", address()}), HasSubstr("ai/neighbour/main"));
}

/// As a container runtime does it: nothing in the process's own hands says where it belongs.
TEST_F(GuardAgentTest, AContainerIsKnownByItsMount) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant);
    ASSERT_TRUE(eventually([&] { return named("train"); }));
    auto process =
        os::Process::start({.argv = {"unshare", "--mount", "sh", "-c",
                                     "mount -t tmpfs none /run && mkdir -p /run/aliquot/guard && "
                                     "mount --bind \"$0\" /run/aliquot/guard && exec sleep 1000",
                                     guard_of(*grant)},
                            .environment = os::current_environment(),
                            .output_path = (directory_.path() / "unshare.log").native()});
    ASSERT_TRUE(process) << process.error().message;
    const std::string mountinfo = "/proc/" + std::to_string(process->pid()) + "/mountinfo";
    bool mounted = false;
    ASSERT_TRUE(eventually([&] {
        const auto text = os::Root("/").read(mountinfo);
        mounted = text && text->contains("/guard /run/aliquot/guard ");
        return mounted || process->poll().has_value();
    }));
    if (!mounted) GTEST_SKIP() << "no mounts are allowed here";
    hold(*process, kGiB);
    EXPECT_TRUE(eventually([&] { return happened("unguarded", "ai/train/main"); }));
    process->signal(SIGKILL);
}

}  // namespace
}  // namespace aliquot
