// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/units.h"
#include "exposition/writers.h"

namespace aliquot::exposition {
namespace {

void write_sight(Text& text, const Scene& scene, std::string_view node) {
    const telemetry::SamplingStatus& sampling = scene.snapshot.sampling;
    text.family("aliquot_agent_collects_total");
    text.row(node).is(sampling.looks);
    text.family("aliquot_agent_collect_failures_total");
    text.row(node).is(sampling.failed_looks);
    text.family("aliquot_agent_collect_duration_seconds");
    text.row(node).is(Decimal{sampling.look_ns, kNanoDigits, false});
    if (sampling.last_good) {
        text.family("aliquot_agent_collect_last_success_timestamp_seconds");
        text.row(node).is(seconds_of(*sampling.last_good));
    }
    text.family("aliquot_agent_nvml_errors_total");
    for (const auto& [call, count] : sampling.failed_calls) {
        text.row(node)
            .label("call", call.first)
            .label("code", std::to_string(call.second))
            .is(count);
    }
}

void write_degraded(Text& text, const Scene& scene, std::string_view node) {
    const telemetry::SamplingStatus& sampling = scene.snapshot.sampling;
    const auto is_degraded = [&sampling](pods::Degraded reason) {
        return std::find(sampling.degraded.begin(), sampling.degraded.end(), reason) !=
               sampling.degraded.end();
    };
    const std::array<std::pair<std::string_view, bool>, 5> reasons{{
        {"no_hostpid", is_degraded(pods::Degraded::kNoHostPid)},
        {"no_pod_identity", is_degraded(pods::Degraded::kNoPodIdentity)},
        {"stale_holders", is_degraded(pods::Degraded::kStaleHolders)},
        {"mps_server", sampling.mps_server_only},
        {"mig_unsupported", sampling.mig_use_unknown},
    }};
    text.family("aliquot_agent_attribution_degraded");
    for (const auto& [word, on] : reasons) {
        text.row(node).label("reason", word).is(on ? 1U : 0U);
    }
}

void write_own(Text& text, std::string_view node, const Own& own) {
    const auto tell = [&text](std::string_view family, std::string_view labels,
                              const std::optional<std::uint64_t>& value, unsigned digits) {
        if (!value) return;
        text.family(family);
        text.row(labels).is(Decimal{*value, digits, false});
    };
    tell("aliquot_agent_scrapes_total", node, own.scrapes, 0);
    tell("aliquot_agent_scrape_bytes", node, own.scrape_bytes, 0);
    tell("aliquot_agent_scrape_duration_seconds", node, own.scrape_ns, kNanoDigits);
    tell("process_resident_memory_bytes", {}, own.resident_bytes, 0);
    tell("process_virtual_memory_bytes", {}, own.virtual_bytes, 0);
    tell("process_cpu_seconds_total", {}, own.cpu_ns, kNanoDigits);
    tell("process_open_fds", {}, own.open_files, 0);
    if (own.started) {
        text.family("process_start_time_seconds");
        text.row({}).is(seconds_of(*own.started));
    }
}

}  // namespace

void write_self(Text& text, const Scene& scene, const Own& own) {
    std::string node;
    append_label(node, "node", scene.snapshot.node);
    text.family("aliquot_agent_build_info");
    text.row(node).label("version", ALIQUOT_VERSION).is(1U);
    text.family("aliquot_agent_driver_up");
    text.row(node).is(scene.snapshot.driver_problem.empty() ? 1U : 0U);
    write_sight(text, scene, node);
    write_degraded(text, scene, node);
    write_own(text, node, own);
}

}  // namespace aliquot::exposition
