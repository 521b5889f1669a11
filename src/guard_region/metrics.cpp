// SPDX-License-Identifier: Apache-2.0
#include "guard_region/metrics.h"

#include <array>
#include <cstdio>
#include <functional>

#include "base/units.h"

namespace aliquot::guard_region {
namespace {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\' || c == '"') result += '\\';
        if (c == '\n') {
            result += "\\n";
        } else {
            result += c;
        }
    }
    return result;
}

std::string labels(const RegionStatus& region, const DeviceStatus& device) {
    return "namespace=\"" + escaped(region.pod_namespace) + "\",pod=\"" + escaped(region.pod) +
           "\",container=\"" + escaped(region.container) + "\",uuid=\"" + escaped(device.uuid) +
           "\",region=\"" + escaped(region.id) + "\"";
}

std::string number(double value) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%.9g", value);
    return text.data();
}

struct Metric {
    const char* name;
    const char* type;
    const char* help;
    std::string (*value)(const DeviceStatus&);  // empty: not to be told
};

constexpr std::array<Metric, 13> kMetrics{{
    {"aliquot_guard_memory_limit_bytes", "gauge", "GPU memory that the container may use.",
     [](const DeviceStatus& d) {
         return d.limits.memory_bytes == 0 ? "" : std::to_string(d.limits.memory_bytes);
     }},
    {"aliquot_guard_memory_used_bytes", "gauge", "Tracked memory and overhead together.",
     [](const DeviceStatus& d) { return std::to_string(d.used_bytes); }},
    {"aliquot_guard_memory_tracked_bytes", "gauge", "What its processes have allocated.",
     [](const DeviceStatus& d) { return std::to_string(d.tracked_bytes); }},
    {"aliquot_guard_memory_overhead_bytes", "gauge", "Contexts, kernels and the like.",
     [](const DeviceStatus& d) { return std::to_string(d.overhead_bytes); }},
    {"aliquot_guard_memory_peak_bytes", "gauge", "The most that was used at once.",
     [](const DeviceStatus& d) { return std::to_string(d.peak_bytes); }},
    {"aliquot_guard_memory_driver_bytes", "gauge", "What the driver says its processes hold.",
     [](const DeviceStatus& d) {
         return d.driver_bytes ? std::to_string(*d.driver_bytes) : std::string();
     }},
    {"aliquot_guard_alloc_denied_total", "counter", "Requests answered with out of memory.",
     [](const DeviceStatus& d) { return std::to_string(d.denied); }},
    {"aliquot_guard_gpu_seconds_total", "counter", "GPU time used, where it is measured.",
     [](const DeviceStatus& d) { return number(static_cast<double>(d.gpu_ns) / kNsPerSecond); }},
    {"aliquot_guard_throttled_seconds_total", "counter", "Time that its work was held back.",
     [](const DeviceStatus& d) {
         return number(static_cast<double>(d.throttled_ns) / kNsPerSecond);
     }},
    {"aliquot_guard_overruns_total", "counter", "Work let through after the longest wait.",
     [](const DeviceStatus& d) { return std::to_string(d.overruns); }},
    {"aliquot_guard_processes", "gauge", "Guarded processes that use the device.",
     [](const DeviceStatus& d) { return std::to_string(d.processes); }},
    {"aliquot_guard_unguarded_processes", "gauge",
     "Processes of the container that use the device beside the guard.",
     [](const DeviceStatus& d) { return std::to_string(d.unguarded); }},
    {"aliquot_guard_compute_cap_ratio", "gauge", "The most GPU time it may use, 0 to 1.",
     [](const DeviceStatus& d) {
         constexpr double kPpm = 1e6;
         return d.limits.cap_ppm == 0 ? "" : number(static_cast<double>(d.limits.cap_ppm) / kPpm);
     }},
}};

std::string head(const char* name, const char* type, const char* help) {
    return std::string("# HELP ") + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
}

}  // namespace

std::string metrics_text(std::span<const RegionStatus> regions) {
    std::string text;
    for (const Metric& metric : kMetrics) {
        text += head(metric.name, metric.type, metric.help);
        for (const RegionStatus& region : regions) {
            for (const DeviceStatus& device : region.devices) {
                const std::string value = metric.value(device);
                if (value.empty()) continue;
                text +=
                    std::string(metric.name) + '{' + labels(region, device) + "} " + value + '\n';
            }
        }
    }
    text += head("aliquot_guard_remarks", "gauge",
                 "Something went on without the limit it should have had.");
    for (const RegionStatus& region : regions) {
        for (const DeviceStatus& device : region.devices) {
            for (const std::string_view remark : device.remarks) {
                text += "aliquot_guard_remarks{" + labels(region, device) + ",remark=\"" +
                        std::string(remark) + "\"} 1\n";
            }
        }
    }
    text +=
        head("aliquot_guard_ledger_readable", "gauge", "0: the container has damaged its ledger.");
    for (const RegionStatus& region : regions) {
        for (const DeviceStatus& device : region.devices) {
            text += "aliquot_guard_ledger_readable{" + labels(region, device) + "} " +
                    (region.problem.empty() ? "1\n" : "0\n");
        }
    }
    return text;
}

}  // namespace aliquot::guard_region
