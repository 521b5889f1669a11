// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fstream>

#include "agent/guard_link.h"
#include "guard_region/fake_tenant.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

/// For tests: a GuardLink on a driver, a kernel module and a kubelet that say what they are told.
namespace aliquot::agent {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

inline constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";
inline constexpr std::uint64_t kGiB = 1ULL << 30U;

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

inline sharing::Resource quarters(std::uint64_t memory, unsigned percent) {
    return {
        .name = "nvidia.com/gpu",
        .shared = true,
        .gpus = {{.gpu = {.uuid = {kGpu}, .memory_bytes = 16 * kGiB},
                  .replicas = 4,
                  .limits = {.memory_bytes = memory, .compute_percent = percent, .weight = 10}}}};
}

inline grant::Grant grant_of(std::uint64_t memory, unsigned percent) {
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
                              .publish = [this](auto one) { snapshots_.publish(std::move(one)); },
                              .owner_of = owner_of_}},
            GuardLink::Options{
                .library = library_,
                .measuring = {.between_looks = 10ms, .between_collections = 20ms, .grace = grace}});
    }
    /// On a host whose /proc is ours to write. Without a region it has no mount of ours.
    void write_process(int pid, const std::string& cgroup, const std::string& region) {
        const std::string place = "/proc/" + std::to_string(pid) + "/";
        std::string stat = std::to_string(pid) + " (train) S";
        for (int field = 4; field < 22; ++field) stat += " 0";
        ASSERT_TRUE(root_.write_atomically(place + "stat", stat + " 987 0\n"));
        ASSERT_TRUE(
            root_.write_atomically(place + "status", "NSpid:\t" + std::to_string(pid) + "\t1\n"));
        ASSERT_TRUE(root_.write_atomically(place + "cgroup", cgroup + "\n"));
        const std::string mount =
            "36 35 0:25 /regions/" + region + "/guard /run/aliquot/guard ro - tmpfs tmpfs rw\n";
        ASSERT_TRUE(root_.write_atomically(place + "mountinfo", region.empty() ? "" : mount));
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
            if (seen.value && *seen.value && holds(**seen.value)) return true;
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
    std::function<std::optional<pods::Owner>(pid_t)> owner_of_;
    std::unique_ptr<GuardLink> link_;
};

}  // namespace aliquot::agent
