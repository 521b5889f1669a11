// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "nvml/driver.h"
#include "nvml/fake_bench.h"

namespace aliquot::nvml {
namespace {

using namespace std::chrono_literals;
using fake::Bench;
using fake::kNew;
using testing::HasSubstr;

/// A look at a busy machine is no hang.
constexpr auto kPatience = 3s;

gpu::Uuid uuid_of(const std::string& text) { return {text}; }

/// Ends a hang also when a test fails in the middle of it.
struct HangEnds {
    const Bench& bench;
    ~HangEnds() {
        bench->hang = false;
        while (bench->hanging != 0) std::this_thread::yield();
    }
};

bool healthy(Driver& driver, std::size_t index) {
    const auto inventory = driver.enumerate();
    return inventory && inventory->gpus.at(index).health.ok();
}

template <class Condition>
bool comes_true(Condition condition) {
    for (int i = 0; i < 3000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

TEST(DriverHang, DoesNotWaitForAHangingGpu) {
    const Bench bench(kNew, kPatience);
    const HangEnds end{bench};
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->enumerate());
    bench->hang_gpu = 0;
    bench->hang = true;
    const auto hung = driver->sample(uuid_of("GPU-0"));
    ASSERT_FALSE(hung);
    EXPECT_EQ(hung.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(hung.error().message, HasSubstr("nvmlDeviceGetMemoryInfo"));
    EXPECT_TRUE(comes_true([&] { return !healthy(*driver, 0); }));
    const auto inventory = driver->enumerate();
    ASSERT_TRUE(inventory);
    EXPECT_EQ(inventory->gpus[0].uuid, uuid_of("GPU-0"));
    EXPECT_THAT(inventory->gpus[0].health.reason, HasSubstr("'sample of GPU-0'"));
    EXPECT_TRUE(inventory->gpus[1].health.ok());
    EXPECT_TRUE(driver->sample(uuid_of("GPU-1")));
    EXPECT_EQ(bench->hanging, 1);  // whoever asks meanwhile hangs not

    bench->hang = false;
    EXPECT_TRUE(comes_true([&] { return healthy(*driver, 0); }));
}

TEST(DriverHang, BlamesOneGpuForADriverThatHangsAsAWhole) {
    const Bench bench(kNew, kPatience);
    const HangEnds end{bench};
    const auto driver = bench.driver();
    ASSERT_TRUE(driver->enumerate());
    bench->hang_all = true;  // every call, once the first one hangs
    bench->hang_gpu = 1;
    bench->hang = true;
    EXPECT_FALSE(driver->sample(uuid_of("GPU-1")));
    std::vector<gpu::Probe> probes;
    ASSERT_TRUE(comes_true([&] {
        const auto asked = driver->probe({uuid_of("GPU-0"), uuid_of("GPU-1"), uuid_of("GPU-2")});
        if (asked) probes = *asked;
        return !probes.empty();
    }));
    ASSERT_EQ(probes.size(), 1U);  // of the others nothing is known
    EXPECT_EQ(probes[0].gpu, uuid_of("GPU-1"));
    EXPECT_FALSE(probes[0].answers);
}

TEST(DriverHang, EndsWhileAGpuHangs) {
    const Bench bench(kNew, 50ms);
    const HangEnds end{bench};
    auto driver = bench.driver();
    ASSERT_TRUE(comes_true([&] { return driver->enumerate().ok(); }));
    bench->hang = true;
    EXPECT_FALSE(driver->sample(uuid_of("GPU-0")));
    driver.reset();
    bench->hang = false;
    // The thread left behind returns, shuts NVML down and ends.
    EXPECT_TRUE(comes_true([&] { return bench->hanging == 0 && bench->initialised == 0; }));
}

}  // namespace
}  // namespace aliquot::nvml
