// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_measuring.h"

#include "agent/guard_link_fixture.h"

namespace aliquot::agent {
namespace {

using GuardMeasuringTest = GuardLinkTest;

TEST_F(GuardMeasuringTest, TheKernelModuleHoldsTheLimitWhereItCanAndIsToldTo) {
    // A host whose /proc is ours to write.
    ASSERT_TRUE(root_.write_atomically("/proc/self/stat", "1 (x) S\n"));
    start();
    link_->apply({.kernel_limit = true}, {});
    grant::Grant grant = grant_of(4 * kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    const std::string id = guard_of(grant).parent_path().filename();
    write_process(4711, "0::/kubepods.slice/c1", id);
    sensors_.set({{.pid = 4711, .memory_bytes = kGiB}});
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return !seen.regions.empty() && seen.regions[0].devices.at(0).limits.kernel_limit;
    }));
    EXPECT_EQ(*kernel_.last.get().value,
              std::string(kGpu) + " /sys/fs/cgroup/kubepods.slice/c1 " + std::to_string(4 * kGiB));
    EXPECT_EQ(kernel_.calls, 1);

    // A new limit, and a driver that cannot: said once, and the guard goes on alone.
    kernel_.refuses = true;
    link_->apply({.kernel_limit = true}, {.resources = {quarters(2 * kGiB, 25)}});
    const auto said = [](const GuardSnapshot& seen) {
        return std::ranges::count(seen.events, GuardEvent::Kind::kKernelLimit, &GuardEvent::kind) ==
               1;
    };
    EXPECT_TRUE(eventually(said));
    int looks = 0;
    EXPECT_TRUE(eventually([&](const GuardSnapshot& seen) { return ++looks > 5 && said(seen); }));
    EXPECT_EQ(kernel_.calls, 2);
    const auto config = guard_region::ConfigFile::open(guard_of(grant) / "config");
    ASSERT_TRUE(config);
    EXPECT_EQ(config->settings().devices.at(0).memory_bytes, 2 * kGiB);
    EXPECT_FALSE(config->settings().devices.at(0).kernel_limit);
}

TEST_F(GuardMeasuringTest, KubeletNamesRegionsAndNobodysAreRemoved) {
    start();
    grant::Grant held = grant_of(kGiB, 25);
    grant::Grant lives = grant_of(kGiB, 25);
    grant::Grant gone = grant_of(kGiB, 25);
    const std::vector<std::string> first{std::string(kGpu) + "::1"};
    const std::vector<std::string> second{std::string(kGpu) + "::2"};
    const std::vector<std::string> third{std::string(kGpu) + "::3"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", first, held));
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", second, lives));
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", third, gone));
    std::optional<guard_region::FakeTenant> tenant(guard_of(lives) / "ledger");
    tenant->join(0, 1);
    // Without kubelet's word nothing is removed.
    int looks = 0;
    EXPECT_TRUE(eventually([&](const auto&) { return ++looks > 15; }));
    EXPECT_TRUE(fs::exists(guard_of(gone)));
    set_holders(std::vector<kubelet::Holder>{{.pod_namespace = "ai",
                                              .pod = "train",
                                              .container = "main",
                                              .resource = "nvidia.com/gpu",
                                              .ids = first}});
    EXPECT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 2; }));
    EXPECT_FALSE(fs::exists(guard_of(gone)));
    EXPECT_TRUE(eventually([](const auto& seen) {
        return std::ranges::any_of(seen.regions,
                                   [](const auto& one) { return one.pod == "train"; });
    }));
    tenant.reset();
    EXPECT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    EXPECT_TRUE(fs::exists(guard_of(held)));
}

/// Kubelet asks for an init container and, in the same instant, for the container that gets its
/// devices afterwards.
TEST_F(GuardMeasuringTest, TheNewestRegionOfTheSameDevicesIsTheOneThatKubeletNames) {
    start(60s);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    const std::vector<kubelet::Holder> listed{{.pod_namespace = "ai",
                                               .pod = "train",
                                               .container = "main",
                                               .resource = "nvidia.com/gpu",
                                               .ids = ids}};
    constexpr int kTimes = 20;  // ids are random, and so was who came out as the newest
    for (int i = 0; i < kTimes; ++i) {
        grant::Grant init = grant_of(kGiB, 25);
        grant::Grant main = grant_of(kGiB, 25);
        set_holders(std::vector<kubelet::Holder>{});
        ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, init));
        ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, main));
        set_holders(listed);  // when both are there
        const auto pod_of = [&](const GuardSnapshot& seen, const grant::Grant& grant) {
            for (const auto& one : seen.regions) {
                if (one.id == guard_of(grant).parent_path().filename()) return one.pod;
            }
            return std::string("not seen");
        };
        ASSERT_TRUE(
            eventually([&](const GuardSnapshot& seen) { return pod_of(seen, main) == "train"; }));
        ASSERT_TRUE(
            eventually([&](const GuardSnapshot& seen) { return pod_of(seen, init).empty(); }));
    }
}

TEST_F(GuardMeasuringTest, ARegionStaysWhileAProcessOfItsContainerLives) {
    set_holders(std::vector<kubelet::Holder>{});
    start(3s);  // for a process to start meanwhile
    grant::Grant idle = grant_of(kGiB, 25);
    grant::Grant gone = grant_of(kGiB, 25);
    const std::vector<std::string> first{std::string(kGpu) + "::1"};
    const std::vector<std::string> second{std::string(kGpu) + "::2"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", first, idle));
    // An init container that does not use its GPU yet; kubelet does not list it.
    auto environment = os::current_environment();
    environment["ALIQUOT_GUARD_REGION"] = guard_of(idle) / "ledger";
    auto process = os::Process::start({.argv = {"/bin/sleep", "1000"}, .environment = environment});
    ASSERT_TRUE(process) << process.error().message;
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", second, gone));
    EXPECT_TRUE(eventually([&](const auto&) { return !fs::exists(guard_of(gone)); }));
    EXPECT_TRUE(fs::exists(guard_of(idle) / "config"));
    process->terminate(1s);
    EXPECT_TRUE(eventually([&](const auto&) { return !fs::exists(guard_of(idle)); }));
}

TEST_F(GuardMeasuringTest, ALedgerThatIsScribbledOverIsAnEventAndNoCrash) {
    start();
    grant::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    guard_region::FakeTenant(guard_of(grant) / "ledger").ledger().magic = 1;
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return !seen.regions.at(0).problem.empty() && !seen.events.empty() &&
               seen.events.back().kind == GuardEvent::Kind::kLedger;
    }));
}

TEST_F(GuardMeasuringTest, ARegionOfAnotherVersionIsSaidAndMeasuredByTheDriver) {
    ASSERT_TRUE(root_.write_atomically("/proc/self/stat", "1 (x) S\n"));
    start();
    grant::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    link_.reset();
    const std::uint32_t other = abi::kRegionAbi + 1;
    std::fstream(guard_of(grant) / "config", std::ios::binary | std::ios::in | std::ios::out)
        .seekp(offsetof(abi::Config, abi))
        .write(reinterpret_cast<const char*>(&other), sizeof other);
    write_process(4711, "0::/kubepods.slice/c1", guard_of(grant).parent_path().filename());
    sensors_.set({{.pid = 4711, .memory_bytes = 3 * kGiB}});
    start();
    link_->apply({}, {.resources = {quarters(kGiB, 25)}});
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return seen.events.size() == 2 && seen.events[0].kind == GuardEvent::Kind::kOtherVersion &&
               seen.events[1].kind == GuardEvent::Kind::kOverLimit;
    }));
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        const auto& region = seen.regions.at(0);
        return !region.problem.empty() && region.devices.at(0).driver_bytes == 3 * kGiB;
    }));
}

TEST_F(GuardMeasuringTest, AContainerThatHasHiddenItsRegionFromTheBeginningIsKnownByItsPod) {
    ASSERT_TRUE(root_.write_atomically("/proc/self/stat", "1 (x) S\n"));
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    set_holders(std::vector<kubelet::Holder>{{.pod_namespace = "ai",
                                              .pod = "train",
                                              .container = "main",
                                              .resource = "nvidia.com/gpu",
                                              .ids = ids}});
    owner_of_ = [](pid_t pid) -> std::optional<pods::Owner> {
        if (pid != 4711) return std::nullopt;
        return pods::Owner{.pod_namespace = "ai", .pod = "train", .container = "main"};
    };
    start();
    grant::Grant grant = grant_of(4 * kGiB, 25);
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    const std::string group =
        "/kubepods/pod8b0f2a6e-41d7-4c39-9a55-0de1c7f3b284/" + std::string(64, 'a');
    write_process(4711, "0::" + group, "");
    write_process(4712, "0::/system.slice/x.service", "");
    sensors_.set({{.pid = 4711, .memory_bytes = kGiB}, {.pid = 4712, .memory_bytes = kGiB}});
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return seen.events.size() == 1 && seen.events[0].kind == GuardEvent::Kind::kUnguarded &&
               seen.events[0].container == "ai/train/main";
    }));
    // And by the next agent, before kubelet or a pod's logs say anything.
    link_.reset();
    snapshots_.publish(nullptr);
    owner_of_ = nullptr;
    set_holders(Error{ErrorCode::kUnavailable, "no kubelet"});
    start();
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return seen.events.size() == 1 && seen.events[0].kind == GuardEvent::Kind::kUnguarded;
    }));
}

}  // namespace
}  // namespace aliquot::agent
