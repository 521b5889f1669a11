// SPDX-License-Identifier: Apache-2.0
#include "controller/placement_counters.h"

#include <algorithm>
#include <string_view>

namespace aliquot::controller {
namespace {

constexpr std::array<double, 9> kReleaseBounds{0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1, 10, 60};
constexpr std::array<std::string_view, 4> kHow{"placed", "waited_long", "fits_nowhere",
                                               "not_served"};

}  // namespace

std::string_view release_reason(scheduling::Decision::Kind kind) {
    return kHow[static_cast<std::size_t>(kind)];
}

PlacementCounters::PlacementCounters() : took_(kReleaseBounds) {}

void PlacementCounters::add_release(scheduling::Decision::Kind kind,
                                    std::chrono::nanoseconds took) {
    ++releases_[static_cast<std::size_t>(kind)];
    took_.add(took);
}

void PlacementCounters::set_gated(std::size_t pods, std::chrono::seconds oldest) {
    gated_ = pods;
    oldest_ = std::max<std::int64_t>(0, oldest.count());
}

void PlacementCounters::set_gangs(const GangGauges& gauges) {
    waiting_gangs_ = gauges.waiting;
    half_placed_gangs_ = gauges.half_placed;
    oldest_gang_ = std::max<std::int64_t>(0, gauges.oldest.count());
}

void PlacementCounters::write_gangs(metrics::Text& text) const {
    text.single("aliquot_placement_waiting_gangs", "Gangs with a pod that waits for a place.",
                "gauge", waiting_gangs_.load());
    text.single("aliquot_placement_half_placed_gangs",
                "Gangs some of whose pods hold places while others of the same start have none.",
                "gauge", half_placed_gangs_.load());
    text.single("aliquot_placement_oldest_gang_seconds", "Age of the oldest waiting pod of a gang.",
                "gauge", static_cast<std::uint64_t>(oldest_gang_.load()));
    text.single("aliquot_placement_gangs_total", "Gangs that got places together.", "counter",
                gangs_.load());
    text.single("aliquot_placement_undone_gangs_total",
                "Gangs placed in part whose pods were deleted to wait together again.", "counter",
                undone_gangs_.load());
}

std::string PlacementCounters::text() const {
    std::string out;
    metrics::Text text(out);
    text.single("aliquot_placement_gated_pods", "Pods that wait for a place.", "gauge",
                gated_.load());
    text.single("aliquot_placement_oldest_gated_seconds", "Age of the oldest of them.", "gauge",
                static_cast<std::uint64_t>(oldest_.load()));
    text.family("aliquot_placement_releases_total", "Pods whose gate was taken away, by why.",
                "counter");
    for (std::size_t i = 0; i < kKinds; ++i)
        text.row("").label("how", kHow[i]).is(releases_[i].load());
    text.family("aliquot_placement_release_seconds",
                "From the sight of a gated pod to the end of the PATCH that lets it go.",
                "histogram");
    took_.write(text);
    text.single("aliquot_placement_failed_releases_total",
                "PATCHes that the API server did not take.", "counter", failures_.load());
    text.single("aliquot_placement_remade_pods_total",
                "Pods deleted for their controller to make again: none of their nodes took them.",
                "counter", remade_.load());
    write_gangs(text);
    text.single("aliquot_placement_evicted_pods_total",
                "Pods evicted for one of a higher priority.", "counter", evicted_.load());
    text.single("aliquot_placement_refused_evictions_total",
                "Evictions for that which were refused, mostly by a PodDisruptionBudget.",
                "counter", refused_evictions_.load());
    text.single("aliquot_placement_overbooked_total",
                "Pods on GPUs that were promised to others: what was placed beside us.", "counter",
                overbooked_.load());
    return out;
}

}  // namespace aliquot::controller
