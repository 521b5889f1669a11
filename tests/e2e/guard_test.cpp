// SPDX-License-Identifier: Apache-2.0
// Limits from the agent's side: who gets a guard, what it keeps, how limits change.
#include "guard_region/config_file.h"
#include "guard_region/config_reader.h"
#include "guard_region/fake_tenant.h"
#include "tests/e2e/guard_node.h"

namespace aliquot {
namespace {

using testing::HasSubstr;

/// An init container's ledger was shown under the name of the container that has its devices afterwards.
TEST_F(GuardAgentTest, AnInitContainersLedgerIsNotTheContainersThatFollowsIt) {
    write_config("3Gi");
    start_agent();
    const std::map<std::string, unsigned> share{{std::string(kGpu), 1}};
    std::vector<fs::path> own;
    for (const char* const name : {"a", "b", "c", "d"}) {
        const auto grants = kubelet_->admit({.uid = name,
                                             .pod_namespace = "ai",
                                             .name = name,
                                             .init_containers = {{.name = "load", .limits = share}},
                                             .containers = {{.name = "main", .limits = share}}});
        ASSERT_TRUE(grants) << grants.error().message;
        ASSERT_EQ(grants->size(), 2U);
        ASSERT_EQ(grants->at(0).devices, grants->at(1).devices);
        own.push_back(guard_of(grants->at(1).grant));
    }
    ASSERT_TRUE(eventually([&] { return named("a") && named("b") && named("c") && named("d"); }));
    const Json seen = status();
    ASSERT_EQ(seen["containers"].size(), 8U) << seen;
    for (const Json& one : seen["containers"]) {
        if (one["pod"] == "") continue;
        const std::string region = one["region"];
        EXPECT_TRUE(std::ranges::any_of(own, [&](const fs::path& guard) {
            return guard.parent_path().filename() == region;
        })) << one;
    }
}

TEST_F(GuardAgentTest, APodWithLimitsIsGuardedNamedAndMeasured) {
    if (!may_look_into_processes()) GTEST_SKIP() << "needs CAP_SYS_PTRACE";
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train", 2);
    ASSERT_TRUE(grant) << grant.error().message;
    const fs::path guard = guard_of(*grant);
    const auto settings = guard_region::read_config(guard / "config");
    ASSERT_TRUE(settings) << settings.error().message;
    ASSERT_EQ(settings->devices.size(), 1U);
    EXPECT_EQ(settings->devices[0].memory_bytes, 6 * kGiB);  // two shares
    EXPECT_EQ(settings->devices[0].cap_ppm, 500'000U);
    ASSERT_TRUE(eventually([&] { return named("train"); }));

    // A process that has joined: what the driver says beyond what it counts is its overhead.
    os::Process process = process_in(guard);
    guard_region::FakeTenant tenant(guard / "ledger");
    tenant.join(0, static_cast<std::uint32_t>(process.pid()));
    tenant.use(0, settings->devices[0].uuid, 2 * kGiB);
    hold(process, 2 * kGiB + 300 * (kGiB >> 10U));
    EXPECT_TRUE(eventually([&] {
        const auto config = guard_region::ConfigFile::open(guard / "config");
        return config && config->told_overhead(0, tenant.owner(0), 0) == 300 * (kGiB >> 10U);
    }));
    EXPECT_TRUE(eventually([&] {
        const Json seen = status();
        return seen.is_object() && seen["containers"][0]["devices"][0]["trackedBytes"] == 2 * kGiB;
    }));
    EXPECT_THAT(ask({"guard", "status", "--agent", address()}), HasSubstr("ai/train/main"));
    EXPECT_THAT(ask({"guard", "status", "--region", guard}), HasSubstr("ai/train/main"));
    EXPECT_EQ(status()["containers"][0]["devices"][0]["unguardedProcesses"], 0);
    process.signal(SIGKILL);
}

TEST_F(GuardAgentTest, WithoutAGuardAPodIsRefusedOrRunsWithoutLimits) {
    write_config("3Gi");
    start_agent("/nowhere/libaliquot-guard.so");
    const auto refused = admit("train");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("/nowhere/libaliquot-guard.so"));
    EXPECT_EQ(kubelet_->resources()[std::string(kGpu)].allocatable, 4U);
    write_config("3Gi", "{fail: open}");
    EXPECT_TRUE(eventually([&] {
        const auto open = admit("notebook");
        if (open) {
            EXPECT_TRUE(guard_of(*open).empty());
        }
        return open.ok();
    }));
    EXPECT_TRUE(eventually([&] { return happened("open", std::string(kGpu)); }));
}

TEST_F(GuardAgentTest, AGuardedProgramKeepsItsLimitAlsoWhenThatChanges) {
    if (!may_look_into_processes()) GTEST_SKIP() << "needs CAP_SYS_PTRACE";
    write_config("2Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    const fs::path more = directory_.path() / "more";
    const fs::path end = directory_.path() / "end";
    os::Process process =
        tenant_in(*grant, true,
                  {"info", "alloc:1073741824", "alloc:1073741824", "wait:" + more.native(),
                   "alloc:1073741824", "info", "wait:" + end.native()});
    ASSERT_TRUE(eventually([&] { return tenant_log().contains("alloc 2\n"); })) << tenant_log();
    EXPECT_THAT(tenant_log(), HasSubstr("total 2147483648\nalloc 0\nalloc 2\n"));
    const auto device = [&]() -> Json {
        const Json seen = status();
        if (!seen.is_object() || seen["containers"].empty()) return Json::object();
        return seen["containers"][0]["devices"][0];
    };
    // The driver's figure has taken the place of the estimate.
    EXPECT_TRUE(eventually([&] {
        const Json one = device();
        return one.value("trackedBytes", 0ULL) == kGiB &&
               one.value("overheadBytes", 0ULL) == 314572800 &&
               one.value("usedBytes", 0ULL) == one.value("driverBytes", 1ULL) &&
               one.value("processes", 0) == 1 && one.value("unguardedProcesses", 9) == 0 &&
               one.value("denied", 0) == 1;
    })) << device().dump();
    write_config("3Gi");
    ASSERT_TRUE(eventually([&] {
        const auto settings = guard_region::read_config(guard_of(*grant) / "config");
        return settings && settings->devices[0].memory_bytes == 3 * kGiB;
    }));
    std::ofstream(more) << "";
    EXPECT_TRUE(eventually([&] {
        return tenant_log().contains("waited 0\nalloc 0\n") &&
               tenant_log().contains("total 3221225472\n");
    })) << tenant_log();
    // It dies with all that it has; nothing of it stays in the books.
    process.signal(SIGKILL);
    ASSERT_TRUE(process.wait(60s));
    EXPECT_TRUE(eventually([&] { return device().value("usedBytes", 1ULL) == 0; }));
}

TEST_F(GuardAgentTest, LimitsChangeWhileAContainerRuns) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant) << grant.error().message;
    write_config("2Gi");
    EXPECT_TRUE(eventually([&] {
        const auto settings = guard_region::read_config(guard_of(*grant) / "config");
        return settings && settings->devices[0].memory_bytes == 2 * kGiB;
    }));
}

TEST_F(GuardAgentTest, AnAgentThatWasKilledFindsItsContainersAgain) {
    write_config("3Gi");
    start_agent();
    const auto grant = admit("train");
    ASSERT_TRUE(grant);
    ASSERT_TRUE(eventually([&] { return named("train"); }));
    agent_->signal(SIGKILL);
    ASSERT_TRUE(agent_->wait(60s));
    start_agent();
    EXPECT_TRUE(eventually([&] { return named("train"); }));
    EXPECT_TRUE(fs::is_socket(guard_of(*grant) / "node"));
}

/// Cleaning up says whose limits hold it up, and takes the rest; uninstall goes by its exit code.
TEST_F(GuardAgentTest, CleaningUpLeavesWhatRunningContainersUseAndNamesThem) {
    write_config("3Gi");
    start_agent();
    ASSERT_TRUE(admit("train"));
    ASSERT_TRUE(admit("ended"));
    ASSERT_EQ(agent_->terminate(60s).code, 0);
    agent_.reset();
    kubelet_->remove("uid-ended");
    const auto clean_up = [&] {
        return os::exchange({.argv = {ALIQUOT_BIN_DIR "/aliquot-agent", "--clean-up", "--root",
                                      directory_.path().native()},
                             .environment = os::current_environment()},
                            "", {.deadline = 60s});
    };
    const auto held = clean_up();
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_EQ(held->exit.code, 4) << held->output;
    EXPECT_THAT(held->output, HasSubstr("stays: containers with limits run: ai/train/main\n"));
    EXPECT_TRUE(root_.exists("/run/aliquot/regions"));
    kubelet_->remove("uid-train");
    const auto clean = clean_up();
    ASSERT_TRUE(clean) << clean.error().message;
    EXPECT_EQ(clean->exit.code, 0) << clean->output;
    EXPECT_FALSE(root_.exists("/run/aliquot"));
    EXPECT_FALSE(root_.exists("/var/lib/aliquot"));
}

}  // namespace
}  // namespace aliquot
