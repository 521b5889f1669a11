// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/units.h"
#include "exposition/writers.h"

namespace aliquot::exposition {
namespace {

using telemetry::Amounts;
using Number = std::optional<std::uint64_t>;

/// A family with a row for each container.
struct OfPod {
    std::string_view family;
    Number (*value)(const PodRow&);
    unsigned digits = 0;
    bool counter = false;  // told of those that have ended, and of GPUs that do not answer
};

constexpr unsigned kMicro = 6;
constexpr unsigned kMilli = 3;

Number held(const PodRow& pod, const Number& value) {
    return pod.entitlement_ppm == 0 ? std::nullopt : value;
}

constexpr std::array kOfPods{
    OfPod{"gpu_pod_entitlement_ratio", [](const PodRow& p) { return held(p, p.entitlement_ppm); },
          kMicro},
    OfPod{"gpu_pod_busy_seconds_total", [](const PodRow& p) { return p.amounts.busy_ns; },
          kNanoDigits, true},
    OfPod{"gpu_pod_utilization_ratio", [](const PodRow& p) { return p.amounts.utilization_ppm; },
          kMicro},
    OfPod{"gpu_pod_share_utilization_ratio",
          [](const PodRow& p) { return p.share_utilization_ppm; }, kMicro},
    OfPod{"gpu_pod_memory_used_bytes", [](const PodRow& p) { return p.amounts.memory_bytes; }},
    OfPod{"gpu_pod_memory_limit_bytes", [](const PodRow& p) { return p.memory_limit_bytes; }},
    OfPod{"gpu_pod_memory_peak_bytes", [](const PodRow& p) { return p.memory_peak_bytes; }},
    OfPod{"gpu_pod_memory_limit_hits_total", [](const PodRow& p) { return p.denied; }, 0, true},
    OfPod{"gpu_pod_throttled_seconds_total", [](const PodRow& p) { return p.throttled_ns; },
          kNanoDigits, true},
    OfPod{"gpu_pod_energy_joules_total",
          [](const PodRow& p) { return p.amounts.energy_millijoules; }, kMilli, true},
    OfPod{"gpu_pod_held_seconds_total", [](const PodRow& p) { return held(p, p.held_ns); },
          kNanoDigits, true},
    OfPod{"gpu_pod_idle_held_seconds_total",
          [](const PodRow& p) { return held(p, p.idle_held_ns); }, kNanoDigits, true},
    OfPod{"gpu_pod_idle_seconds", [](const PodRow& p) { return p.idle_ns; }, kNanoDigits},
    OfPod{"gpu_pod_processes", [](const PodRow& p) { return Number(p.processes); }},
};

void write_infos(Text& text, const Scene& scene) {
    text.family("gpu_pod_info");
    for (const DeviceRow& row : scene.rows.devices) {
        for (const PartRow& part : row.parts) {
            for (const PodRow& pod : part.pods) {
                if (pod.ended) continue;
                text.row(scene.rows.view(part.names.native))
                    .more(scene.rows.view(pod.native))
                    .label("pod_uid", pod.tenant->owner.pod_uid)
                    .label("resource", pod.tenant->resource)
                    .label("source", to_text(pod.source))
                    .is(1U);
            }
        }
    }
}

void write_of_pod(Text& text, const Scene& scene, const OfPod& family) {
    text.family(family.family);
    for (const DeviceRow& row : scene.rows.devices) {
        if (!row.fresh && !family.counter) continue;
        for (const PartRow& part : row.parts) {
            for (const PodRow& pod : part.pods) {
                if (pod.ended && !family.counter) continue;
                const Number value = family.value(pod);
                if (!value) continue;
                text.row(scene.rows.view(part.names.native))
                    .more(scene.rows.view(pod.native))
                    .is(Decimal{*value, family.digits, false});
            }
        }
    }
}

/// An amount that is nobody's: of each part where its total is known, and of a cut GPU what its
/// parts do not tell.
struct OfNobody {
    std::string_view family;
    Number Amounts::*amount;
    unsigned digits = 0;
};
constexpr std::array kGauges{
    OfNobody{"gpu_unattributed_memory_bytes", &Amounts::memory_bytes},
    OfNobody{"gpu_unattributed_utilization_ratio", &Amounts::utilization_ppm, kMicro},
};

void write_gauge(Text& text, const Scene& scene, const OfNobody& family) {
    text.family(family.family);
    for (const DeviceRow& row : scene.rows.devices) {
        if (!row.fresh) continue;
        for (const PartRow& part : row.parts) {
            if (const Number& rest = part.rest.*family.amount) {
                text.row(scene.rows.view(part.names.native))
                    .is(Decimal{*rest, family.digits, false});
            }
        }
        if (const Number& rest = row.rest.*family.amount) {
            text.row(scene.rows.view(row.names.native)).is(Decimal{*rest, family.digits, false});
        }
    }
}

/// A counter that is nobody's, in two rows: what was never anybody's, and what containers used that
/// have no row any more. The first never jumps when one leaves.
void write_counter(Text& text, const Scene& scene, Block labels, std::uint64_t rest,
                   std::uint64_t ended, unsigned digits) {
    text.row(scene.rows.view(labels))
        .label("reason", "unknown")
        .is(Decimal{rest - ended, digits, false});
    text.row(scene.rows.view(labels)).label("reason", "ended").is(Decimal{ended, digits, false});
}

void write_counters(Text& text, const Scene& scene) {
    text.family("gpu_unattributed_busy_seconds_total");
    for (const DeviceRow& row : scene.rows.devices) {
        for (const PartRow& part : row.parts) {
            if (!part.rest.busy_ns) continue;
            write_counter(text, scene, part.names.native, *part.rest.busy_ns, part.ended_busy_ns,
                          kNanoDigits);
        }
    }
    text.family("gpu_unattributed_energy_joules_total");
    for (const DeviceRow& row : scene.rows.devices) {
        for (const PartRow& part : row.parts) {
            if (!part.rest.energy_millijoules) continue;
            write_counter(text, scene, part.names.native, *part.rest.energy_millijoules,
                          part.ended_energy_millijoules, kMilli);
        }
        if (row.rest.energy_millijoules) {
            write_counter(text, scene, row.names.native, *row.rest.energy_millijoules,
                          row.ended_energy_millijoules, kMilli);
        }
    }
}

}  // namespace

void write_pods(Text& text, const Scene& scene) {
    write_infos(text, scene);
    for (const OfPod& family : kOfPods) write_of_pod(text, scene, family);
    for (const OfNobody& family : kGauges) write_gauge(text, scene, family);
    write_counters(text, scene);
    text.family("gpu_unattributed_processes");
    for (const DeviceRow& row : scene.rows.devices) {
        if (!row.fresh) continue;
        for (const PartRow& part : row.parts) {
            text.row(scene.rows.view(part.names.native)).is(part.part->others.size());
        }
    }
}

}  // namespace aliquot::exposition
