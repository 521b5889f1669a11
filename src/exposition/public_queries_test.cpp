// SPDX-License-Identifier: Apache-2.0
// What public dashboards and alerts ask of NVIDIA's exporter is answered alike whether a GPU is
// shared or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "exposition/render.h"
#include "exposition/test_scenes.h"
#include "exposition/test_text.h"

namespace aliquot::exposition {
namespace {

constexpr unsigned kScenes = 200;

enum class Fold : std::uint8_t { kEach, kSum, kAverage, kMost, kLeast, kSeries, kAbove, kBelow };

/// A query as a dashboard or a rule has it, without its selectors, units and ranges.
struct Query {
    std::string_view family;
    Fold fold = Fold::kEach;
    double limit = 0;
    std::string_view plus;  // a second family that is added to the first
};

/// source   the dashboards of grafana.com 12239, of the GPU operator for OpenShift, of Google's
///          managed Prometheus, of dcgm-grafonnet; rules that warn of busy, idle, hot and full GPUs
constexpr Query kQueries[] = {
    {"DCGM_FI_DEV_GPU_TEMP", Fold::kEach},
    {"DCGM_FI_DEV_GPU_TEMP", Fold::kAverage},
    {"DCGM_FI_DEV_GPU_TEMP", Fold::kMost},
    {"DCGM_FI_DEV_GPU_TEMP", Fold::kAbove, 83},
    {"DCGM_FI_DEV_MEMORY_TEMP", Fold::kMost},
    {"DCGM_FI_DEV_POWER_USAGE", Fold::kEach},
    {"DCGM_FI_DEV_POWER_USAGE", Fold::kSum},
    {"DCGM_FI_DEV_POWER_USAGE", Fold::kAverage},
    {"DCGM_FI_DEV_POWER_USAGE", Fold::kAbove, 40},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Fold::kEach},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Fold::kSum},
    {"DCGM_FI_DEV_SM_CLOCK", Fold::kEach},
    {"DCGM_FI_DEV_MEM_CLOCK", Fold::kLeast},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kEach},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kAverage},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kSum},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kMost},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kSeries},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kAbove, 90},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kAbove, 50},
    {"DCGM_FI_DEV_GPU_UTIL", Fold::kBelow, 5},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", Fold::kAverage},
    {"DCGM_FI_DEV_FB_USED", Fold::kEach},
    {"DCGM_FI_DEV_FB_USED", Fold::kSum},
    {"DCGM_FI_DEV_FB_USED", Fold::kAverage},
    {"DCGM_FI_DEV_FB_FREE", Fold::kEach},
    {"DCGM_FI_DEV_FB_FREE", Fold::kLeast},
    {"DCGM_FI_DEV_FB_FREE", Fold::kBelow, 2048},
    {"DCGM_FI_DEV_FB_USED", Fold::kEach, 0, "DCGM_FI_DEV_FB_FREE"},
    {"DCGM_FI_DEV_FB_USED", Fold::kSum, 0, "DCGM_FI_DEV_FB_FREE"},
    {"DCGM_FI_DEV_XID_ERRORS", Fold::kAbove, 0},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", Fold::kAverage},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", Fold::kEach},
    {"DCGM_FI_PROF_DRAM_ACTIVE", Fold::kAverage},
    {"nvidia_gpu_utilization", Fold::kEach},
    {"nvidia_gpu_utilization", Fold::kAverage},
    {"nvidia_gpu_duty_cycle", Fold::kEach},
    {"nvidia_gpu_memory_used_bytes", Fold::kSum},
    {"nvidia_gpu_temperature_celsius", Fold::kMost},
    {"accelerator_gpu_utilization", Fold::kSeries},
};

using Series = std::map<std::string, double>;

/// By GPU and instance: a dashboard's legend. A series that occurs twice is a failure.
Series series_of(const ReadText& text, std::string_view family) {
    Series series;
    for (const Sample& sample : text.samples(family)) {
        const std::string key = std::string(sample.label("gpu")) + '/' +
                                std::string(sample.label("GPU_I_ID")) + '/' +
                                std::string(sample.label("uuid"));
        EXPECT_TRUE(series.emplace(key, std::stod(sample.value)).second) << family << ' ' << key;
    }
    return series;
}

std::vector<double> answer(const ReadText& text, const Query& query) {
    Series series = series_of(text, query.family);
    if (!query.plus.empty()) {
        const Series more = series_of(text, query.plus);
        Series both;
        for (const auto& [key, value] : series) {
            const auto other = more.find(key);
            if (other != more.end()) both[key] = value + other->second;
        }
        series = both;
    }
    std::vector<double> values;
    for (const auto& [key, value] : series) values.push_back(value);
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const auto count = static_cast<double>(values.size());
    const auto beyond = [&values](auto condition) {
        return std::vector{static_cast<double>(std::ranges::count_if(values, condition))};
    };
    if (values.empty() || query.fold == Fold::kEach) return values;
    switch (query.fold) {
        case Fold::kSum:
            return {sum};
        case Fold::kAverage:
            return {sum / count};
        case Fold::kMost:
            return {*std::ranges::max_element(values)};
        case Fold::kLeast:
            return {*std::ranges::min_element(values)};
        case Fold::kAbove:
            return beyond([&](double value) { return value > query.limit; });
        case Fold::kBelow:
            return beyond([&](double value) { return value < query.limit; });
        default:
            return {count};
    }
}

/// The same GPUs; whoever shares one cannot be told: what an exporter without pods answers.
telemetry::Snapshot without_pods(telemetry::Snapshot snapshot) {
    for (telemetry::Device& device : snapshot.devices) {
        for (telemetry::Part& part : device.parts) {
            if (device.layout.replicas > 1) part.tenants.clear();
        }
    }
    return snapshot;
}

ReadText read(const telemetry::Snapshot& snapshot) {
    Style style;
    style.openshift = true;
    return read_text(render(snapshot, style, Own{}), false);
}

TEST(PublicQueries, AreAnsweredWithTheTruthOfTheDeviceOnSharedGpus) {
    std::vector<telemetry::Snapshot> all{crowd(8, 8)};
    for (const NamedScene& scene : scenes()) all.push_back(scene.make());
    for (unsigned seed = 0; seed < kScenes; ++seed) all.push_back(random_scene(seed));
    std::size_t answered = 0;
    for (const telemetry::Snapshot& snapshot : all) {
        const ReadText found = read(snapshot);
        const ReadText truth = read(without_pods(snapshot));
        for (const Query& query : kQueries) {
            const auto values = answer(found, query);
            ASSERT_EQ(values, answer(truth, query)) << query.family;
            if (!values.empty()) ++answered;
        }
    }
    EXPECT_GT(answered, std::size(kQueries) * all.size() / 2) << "most queries find data";
}

TEST(PublicQueries, FindPodsUnderOurNames) {
    const ReadText text = read(time_sliced_four());
    EXPECT_EQ(text.samples("gpu_pod_memory_used_bytes").size(), 4U);
    EXPECT_EQ(text.samples("DCGM_FI_DEV_FB_USED").size(), 1U);
    EXPECT_FALSE(text.samples("DCGM_FI_DEV_FB_USED")[0].has("pod"));
}

TEST(PublicQueries, FindThePodOfAGpuThatIsNotShared) {
    const auto used = read(exclusive_a2()).samples("DCGM_FI_DEV_FB_USED");
    ASSERT_EQ(used.size(), 1U);
    EXPECT_EQ(used[0].label("pod"), "trainer-0");
}

TEST(PublicQueries, ThePageOf64PodsWithLimitsIsSmallEnough) {
    telemetry::Snapshot snapshot = crowd(8, 8);
    for (telemetry::Device& device : snapshot.devices) {
        for (telemetry::Tenant& tenant : device.parts[0].tenants) {
            tenant.memory_limit_bytes = 8ULL << 30U;
            tenant.memory_peak_bytes = 7ULL << 30U;
            tenant.denied = 3;
            tenant.throttled_ns = 1'000'000'000;
        }
    }
    constexpr std::size_t kMost = 400'000;
    EXPECT_LE(render(snapshot, Style{}, Own{}).size(), kMost);
}

}  // namespace
}  // namespace aliquot::exposition
