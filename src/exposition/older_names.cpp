// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "exposition/writers.h"

namespace aliquot::exposition {
namespace {

using gpu::Metric;
using telemetry::Amounts;
using Amount = std::optional<std::uint64_t> Amounts::*;

constexpr unsigned kPercentDigits = 4;  // parts per million as percent
constexpr unsigned kMilliDigits = 3;

metrics::Text& alone_row(Text& text, const Scene& scene, const DeviceRow& device) {
    text.row(scene.rows.view(device.names.older));
    if (!device.cut && device.parts.size() == 1 && device.parts.front().alone != nullptr) {
        text.more(scene.rows.view(device.parts.front().alone->native));
    }
    return text;
}

std::uint64_t write_part(Text& text, const Scene& scene, const PartRow& part, Amount amount,
                         unsigned digits) {
    const auto total = part.part->total.*amount;
    const std::string_view labels = scene.rows.view(part.names.older);
    if (part.alone != nullptr) {
        const auto value = total ? total : part.alone->amounts.*amount;
        if (!value) return 0;
        text.row(labels).more(scene.rows.view(part.alone->native)).is(Decimal{*value, digits});
        return *value;
    }
    if (scene.style.shared_rows == SharedRows::kDevice) {
        if (total) text.row(labels).is(Decimal{*total, digits});
        return total.value_or(0);
    }
    std::uint64_t sum = 0;
    for (const PodRow& pod : part.pods) {
        const auto& value = pod.amounts.*amount;
        if (!value || pod.ended) continue;
        text.row(labels).more(scene.rows.view(pod.native)).is(Decimal{*value, digits});
        sum += *value;
    }
    if (!total) return sum;
    text.row(labels).is(Decimal{*total - std::min(*total, sum), digits});
    return std::max(*total, sum);
}

/// Divided between the containers where NVIDIA's names are.
void write_split(Text& text, const Scene& scene, std::string_view family, Amount amount,
                 unsigned digits) {
    text.family(family);
    for (const DeviceRow& device : scene.rows.devices) {
        if (!device.fresh) continue;
        std::uint64_t sum = 0;
        for (const PartRow& part : device.parts) {
            sum += write_part(text, scene, part, amount, digits);
        }
        const auto total = device.device->total.*amount;
        if (!total || (!device.cut && !device.parts.empty())) continue;
        alone_row(text, scene, device).is(Decimal{*total - std::min(*total, sum), digits});
    }
}

void write_total(Text& text, const Scene& scene, std::string_view family, Amount amount,
                 unsigned digits, bool openshift) {
    text.family(family);
    for (const DeviceRow& device : scene.rows.devices) {
        const auto& value = device.device->total.*amount;
        if (!device.fresh || !value) continue;
        if (openshift) {
            text.row(scene.rows.view(device.openshift));
        } else {
            alone_row(text, scene, device);
        }
        text.is(Decimal{*value, digits});
    }
}

void write_metric(Text& text, const Scene& scene, std::string_view family, Metric metric,
                  double factor, bool openshift) {
    text.family(family);
    for (const DeviceRow& device : scene.rows.devices) {
        const auto value = device.device->metrics.get(metric);
        if (!device.fresh || !value || !std::isfinite(*value)) continue;
        if (openshift) {
            text.row(scene.rows.view(device.openshift));
        } else {
            alone_row(text, scene, device);
        }
        text.is(*value * factor);
    }
}

void write_openshift(Text& text, const Scene& scene) {
    constexpr double kHertz = 1e6;
    write_total(text, scene, "accelerator_gpu_utilization", &Amounts::utilization_ppm,
                kPercentDigits, true);
    write_total(text, scene, "accelerator_memory_used_bytes", &Amounts::memory_bytes, 0, true);
    write_metric(text, scene, "accelerator_memory_total_bytes", Metric::kMemoryTotalBytes, 1, true);
    write_total(text, scene, "accelerator_power_usage_watts", &Amounts::power_milliwatts,
                kMilliDigits, true);
    write_metric(text, scene, "accelerator_temperature_celsius", Metric::kTemperatureCelsius, 1,
                 true);
    write_metric(text, scene, "accelerator_sm_clock_hertz", Metric::kSmClockMhz, kHertz, true);
    write_metric(text, scene, "accelerator_memory_clock_hertz", Metric::kMemoryClockMhz, kHertz,
                 true);
}

}  // namespace

void write_older_names(Text& text, const Scene& scene) {
    if (scene.style.compat == Compat::kOff) return;
    std::string node;
    append_label(node, "node", scene.snapshot.node);
    text.family("nvidia_gpu_num_devices");
    text.row(node).is(scene.snapshot.devices.size());
    write_split(text, scene, "nvidia_gpu_utilization", &Amounts::utilization_ppm, kPercentDigits);
    write_total(text, scene, "nvidia_gpu_duty_cycle", &Amounts::utilization_ppm, kPercentDigits,
                false);
    write_metric(text, scene, "nvidia_gpu_memory_total_bytes", Metric::kMemoryTotalBytes, 1, false);
    write_split(text, scene, "nvidia_gpu_memory_used_bytes", &Amounts::memory_bytes, 0);
    write_metric(text, scene, "nvidia_gpu_temperature_celsius", Metric::kTemperatureCelsius, 1,
                 false);
    write_total(text, scene, "nvidia_gpu_power_usage_milliwatts", &Amounts::power_milliwatts, 0,
                false);
    write_metric(text, scene, "nvidia_gpu_fanspeed_percent", Metric::kFanPercent, 1, false);
    if (scene.style.openshift) write_openshift(text, scene);
}

}  // namespace aliquot::exposition
