// SPDX-License-Identifier: Apache-2.0
//
// Who has used which GPU how long: 64 pods on 8 GPUs, each with a scripted load, seen by the real
// agent. For each way to offer GPUs the agent's books must say what the scripts say, and add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/telemetry_node.h"

namespace aliquot::e2e {
namespace {

using telemetry::Amounts;
using telemetry::Part;
using telemetry::Snapshot;
using telemetry::Tenant;

constexpr unsigned kPods = 64;
constexpr double kTolerance = 0.02;

/// The tenants' and the remainder's add up to the total, to the last unit.
void expect_exact(const Part& part, std::optional<std::uint64_t> Amounts::*member,
                  const char* name) {
    if (!(part.total.*member)) return;
    std::uint64_t sum = (part.remainder.*member).value_or(0);
    for (const Tenant& tenant : part.tenants) sum += (tenant.amounts.*member).value_or(0);
    EXPECT_EQ(sum, *(part.total.*member)) << name;
}

void expect_exact(const Snapshot& state) {
    for (const auto& device : state.devices) {
        for (const Part& part : device.parts) {
            expect_exact(part, &Amounts::memory_bytes, "memory");
            expect_exact(part, &Amounts::utilization_ppm, "utilization");
            expect_exact(part, &Amounts::busy_ns, "busy time");
        }
        // Power and energy are of the whole GPU, whatever parts it has.
        for (const auto member : {&Amounts::power_milliwatts, &Amounts::energy_millijoules}) {
            if (!(device.total.*member)) continue;
            std::uint64_t sum = (device.remainder.*member).value_or(0);
            for (const Part& part : device.parts) {
                for (const Tenant& tenant : part.tenants) {
                    sum += (tenant.amounts.*member).value_or(0);
                }
            }
            EXPECT_EQ(sum, *(device.total.*member)) << device.gpu.uuid.text;
        }
    }
}

const Tenant* tenant_of(const Snapshot& state, const std::string& pod) {
    for (const auto& device : state.devices) {
        for (const Part& part : device.parts) {
            for (const Tenant& tenant : part.tenants) {
                if (tenant.owner.pod == pod) return &tenant;
            }
        }
    }
    return nullptr;
}

/// The value of the first line of a metric that has all of `labels`.
std::optional<double> sample_of(const std::string& text, const std::string& metric,
                                const std::vector<std::string>& labels) {
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        const bool fits = line.starts_with(metric + "{") &&
                          std::ranges::all_of(labels, [&line](const std::string& label) {
                              return line.contains(label);
                          });
        if (!fits) continue;
        double value = 0;
        const char* const from = line.data() + line.rfind(' ') + 1;
        if (std::from_chars(from, line.data() + line.size(), value).ec == std::errc{}) return value;
    }
    return std::nullopt;
}

void check_pod(const TelemetryNode& node, const MeteredPod& pod, const Snapshot& state) {
    const Tenant* const tenant = tenant_of(state, pod.name);
    ASSERT_NE(tenant, nullptr) << pod.name;
    EXPECT_EQ(tenant->owner.pod_namespace, "load");
    EXPECT_EQ(tenant->owner.container, "main");
    EXPECT_EQ(tenant->owner.pod_uid, pod.uid);
    ASSERT_TRUE(tenant->amounts.busy_ns) << pod.name;
    const double scripted = node.scripted_seconds(pod);
    const double counted = static_cast<double>(*tenant->amounts.busy_ns) / 1e9;
    EXPECT_NEAR(counted, scripted, scripted * kTolerance)
        << pod.name << " on GPU " << pod.gpu << ", " << to_text(tenant->source);
    const std::uint64_t memory = pod.script.phases.front().memory_bytes;
    EXPECT_GE(tenant->amounts.memory_bytes.value_or(0), memory) << pod.name;
}

/// 64 pods, as many of them at a time as there are devices.
void run_pods(TelemetryNode& node, unsigned at_a_time, const std::vector<std::string>& scripts) {
    double scripted = 0;
    for (unsigned first = 0; first < kPods; first += at_a_time) {
        for (unsigned i = first; i < first + at_a_time; ++i) {
            ASSERT_NO_FATAL_FAILURE(node.add_pod("pod-" + std::to_string(i)));
        }
        ASSERT_NO_FATAL_FAILURE(node.run(scripts));
        const Snapshot state = node.wait_for_the_end();
        expect_exact(state);
        for (const MeteredPod& pod : node.pods()) {
            ASSERT_NO_FATAL_FAILURE(check_pod(node, pod, state));
            scripted += node.scripted_seconds(pod);
        }
        const std::string metrics = node.metrics();
        for (const MeteredPod& pod : node.pods()) {
            const auto told = sample_of(metrics, "gpu_pod_busy_seconds_total",
                                        {"pod=\"" + pod.name + "\"", "namespace=\"load\""});
            const double wanted = node.scripted_seconds(pod);
            ASSERT_TRUE(told) << pod.name << "\n" << metrics.substr(0, 2000);
            EXPECT_NEAR(*told, wanted, wanted * kTolerance) << pod.name;
        }
        node.remove_pods();
    }
    // Nothing is lost with those who went.
    const Snapshot last = node.state();
    expect_exact(last);
    double busy = 0;
    for (const auto& device : last.devices) {
        for (const Part& part : device.parts) {
            busy += static_cast<double>(part.total.busy_ns.value_or(0)) / 1e9;
        }
    }
    EXPECT_NEAR(busy, scripted, scripted * kTolerance);
}

// Together all there is, then twice as much.
const std::vector<std::string> kShared = {"0s:25%:1Gi,2s:100%,4s:0%", "0s:25%:2Gi,2s:60%,4s:0%",
                                          "0s:20%:1Gi,2s:40%,4s:0%", "0s:30%:1Gi,2s:0%,4s:0%"};
const std::vector<std::string> kAlone = {"0s:60%:4Gi,500ms:25%,1s:0%"};

TEST(Telemetry, CountsExclusivePods) {
    TelemetryNode node({.model = "a2",
                        .config = "version: v1\n",
                        .resource = "nvidia.com/gpu",
                        .devices = TelemetryNode::kGpus});
    ASSERT_NO_FATAL_FAILURE(node.start());
    run_pods(node, TelemetryNode::kGpus, kAlone);
}

TEST(Telemetry, CountsPodsThatTakeTurns) {
    TelemetryNode node(
        {.model = "t4",
         .config = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, "
                   "replicas: 4}]}}\n",
         .resource = "nvidia.com/gpu",
         .devices = 4 * TelemetryNode::kGpus});
    ASSERT_NO_FATAL_FAILURE(node.start());
    run_pods(node, 4 * TelemetryNode::kGpus, kShared);
}

TEST(Telemetry, CountsMpsClients) {
    TelemetryNode node({.model = "rtx-3090",
                        .config = "version: v1\nsharing: {mps: {resources: [{name: "
                                  "nvidia.com/gpu, replicas: 4}]}}\n",
                        .resource = "nvidia.com/gpu",
                        .devices = 4 * TelemetryNode::kGpus,
                        .mps = true});
    ASSERT_NO_FATAL_FAILURE(node.start());
    run_pods(node, 4 * TelemetryNode::kGpus, kShared);
}

TEST(Telemetry, CountsPodsOnMigDevices) {
    TelemetryNode node({.model = "h100-80",
                        .layout = "1g.20gb*4",
                        .config = "version: v1\nflags:\n  migStrategy: mixed\n",
                        .resource = "nvidia.com/mig-1g.20gb",
                        .devices = 4 * TelemetryNode::kGpus});
    ASSERT_NO_FATAL_FAILURE(node.start());
    run_pods(node, 4 * TelemetryNode::kGpus, kShared);
}

/// GPU time in nanoseconds, of all GPUs.
struct Booked {
    double busy = 0;
    double busy_of_pods = 0;
};

Booked booked(const Snapshot& state) {
    Booked sums;
    for (const auto& device : state.devices) {
        for (const Part& part : device.parts) {
            sums.busy += static_cast<double>(part.total.busy_ns.value_or(0));
            sums.busy_of_pods += static_cast<double>(part.ended_busy_ns);
            for (const Tenant& tenant : part.tenants) {
                sums.busy_of_pods += static_cast<double>(tenant.amounts.busy_ns.value_or(0));
            }
        }
    }
    return sums;
}

/// Pods that live for less than a look to five seconds, one after the other on 32 shares.
TEST(Telemetry, PodsThatLiveAMomentAreBookedWhatTheyUse) {
    constexpr unsigned kShortPods = 96;
    constexpr std::size_t kAtATime = 20;
    TelemetryNode node(
        {.model = "t4",
         .config = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, "
                   "replicas: 4}]}}\n",
         .resource = "nvidia.com/gpu",
         .devices = 4 * TelemetryNode::kGpus});
    ASSERT_NO_FATAL_FAILURE(node.start());
    std::mt19937 random(5);
    std::multimap<SteadyTime, std::string> ends;
    for (unsigned i = 0; i < kShortPods || !ends.empty();) {
        if (i < kShortPods && ends.size() < kAtATime) {
            const std::string name = "short-" + std::to_string(i++);
            ASSERT_NO_FATAL_FAILURE(node.start_pod(name, "0s:60%:1Gi"));
            const auto life = std::chrono::milliseconds(600 + random() % 4400);
            ends.emplace(std::chrono::steady_clock::now() + life, name);
            continue;
        }
        std::this_thread::sleep_until(ends.begin()->first);
        ASSERT_NO_FATAL_FAILURE(node.end_pod(ends.begin()->second));
        ends.erase(ends.begin());
    }
    const Snapshot last = node.wait_for_the_end();
    expect_exact(last);
    const Booked sums = booked(last);
    EXPECT_GT(sums.busy, 30e9) << "they have used their GPUs";
    EXPECT_GE(sums.busy_of_pods, 0.98 * sums.busy)
        << (sums.busy - sums.busy_of_pods) / 1e9 << " s of " << sums.busy / 1e9 << " s";
}

TEST(Telemetry, EnergyGoesOnOverKillsOfTheAgent) {
    constexpr unsigned kKills = 10;
    TelemetryNode node(
        {.model = "h100-80",
         .config = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, "
                   "replicas: 4}]}}\n",
         .resource = "nvidia.com/gpu",
         .devices = 4 * TelemetryNode::kGpus});
    ASSERT_NO_FATAL_FAILURE(node.start());
    for (unsigned i = 0; i < TelemetryNode::kGpus; ++i) node.add_pod("pod-" + std::to_string(i));
    node.run(kShared);
    Snapshot before = node.state();
    for (unsigned kill = 0; kill < kKills; ++kill) {
        ASSERT_NO_FATAL_FAILURE(node.kill_agent());
        const Snapshot after = node.state();
        expect_exact(after);
        ASSERT_EQ(after.devices.size(), before.devices.size());
        for (std::size_t i = 0; i < after.devices.size(); ++i) {
            const auto& was = before.devices[i];
            const auto& is = after.devices[i];
            // What the driver has counted, the time without an agent included.
            EXPECT_EQ(is.total.energy_millijoules,
                      is.metrics.whole(gpu::Metric::kEnergyMillijoules));
            const auto step = *is.total.energy_millijoules - *was.total.energy_millijoules;
            EXPECT_GE(is.remainder.energy_millijoules, was.remainder.energy_millijoules);
            EXPECT_LE(*is.remainder.energy_millijoules - *was.remainder.energy_millijoules, step);
            EXPECT_GE(is.total.busy_ns, was.total.busy_ns);
        }
        for (const MeteredPod& pod : node.pods()) {
            const Tenant* const was = tenant_of(before, pod.name);
            const Tenant* const is = tenant_of(after, pod.name);
            if (was == nullptr) continue;
            ASSERT_NE(is, nullptr) << pod.name;
            EXPECT_GE(is->amounts.energy_millijoules, was->amounts.energy_millijoules);
            EXPECT_GE(is->amounts.busy_ns, was->amounts.busy_ns);
        }
        before = after;
    }
}

}  // namespace
}  // namespace aliquot::e2e
