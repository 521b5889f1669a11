// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <random>

#include "exposition/test_scenes.h"

namespace aliquot::exposition {
namespace {

using gpu::Metric;
using telemetry::Amounts;
using telemetry::Device;
using telemetry::Part;
using telemetry::Snapshot;
using telemetry::Tenant;
using Number = std::optional<std::uint64_t>;

constexpr std::uint64_t kMostBytes = 20ULL << 30U;
constexpr std::uint64_t kMostNs = 500'000'000'000'000;

class Dice {
public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t limit) {
        return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(engine_);
    }
    bool one_in(unsigned of) { return below(of) == 0; }
    Number perhaps(std::uint64_t limit) {
        if (one_in(4)) return std::nullopt;
        return below(limit);
    }
    std::string word() {
        constexpr std::array<std::string_view, 8> kWords{
            "team-a",      "b",          "",         "quote\"d",
            "back\\slash", "two\nlines", "\xFF\xC3", "gr\xC3\xBC\xC3\x9F"};
        return std::string(kWords[below(kWords.size())]);
    }

private:
    std::mt19937 engine_;
};

Amounts amounts(Dice& dice) {
    return {dice.perhaps(kMostBytes), dice.perhaps(telemetry::kMillion), dice.perhaps(kMostNs),
            dice.perhaps(700'000), dice.perhaps(1ULL << 40U)};
}

Tenant tenant(Dice& dice) {
    Tenant made;
    made.owner.pod_namespace = dice.word();
    made.owner.pod = dice.word();
    made.owner.container = dice.word();
    made.owner.pod_uid = dice.one_in(3) ? "" : "uid-" + std::to_string(dice.below(3));
    made.owner.container_id = dice.one_in(3) ? "" : std::string(64, 'a');
    made.resource = dice.word();
    made.source = static_cast<telemetry::Source>(dice.below(4));
    made.entitlement_ppm = dice.one_in(3) ? 0 : dice.below(telemetry::kMillion) + 1;
    made.amounts = amounts(dice);
    made.share_utilization_ppm = dice.perhaps(4 * telemetry::kMillion);
    made.memory_limit_bytes = dice.perhaps(kMostBytes);
    made.memory_peak_bytes = dice.perhaps(kMostBytes);
    made.denied = dice.perhaps(100);
    made.throttled_ns = dice.perhaps(kMostNs);
    made.held_ns = dice.below(kMostNs);
    made.idle_held_ns = dice.perhaps(kMostNs);
    made.idle_ns = dice.perhaps(kMostNs);
    made.ended = dice.one_in(4);
    if (made.ended) {
        made.amounts.memory_bytes.reset();
        made.amounts.utilization_ppm.reset();
        made.amounts.power_milliwatts.reset();
    }
    made.processes.resize(dice.below(3));
    return made;
}

/// A total of an amount, known or not, that the tenants and the remainder add up to.
void add_up(Dice& dice, Part& part, Number Amounts::*amount, std::uint64_t limit) {
    if (dice.one_in(5)) return;
    part.remainder.*amount = dice.below(limit);
    std::uint64_t sum = *(part.remainder.*amount);
    for (const Tenant& one : part.tenants) sum += (one.amounts.*amount).value_or(0);
    part.total.*amount = sum;
}

void fill(Dice& dice, gpu::MetricValues& metrics) {
    for (std::size_t place = 0; place < gpu::kMetricCount; ++place) {
        const auto metric = static_cast<Metric>(place);
        const bool ratio = metric >= Metric::kGraphicsActive && metric <= Metric::kFp16Active;
        if (dice.one_in(3)) continue;
        metrics.set(metric, ratio ? static_cast<double>(dice.below(1'000'000)) / 1e6
                                  : static_cast<double>(dice.below(1ULL << 36U)));
    }
}

Part part(Dice& dice, std::optional<unsigned> instance) {
    Part made;
    made.gpu_instance = instance;
    if (instance) {
        made.profile = "1g.10gb";
        if (!dice.one_in(3)) made.mig_devices = {{"MIG-" + std::to_string(*instance)}};
    }
    fill(dice, made.metrics);
    for (std::uint64_t count = dice.below(7); count > 0; --count) {
        made.tenants.push_back(tenant(dice));
    }
    add_up(dice, made, &Amounts::memory_bytes, kMostBytes);
    add_up(dice, made, &Amounts::utilization_ppm, telemetry::kMillion);
    add_up(dice, made, &Amounts::busy_ns, kMostNs);
    if (!instance) add_up(dice, made, &Amounts::power_milliwatts, 700'000);
    if (!instance) add_up(dice, made, &Amounts::energy_millijoules, 1ULL << 40U);
    if (made.remainder.busy_ns) made.ended_busy_ns = dice.below(*made.remainder.busy_ns + 1);
    made.others.resize(dice.below(3));
    return made;
}

/// A cut GPU's total is what its parts use and some more.
void sum_parts(Dice& dice, Device& device, Number Amounts::*amount) {
    if (dice.one_in(5)) return;
    std::uint64_t sum = dice.below(1000);
    for (const Part& one : device.parts) {
        if (const Number& total = one.total.*amount) {
            sum += *total;
            continue;
        }
        for (const Tenant& tenant : one.tenants) sum += (tenant.amounts.*amount).value_or(0);
    }
    device.total.*amount = sum;
}

Device device(Dice& dice, unsigned index, telemetry::Moment now) {
    Device made;
    made.gpu.index = index;
    made.gpu.minor = index;
    made.gpu.uuid.text = "GPU-" + std::to_string(index);
    made.gpu.model = dice.word();
    made.layout.replicas = static_cast<unsigned>(dice.below(3));
    made.layout.slots = {{"nvidia.com/gpu", 1}};
    if (!dice.one_in(6)) made.read_at = now - std::chrono::seconds(dice.below(40));
    if (dice.one_in(4)) made.problem = "it does not answer";
    made.gpu.health.reason = dice.word();
    fill(dice, made.metrics);
    made.throttled_ns = {{"sw_power", dice.below(kMostNs)}};
    for (std::uint64_t xid = dice.below(3) * 24; xid > 0; xid -= 24) {
        made.xids.insert(made.xids.begin(), {xid, dice.below(9) + 1, now});
        made.last_xids.push_back({xid, now - std::chrono::seconds(dice.below(600)), {}, {}});
    }
    if (dice.one_in(3)) {
        made.gpu.mig_enabled = true;
        made.layout.mechanism = grant::Mechanism::kMig;
        for (unsigned instance = 0; instance < 1 + dice.below(4); ++instance) {
            made.parts.push_back(part(dice, instance));
        }
        sum_parts(dice, made, &Amounts::memory_bytes);
        sum_parts(dice, made, &Amounts::power_milliwatts);
        sum_parts(dice, made, &Amounts::energy_millijoules);
    } else if (!dice.one_in(6)) {
        made.parts.push_back(part(dice, std::nullopt));
        made.total = made.parts[0].total;
        made.remainder = made.parts[0].remainder;
    }
    return made;
}

}  // namespace

Snapshot random_scene(unsigned seed) {
    Dice dice(seed);
    Snapshot made;
    made.at = telemetry::Moment{std::chrono::seconds(1'790'000'000)};
    made.node = dice.word();
    made.driver_version = dice.one_in(5) ? "" : "580.65.06";
    made.driver_problem = dice.one_in(5) ? "no driver" : "";
    made.cuda_version = 13000;
    for (unsigned index = 0; index < dice.below(5); ++index) {
        made.devices.push_back(device(dice, index, made.at));
    }
    if (dice.one_in(2)) made.price_per_gpu_hour = 1.25;
    if (dice.one_in(2)) made.sampling.failed_calls[{"nvmlDeviceGetPowerUsage", 999}] = 3;
    return made;
}

}  // namespace aliquot::exposition
