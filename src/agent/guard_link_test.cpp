// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_link.h"

#include "agent/guard_link_fixture.h"

namespace aliquot::agent {
namespace {

using testing::HasSubstr;

TEST(GuardLimits, OfSeveralReplicasAddUp) {
    const std::vector<std::string> ids{std::string(kGpu) + "::0", std::string(kGpu) + "::3"};
    const auto limits = limits_for(quarters(3 * kGiB, 25), ids);
    ASSERT_EQ(limits.size(), 1U);
    EXPECT_EQ(limits[0].memory_bytes, 6 * kGiB);
    EXPECT_EQ(limits[0].cap_ppm, 500'000U);
    EXPECT_EQ(limits[0].weight, 20U);
    sharing::Resource mps = quarters(3 * kGiB, 25);
    mps.gpus[0].shared_by = grant::Mechanism::kMps;
    EXPECT_TRUE(limits_for(mps, ids).empty());
}

TEST_F(GuardLinkTest, AGrantWithLimitsGetsGuardAndRegion) {
    start();
    grant::Grant grant = grant_of(4 * kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    const auto done = link_->complete("nvidia.com/gpu", ids, grant);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(grant.mounts.size(), 3U);
    for (const auto& mount : grant.mounts) {
        EXPECT_TRUE(root_.exists(mount.host_path)) << mount.host_path;
        EXPECT_TRUE(mount.read_only) << mount.container_path;
    }
    EXPECT_EQ(*root_.read(grant.mounts[2].host_path), "/run/aliquot/lib/libaliquot-guard.so\n");
    EXPECT_TRUE(fs::is_socket(guard_of(grant) / "node"));
    const auto config = guard_region::ConfigFile::open(guard_of(grant) / "config");
    ASSERT_TRUE(config);
    const auto limits = config->settings().devices.at(0);
    EXPECT_EQ(limits.memory_bytes, 4 * kGiB);
    EXPECT_EQ(limits.cap_ppm, 250'000U);
    EXPECT_EQ(limits.weight, 10U);
    EXPECT_GT(limits.context_bytes, 0U);
}

TEST_F(GuardLinkTest, AGrantWithoutLimitsIsLeftAlone) {
    start();
    grant::Grant grant;
    grant.shares = {{.gpu_uuid = kGpu}};
    const std::vector<std::string> ids{kGpu};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    EXPECT_TRUE(grant.mounts.empty());
    EXPECT_FALSE(root_.exists("/var/lib/aliquot/guard"));
}

TEST_F(GuardLinkTest, WithoutALibraryThePolicyDecides) {
    fs::remove(library_);
    start();
    grant::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    const auto closed = link_->complete("nvidia.com/gpu", ids, grant);
    ASSERT_FALSE(closed);
    EXPECT_THAT(closed.error().message, HasSubstr("libaliquot-guard.so"));
    EXPECT_THAT(closed.error().message, HasSubstr("sharing.guard.fail: open"));
    link_->apply({.fail_open = true}, {});
    EXPECT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    EXPECT_TRUE(grant.mounts.empty());
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return seen.events.size() == 2 && seen.events[0].kind == GuardEvent::Kind::kRefused &&
               seen.events[1].kind == GuardEvent::Kind::kOpen && !seen.problem.empty();
    }));
}

TEST_F(GuardLinkTest, LimitsChangeUnderARunningContainer) {
    start();
    grant::Grant grant = grant_of(4 * kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    link_->apply({}, {.resources = {quarters(2 * kGiB, 50)}});
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        const auto& limits = seen.regions.at(0).devices.at(0).limits;
        return limits.memory_bytes == 2 * kGiB && limits.cap_ppm == 500'000;
    }));
}

/// Kubelet names it, its control group is its own, and no mount of ours is to be seen.
TEST_F(GuardLinkTest, AnAgentThatComesAgainGoesOn) {
    start();
    grant::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    link_.reset();
    EXPECT_TRUE(fs::is_socket(guard_of(grant) / "ledger"));
    start();
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    EXPECT_TRUE(fs::is_socket(guard_of(grant) / "node"));
}

}  // namespace
}  // namespace aliquot::agent
