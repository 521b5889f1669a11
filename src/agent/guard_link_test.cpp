// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_link.h"

#include <gmock/gmock.h>

#include "os/temporary_directory.h"
#include "region/fake_tenant.h"

namespace aliquot::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";
constexpr std::uint64_t kGiB = 1ULL << 30U;

/// A driver that knows no process.
class IdleSensors final : public gpu::Sensors {
public:
    Result<gpu::Inventory> enumerate(gpu::Links) override { return gpu::Inventory{}; }
    Result<gpu::Sample> sample(const gpu::Uuid&) override { return gpu::Sample{}; }
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid&) override {
        return std::vector<gpu::Process>{};
    }
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>&) override {
        return std::vector<gpu::Probe>{};
    }
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds) override {
        return std::vector<gpu::FaultEvent>{};
    }
};

/// A driver before 615.
class NoLimits final : public gpu::MemoryLimits {
public:
    Result<Done> set_memory_limit(const gpu::Uuid&, const std::string&, std::uint64_t) override {
        return Error{ErrorCode::kUnsupported, "function not found"};
    }
};

sharing::Resource quarters(std::uint64_t memory, unsigned percent) {
    return {.name = "nvidia.com/gpu",
            .shared = true,
            .gpus = {{.gpu = {.uuid = {kGpu}, .memory_bytes = 16 * kGiB},
                      .replicas = 4,
                      .memory_bytes = memory,
                      .compute_percent = percent,
                      .weight = 10}}};
}

kubelet::Grant grant_of(std::uint64_t memory, unsigned percent) {
    kubelet::Grant grant;
    grant.shares = {{.gpu_uuid = kGpu,
                     .memory_bytes = memory,
                     .compute_percent = percent,
                     .weight = 10,
                     .guarded = true}};
    return grant;
}

class GuardLinkTest : public testing::Test {
protected:
    void SetUp() override { fs::copy_file("/proc/self/exe", library_); }

    void start() {
        link_ = std::make_unique<GuardLink>(
            root_, clock_,
            GuardLink::Sources{.sensors = sensors_,
                               .kernel = kernel_,
                               .observations = observations_,
                               .holders =
                                   [this] {
                                       const std::scoped_lock lock(mutex_);
                                       return holders_;
                                   },
                               .publish = [this](auto one) { snapshots_.publish(std::move(one)); }},
            GuardLink::Options{.library = library_,
                               .between_looks = 10ms,
                               .between_collections = 20ms,
                               .grace = 50ms});
    }
    void set_holders(Result<std::vector<kubelet::Holder>> holders) {
        const std::scoped_lock lock(mutex_);
        holders_ = std::move(holders);
    }
    /// The region of a grant, as the host's directory.
    [[nodiscard]] fs::path guard_of(const kubelet::Grant& grant) const {
        for (const auto& mount : grant.mounts) {
            if (mount.container_path == abi::kGuardDirectory) return root_.resolve(mount.host_path);
        }
        return {};
    }
    bool eventually(const std::function<bool(const GuardSnapshot&)>& holds) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        std::uint64_t version = 0;
        while (std::chrono::steady_clock::now() < end) {
            const auto seen = snapshots_.wait_newer(version, 1s);
            version = seen.version;
            if (seen.value && holds(**seen.value)) return true;
        }
        return false;
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    fs::path library_ = directory_.path() / "libaliquot-guard.so";
    os::SystemClock clock_;
    IdleSensors sensors_;
    NoLimits kernel_;
    Latest<Observation> observations_;
    std::mutex mutex_;
    Result<std::vector<kubelet::Holder>> holders_{Error{ErrorCode::kUnavailable, "no kubelet"}};
    Latest<std::shared_ptr<const GuardSnapshot>> snapshots_;
    std::unique_ptr<GuardLink> link_;
};

TEST(GuardLimits, OfSeveralReplicasAddUp) {
    const std::vector<std::string> ids{std::string(kGpu) + "::0", std::string(kGpu) + "::3"};
    const auto limits = limits_for(quarters(3 * kGiB, 25), ids);
    ASSERT_EQ(limits.size(), 1U);
    EXPECT_EQ(limits[0].memory_bytes, 6 * kGiB);
    EXPECT_EQ(limits[0].cap_ppm, 500'000U);
    EXPECT_EQ(limits[0].weight, 20U);
    sharing::Resource mps = quarters(3 * kGiB, 25);
    mps.gpus[0].mps = true;
    EXPECT_TRUE(limits_for(mps, ids).empty());
}

TEST_F(GuardLinkTest, AGrantWithLimitsGetsGuardAndRegion) {
    start();
    kubelet::Grant grant = grant_of(4 * kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    const auto done = link_->complete("nvidia.com/gpu", ids, grant);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(grant.mounts.size(), 4U);
    for (const auto& mount : grant.mounts) {
        EXPECT_TRUE(root_.exists(mount.host_path)) << mount.host_path;
        EXPECT_EQ(mount.read_only, mount.container_path != "/run/aliquot/guard/ledger");
    }
    EXPECT_EQ(*root_.read(grant.mounts[3].host_path), "/run/aliquot/lib/libaliquot-guard.so\n");
    EXPECT_TRUE(fs::is_socket(guard_of(grant) / "node"));
    const auto config = region::ConfigFile::open(guard_of(grant) / "config");
    ASSERT_TRUE(config);
    const auto limits = config->settings().devices.at(0);
    EXPECT_EQ(limits.memory_bytes, 4 * kGiB);
    EXPECT_EQ(limits.cap_ppm, 250'000U);
    EXPECT_EQ(limits.weight, 10U);
    EXPECT_GT(limits.context_bytes, 0U);
}

TEST_F(GuardLinkTest, AGrantWithoutLimitsIsLeftAlone) {
    start();
    kubelet::Grant grant;
    grant.shares = {{.gpu_uuid = kGpu}};
    const std::vector<std::string> ids{kGpu};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    EXPECT_TRUE(grant.mounts.empty());
    EXPECT_FALSE(root_.exists("/var/lib/aliquot/guard"));
}

TEST_F(GuardLinkTest, WithoutALibraryThePolicyDecides) {
    fs::remove(library_);
    start();
    kubelet::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    const auto closed = link_->complete("nvidia.com/gpu", ids, grant);
    ASSERT_FALSE(closed);
    EXPECT_THAT(closed.error().message, HasSubstr("libaliquot-guard.so"));
    EXPECT_THAT(closed.error().message, HasSubstr("sharing.guard.fail: open"));
    link_->apply({.fail_open = true}, {});
    EXPECT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    EXPECT_TRUE(grant.mounts.empty());
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return seen.events.size() == 2 && seen.events[0].kind == "refused" &&
               seen.events[1].kind == "open" && !seen.problem.empty();
    }));
}

TEST_F(GuardLinkTest, LimitsChangeUnderARunningContainer) {
    start();
    kubelet::Grant grant = grant_of(4 * kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    link_->apply({}, {.resources = {quarters(2 * kGiB, 50)}});
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        const auto& limits = seen.regions.at(0).devices.at(0).limits;
        return limits.memory_bytes == 2 * kGiB && limits.cap_ppm == 500'000;
    }));
}

TEST_F(GuardLinkTest, KubeletNamesRegionsAndNobodysAreRemoved) {
    start();
    kubelet::Grant held = grant_of(kGiB, 25);
    kubelet::Grant lives = grant_of(kGiB, 25);
    kubelet::Grant gone = grant_of(kGiB, 25);
    const std::vector<std::string> first{std::string(kGpu) + "::1"};
    const std::vector<std::string> second{std::string(kGpu) + "::2"};
    const std::vector<std::string> third{std::string(kGpu) + "::3"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", first, held));
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", second, lives));
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", third, gone));
    std::optional<region::FakeTenant> tenant(guard_of(lives) / "ledger");
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

TEST_F(GuardLinkTest, ALedgerThatIsCutShortIsAnEventAndNoCrash) {
    start();
    kubelet::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    fs::resize_file(guard_of(grant) / "ledger", 100);
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return !seen.regions.at(0).problem.empty() && !seen.events.empty() &&
               seen.events.back().kind == "ledger";
    }));
}

TEST_F(GuardLinkTest, AnAgentThatComesAgainGoesOn) {
    start();
    kubelet::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    link_.reset();
    EXPECT_TRUE(fs::exists(guard_of(grant) / "ledger"));
    start();
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    EXPECT_TRUE(fs::is_socket(guard_of(grant) / "node"));
}

}  // namespace
}  // namespace aliquot::agent
