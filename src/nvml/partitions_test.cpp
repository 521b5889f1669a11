// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nvml/fake_bench.h"

namespace aliquot::nvml {
namespace {

using namespace std::chrono_literals;
using fake::Bench;
using fake::kNew;
using fake::kOld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const gpu::Uuid kGpu{"GPU-2"};

/// An instance of profile `id` with compute instances of these sizes.
fake::GpuInstance instance(unsigned id, unsigned start, unsigned size,
                           std::array<unsigned, 3> slices) {
    fake::GpuInstance made{true, id, start, size, {}};
    for (std::size_t i = 0; i < slices.size(); ++i) {
        if (slices.at(i) != 0) made.compute.at(i) = {true, slices.at(i), 0};
    }
    return made;
}

std::vector<std::string> names(const std::vector<gpu::MigProfile>& profiles) {
    std::vector<std::string> result;
    for (const auto& profile : profiles) result.push_back(profile.name);
    return result;
}

TEST(Partitions, TellsProfilesAndInstances) {
    const Bench bench(kNew);
    bench->mig.instances[1] = instance(9, 0, 4, {1, 2, 0});
    bench->mig.instances[1].compute[1].process = 77;
    const auto seen = bench.driver()->partitions(kGpu);
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_TRUE(seen->enabled);
    EXPECT_TRUE(seen->pending);
    EXPECT_TRUE(seen->in_use);
    EXPECT_EQ(seen->resetless, std::nullopt);
    // The last one is of a kind that is not in our header: it has the driver's own name.
    EXPECT_THAT(names(seen->profiles), ElementsAre("3g.8gb", "1g.2gb", "1g.2gb+me", "1g.4gb+new"));
    const gpu::MigProfile& small = seen->profiles[1];
    EXPECT_EQ(small.id, 19U);
    EXPECT_EQ(small.most, 4U);
    EXPECT_EQ(small.memory_mib, 2048U);
    EXPECT_EQ(small.multiprocessors, 14U);
    EXPECT_THAT(small.placements, ElementsAre(gpu::MigPlacement{0, 1}, gpu::MigPlacement{1, 1},
                                              gpu::MigPlacement{2, 1}, gpu::MigPlacement{3, 1}));
    ASSERT_EQ(seen->instances.size(), 1U);
    const gpu::MigInstance expected{
        .id = 1,
        .profile_id = 9,
        .placement = {0, 4},
        .compute = {{.id = 0, .profile_id = 0, .slices = 1, .device = {"MIG-1-0"}, .busy = false},
                    {.id = 1, .profile_id = 1, .slices = 2, .device = {"MIG-1-1"}, .busy = true}}};
    EXPECT_EQ(seen->instances[0], expected);
}

TEST(Partitions, NamesProfilesOfADriverWithoutNames) {
    const Bench bench(kNew);
    bench->mig.names = false;
    const auto seen = bench.driver()->partitions(kGpu);
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_THAT(names(seen->profiles), ElementsAre("3g.8gb", "1g.2gb", "1g.2gb+me", "1g.4gb"));
}

TEST(Partitions, PutsTheA30Right) {
    const Bench bench(kNew);
    bench->mig.a30 = true;
    const auto seen = bench.driver()->partitions(kGpu);
    ASSERT_TRUE(seen) << seen.error().message;
    ASSERT_EQ(seen->profiles.size(), 1U);
    EXPECT_EQ(seen->profiles[0].name, "2g.2gb");
    EXPECT_EQ(seen->profiles[0].most, 2U);
    EXPECT_THAT(seen->profiles[0].placements,
                ElementsAre(gpu::MigPlacement{0, 2}, gpu::MigPlacement{2, 2}));
}

TEST(Partitions, AreMadeAndUnmade) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    const auto made = driver->create(kGpu, 19, {2, 1});
    ASSERT_TRUE(made) << made.error().message;
    const auto compute = driver->create_compute(kGpu, *made, 1);
    ASSERT_TRUE(compute) << compute.error().message;
    auto seen = driver->partitions(kGpu);
    ASSERT_TRUE(seen && seen->instances.size() == 1);
    EXPECT_EQ(seen->instances[0].placement, (gpu::MigPlacement{2, 1}));
    EXPECT_EQ(seen->instances[0].compute[0].device.text, "MIG-0-0");
    EXPECT_FALSE(seen->in_use);

    const auto full = driver->destroy(kGpu, *made);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(driver->destroy_compute(kGpu, *made, *compute));
    EXPECT_TRUE(driver->destroy(kGpu, *made));
    seen = driver->partitions(kGpu);
    ASSERT_TRUE(seen);
    EXPECT_THAT(seen->instances, IsEmpty());
}

TEST(Partitions, SaysWhyItRefuses) {
    const Bench bench(kNew);
    bench->mig.instances[0] = instance(19, 1, 1, {1, 0, 0});
    bench->mig.instances[0].compute[0].process = 5;
    const auto driver = bench.driver();
    const auto taken = driver->create(kGpu, 9, {0, 4});
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::kConflict);
    EXPECT_THAT(taken.error().message, HasSubstr("GPU-2: GPU instance of profile 9 at 0:4:"));
    const auto busy = driver->destroy_compute(kGpu, 0, 0);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, ErrorCode::kConflict);
    EXPECT_THAT(busy.error().message, HasSubstr("NVML error 19"));
    EXPECT_THAT(busy.error().message, HasSubstr("dcgm"));
    EXPECT_EQ(driver->create(kGpu, 33, {0, 1}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(driver->create_compute(kGpu, 0, 3).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(driver->destroy(kGpu, 3).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(driver->partitions({"GPU-0"}).error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(driver->partitions({"GPU-9"}).error().code, ErrorCode::kNotFound);
    bench->mig.set_error = 4;
    const auto forbidden = driver->set_mode(kGpu, false);
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code, ErrorCode::kPermission);
    EXPECT_THAT(forbidden.error().message, HasSubstr("NVIDIA_MIG_CONFIG_DEVICES"));
    const Bench old(kOld);
    EXPECT_EQ(old.driver()->partitions(kGpu).error().code, ErrorCode::kUnsupported);
}

TEST(Partitions, ModeIsChangedAtOnceOrWithTheNextReset) {
    const Bench bench(kNew);
    const auto driver = bench.driver();
    auto change = driver->set_mode(kGpu, true);
    ASSERT_TRUE(change) << change.error().message;
    EXPECT_EQ(*change, gpu::ModeChange::kDone);  // it was on
    bench->mig.activation = 19;
    change = driver->set_mode(kGpu, false);
    ASSERT_TRUE(change) << change.error().message;
    EXPECT_EQ(*change, gpu::ModeChange::kNeedsReset);
    auto inventory = driver->enumerate();
    ASSERT_TRUE(inventory);
    EXPECT_TRUE(inventory->gpus[2].mig_enabled);
    EXPECT_TRUE(inventory->gpus[2].mig_pending);
    EXPECT_EQ(bench->initialised, 0);  // whoever resets the GPU must find it closed
    ASSERT_TRUE(driver->probe({kGpu}));
    ASSERT_TRUE(driver->wait_faults(1ms));
    EXPECT_EQ(bench->initialised, 0);
    bench->mig.activation = 0;
    change = driver->set_mode(kGpu, false);
    ASSERT_TRUE(change);
    EXPECT_EQ(*change, gpu::ModeChange::kDone);
    inventory = driver->enumerate();
    ASSERT_TRUE(inventory);
    EXPECT_FALSE(inventory->gpus[2].mig_enabled);
    EXPECT_FALSE(inventory->gpus[2].mig_pending);
    EXPECT_EQ(bench->initialised, 1);
}

TEST(MigDevices, AreEnumerated) {
    const Bench bench(kNew);
    ASSERT_TRUE(bench.root().write_atomically("/proc/driver/nvidia-caps/mig-minors",
                                              "config 1\nmonitor 2\ngpu6/gi1/access 30\n"
                                              "gpu6/gi1/ci1/access 32\ngpu7/gi1/access 99\n"));
    bench->mig.instances[1] = instance(9, 0, 4, {1, 2, 0});
    bench->mig.instances[2] = instance(20, 6, 1, {1, 0, 0});
    const auto inventory = bench.driver()->enumerate();
    ASSERT_TRUE(inventory) << inventory.error().message;
    const auto& devices = inventory->gpus[2].mig_devices;
    ASSERT_EQ(devices.size(), 3U);
    const gpu::MigDevice expected{.uuid = {"MIG-1-1"},
                                  .index = 4,
                                  .profile = "2c.3g.8gb",
                                  .gpu_instance = 1,
                                  .compute_instance = 1,
                                  .placement = {0, 4},
                                  .memory_bytes = 8ULL << 30U,
                                  .gpu_slices = 3,
                                  .compute_slices = 2,
                                  .multiprocessors = 28,
                                  .copy_engines = 1,
                                  .gpu_instance_cap = 30,
                                  .compute_instance_cap = 32};
    EXPECT_EQ(devices[1], expected);
    EXPECT_EQ(devices[0].profile, "1c.3g.8gb");
    EXPECT_EQ(devices[0].compute_instance_cap, std::nullopt);
    EXPECT_EQ(devices[2].profile, "1g.2gb+me");
    EXPECT_EQ(devices[2].gpu_instance_cap, std::nullopt);
    EXPECT_THAT(inventory->gpus[0].mig_devices, IsEmpty());

    // Without the permission to look at instances the handle's own name must do.
    bench->mig.instances_hidden = true;
    const auto hidden = bench.driver()->enumerate();
    ASSERT_TRUE(hidden && hidden->gpus[2].mig_devices.size() == 3);
    EXPECT_EQ(hidden->gpus[2].mig_devices[0].profile, "1c.3g.8gb");
}

/// A driver root with the fake library and an nvidia-smi that is a script.
class ResetBench {
public:
    explicit ResetBench(const std::string& script) : bench_(kNew) {
        bench_->processes = 0;
        const auto library = bench_.root().resolve("/drv/usr/lib64/libnvidia-ml.so.1");
        std::filesystem::create_directories(library.parent_path());
        std::filesystem::create_symlink(kNew, library);
        const auto written = bench_.root().write_atomically(
            "/drv/usr/bin/nvidia-smi",
            "#!/bin/sh\necho \"$@\" > " + seen().native() + "\n" + script, 0755);
        if (!written) throw std::runtime_error(written.error().message);
    }
    Result<Done> reset(const char* gpu, std::chrono::milliseconds deadline = 30s) {
        return bench_.open({.driver_root = "/drv", .reset_deadline = deadline})->reset({gpu}, {});
    }
    /// The arguments of the last nvidia-smi.
    [[nodiscard]] std::string arguments() const {
        const auto text = bench_.root().read("/seen");
        return text ? *text : "none";
    }
    fake::Control* operator->() const { return bench_.operator->(); }

private:
    [[nodiscard]] std::filesystem::path seen() const { return bench_.root().resolve("/seen"); }
    Bench bench_;
};

TEST(Reset, IsDoneByTheDriversOwnProgram) {
    ResetBench bench("exit 0\n");
    const auto done = bench.reset("GPU-2");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(bench.arguments(), "--gpu-reset -i 0000:12:00.0\n");
    EXPECT_EQ(bench->initialised, 0);  // we were not in the way
    EXPECT_EQ(bench.reset("GPU-7").error().code, ErrorCode::kNotFound);
}

TEST(Reset, TakesLinkedGpusAlongOrRefuses) {
    ResetBench bench("exit 0\n");
    bench->graphics_gpu = 1;
    const auto refused = bench.reset("GPU-0");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_THAT(refused.error().message, HasSubstr("NVLink joins it with GPU-1"));
    EXPECT_EQ(bench.reset("GPU-1").error().code, ErrorCode::kConflict);
    EXPECT_EQ(bench.arguments(), "none");
    bench->graphics_gpu = 2;
    ASSERT_TRUE(bench.reset("GPU-0"));
    EXPECT_EQ(bench.arguments(), "--gpu-reset -i 0000:10:00.0,0000:11:00.0\n");
    bench->linked = false;
    ASSERT_TRUE(bench.reset("GPU-0"));
    EXPECT_EQ(bench.arguments(), "--gpu-reset -i 0000:10:00.0\n");
}

TEST(Reset, SaysWhatTheProgramSaid) {
    ResetBench busy(
        "echo 'GPU 0000:12:00.0 is currently'; echo 'In use by another client'; exit 3\n");
    const auto conflict = busy.reset("GPU-2");
    ASSERT_FALSE(conflict);
    EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
    EXPECT_THAT(conflict.error().message, HasSubstr("is currently In use by another client"));
    EXPECT_THAT(conflict.error().message, HasSubstr("nvidia-persistenced"));
    ResetBench never("echo 'Not Supported'; exit 3\n");
    EXPECT_EQ(never.reset("GPU-2").error().code, ErrorCode::kUnsupported);
    ResetBench slow("exec sleep 600\n");
    const auto late = slow.reset("GPU-2", 100ms);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(late.error().message, HasSubstr("not done"));
}

TEST(Reset, SaysWhereItLooked) {
    const Bench bench(kNew);
    const auto done = bench.driver()->reset(kGpu, {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(done.error().message, HasSubstr("driver root"));
}

}  // namespace
}  // namespace aliquot::nvml
