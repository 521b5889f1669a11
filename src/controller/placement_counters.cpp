// SPDX-License-Identifier: Apache-2.0
#include "controller/placement_counters.h"

#include <algorithm>
#include <string_view>

namespace aliquot::controller {
namespace {

constexpr std::array<Durations::Bound, 9> kReleaseBounds{{{2'500'000, "0.0025"},
                                                          {5'000'000, "0.005"},
                                                          {10'000'000, "0.01"},
                                                          {25'000'000, "0.025"},
                                                          {50'000'000, "0.05"},
                                                          {100'000'000, "0.1"},
                                                          {1'000'000'000, "1"},
                                                          {10'000'000'000, "10"},
                                                          {60'000'000'000, "60"}}};
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

std::string PlacementCounters::gang_text() const {
    return single("aliquot_placement_waiting_gangs", "gauge",
                  "Gangs with a pod that waits for a place.",
                  std::to_string(waiting_gangs_.load())) +
           single("aliquot_placement_half_placed_gangs", "gauge",
                  "Gangs some of whose pods hold places while others of the same start have none.",
                  std::to_string(half_placed_gangs_.load())) +
           single("aliquot_placement_oldest_gang_seconds", "gauge",
                  "Age of the oldest waiting pod of a gang.", std::to_string(oldest_gang_.load())) +
           single("aliquot_placement_gangs_total", "counter", "Gangs that got places together.",
                  std::to_string(gangs_.load())) +
           single("aliquot_placement_undone_gangs_total", "counter",
                  "Gangs placed in part whose pods were deleted to wait together again.",
                  std::to_string(undone_gangs_.load()));
}

std::string PlacementCounters::text() const {
    constexpr std::string_view kReleases = "aliquot_placement_releases_total";
    std::string out = single("aliquot_placement_gated_pods", "gauge", "Pods that wait for a place.",
                             std::to_string(gated_.load())) +
                      single("aliquot_placement_oldest_gated_seconds", "gauge",
                             "Age of the oldest of them.", std::to_string(oldest_.load())) +
                      family(kReleases, "counter", "Pods whose gate was taken away, by why.");
    for (std::size_t i = 0; i < kKinds; ++i) {
        out += row(std::string(kReleases) + "{how=\"" + std::string(kHow[i]) + "\"}",
                   std::to_string(releases_[i].load()));
    }
    out += took_.text("aliquot_placement_release_seconds",
                      "From the sight of a gated pod to the end of the PATCH that lets it go.");
    out += single("aliquot_placement_failed_releases_total", "counter",
                  "PATCHes that the API server did not take.", std::to_string(failures_.load()));
    out += single("aliquot_placement_remade_pods_total", "counter",
                  "Pods deleted for their controller to make again: none of their nodes took them.",
                  std::to_string(remade_.load()));
    out += gang_text();
    out += single("aliquot_placement_evicted_pods_total", "counter",
                  "Pods evicted for one of a higher priority.", std::to_string(evicted_.load()));
    out += single("aliquot_placement_refused_evictions_total", "counter",
                  "Evictions for that which were refused, mostly by a PodDisruptionBudget.",
                  std::to_string(refused_evictions_.load()));
    return out + single("aliquot_placement_overbooked_total", "counter",
                        "Pods on GPUs that were promised to others: what was placed beside us.",
                        std::to_string(overbooked_.load()));
}

}  // namespace aliquot::controller
