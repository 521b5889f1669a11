// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_link.h"

#include <gmock/gmock.h>

#include <atomic>

#include "guard_region/fake_tenant.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";
constexpr std::uint64_t kGiB = 1ULL << 30U;

/// A driver that knows the processes that it is told.
class FakeSensors final : public gpu::Sensors {
public:
    void set(std::vector<gpu::Process> processes) {
        const std::scoped_lock lock(mutex_);
        processes_ = std::move(processes);
    }
    Result<gpu::Inventory> enumerate(gpu::Links) override { return gpu::Inventory{}; }
    Result<gpu::Sample> sample(const gpu::Uuid&) override { return gpu::Sample{}; }
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid&) override {
        const std::scoped_lock lock(mutex_);
        return processes_;
    }
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>&) override {
        return std::vector<gpu::Probe>{};
    }
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds) override {
        return std::vector<gpu::FaultEvent>{};
    }

private:
    std::mutex mutex_;
    std::vector<gpu::Process> processes_;
};

/// A kernel module that can limit memory, or one of a driver before 615.
class FakeLimits final : public gpu::MemoryLimits {
public:
    Result<Done> set_memory_limit(const gpu::Uuid& gpu, const std::string& group,
                                  std::uint64_t bytes) override {
        ++calls;
        if (refuses) return Error{ErrorCode::kUnsupported, "function not found"};
        last.publish(gpu.text + " " + group + " " + std::to_string(bytes));
        return Done{};
    }
    std::atomic<bool> refuses{false};
    std::atomic<int> calls{0};
    Latest<std::string> last;
};

sharing::Resource quarters(std::uint64_t memory, unsigned percent) {
    return {
        .name = "nvidia.com/gpu",
        .shared = true,
        .gpus = {{.gpu = {.uuid = {kGpu}, .memory_bytes = 16 * kGiB},
                  .replicas = 4,
                  .limits = {.memory_bytes = memory, .compute_percent = percent, .weight = 10}}}};
}

grant::Grant grant_of(std::uint64_t memory, unsigned percent) {
    grant::Grant grant;
    grant.shares = {{.gpu_uuid = kGpu,
                     .limits = {.memory_bytes = memory, .compute_percent = percent, .weight = 10},
                     .guarded = true}};
    return grant;
}

class GuardLinkTest : public testing::Test {
protected:
    /// A shared library as far as anybody looks: the first part of this program.
    void SetUp() override {
        std::vector<char> head(1U << 16U);
        std::ifstream("/proc/self/exe", std::ios::binary)
            .read(head.data(), static_cast<std::streamsize>(head.size()));
        std::ofstream(library_, std::ios::binary)
            .write(head.data(), static_cast<std::streamsize>(head.size()));
    }

    void start(std::chrono::milliseconds grace = 50ms) {
        link_ = std::make_unique<GuardLink>(
            root_, clock_,
            GuardLink::Sources{
                .observations = observations_,
                .measuring = {.sensors = sensors_,
                              .kernel = kernel_,
                              .holders =
                                  [this] {
                                      const std::scoped_lock lock(mutex_);
                                      return holders_;
                                  },
                              .publish = [this](auto one) { snapshots_.publish(std::move(one)); }}},
            GuardLink::Options{
                .library = library_,
                .measuring = {.between_looks = 10ms, .between_collections = 20ms, .grace = grace}});
    }
    void set_holders(Result<std::vector<kubelet::Holder>> holders) {
        const std::scoped_lock lock(mutex_);
        holders_ = std::move(holders);
    }
    /// The region of a grant, as the host's directory.
    [[nodiscard]] fs::path guard_of(const grant::Grant& grant) const {
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
    FakeSensors sensors_;
    FakeLimits kernel_;
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
    mps.gpus[0].shared_by = grant::Mechanism::kMps;
    EXPECT_TRUE(limits_for(mps, ids).empty());
}

TEST_F(GuardLinkTest, AGrantWithLimitsGetsGuardAndRegion) {
    start();
    grant::Grant grant = grant_of(4 * kGiB, 25);
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

TEST_F(GuardLinkTest, TheKernelModuleHoldsTheLimitWhereItCanAndIsToldTo) {
    // A host whose /proc is ours to write.
    ASSERT_TRUE(root_.write_atomically("/proc/self/stat", "1 (x) S\n"));
    start();
    link_->apply({.kernel_limit = true}, {});
    grant::Grant grant = grant_of(4 * kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    const std::string id = guard_of(grant).parent_path().filename();
    std::string stat = "4711 (train) S";
    for (int field = 4; field < 22; ++field) stat += " 0";
    ASSERT_TRUE(root_.write_atomically("/proc/4711/stat", stat + " 987 0\n"));
    ASSERT_TRUE(root_.write_atomically("/proc/4711/status", "NSpid:\t4711\t1\n"));
    ASSERT_TRUE(root_.write_atomically("/proc/4711/cgroup", "0::/kubepods.slice/c1\n"));
    ASSERT_TRUE(root_.write_atomically(
        "/proc/4711/mountinfo",
        "36 35 0:25 /regions/" + id + "/guard /run/aliquot/guard ro - tmpfs tmpfs rw\n"));
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

TEST_F(GuardLinkTest, KubeletNamesRegionsAndNobodysAreRemoved) {
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

TEST_F(GuardLinkTest, ARegionStaysWhileAProcessOfItsContainerLives) {
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

TEST_F(GuardLinkTest, ALedgerThatIsCutShortIsAnEventAndNoCrash) {
    start();
    grant::Grant grant = grant_of(kGiB, 25);
    const std::vector<std::string> ids{std::string(kGpu) + "::1"};
    ASSERT_TRUE(link_->complete("nvidia.com/gpu", ids, grant));
    ASSERT_TRUE(eventually([](const auto& seen) { return seen.regions.size() == 1; }));
    fs::resize_file(guard_of(grant) / "ledger", 100);
    EXPECT_TRUE(eventually([](const GuardSnapshot& seen) {
        return !seen.regions.at(0).problem.empty() && !seen.events.empty() &&
               seen.events.back().kind == GuardEvent::Kind::kLedger;
    }));
}

TEST_F(GuardLinkTest, AnAgentThatComesAgainGoesOn) {
    start();
    grant::Grant grant = grant_of(kGiB, 25);
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
