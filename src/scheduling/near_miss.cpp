// SPDX-License-Identifier: Apache-2.0
#include "scheduling/near_miss.h"

#include <algorithm>
#include <tuple>

#include "scheduling/fit.h"

namespace aliquot::scheduling {
namespace {

using Held = Bookings::Held;

DeviceUnits units_of(const std::vector<const Held*>& held) {
    DeviceUnits sum;
    for (const Held* const one : held) {
        for (const auto& [resource, gpus] : one->units) {
            for (const auto& [gpu, units] : gpus) sum[resource][gpu] += units;
        }
    }
    return sum;
}

/// How many units the pod's GPU that is held least would still be held after it has ended; the lower the sooner a
/// GPU is free.
unsigned rest_after(const Held& one, const DeviceUnits& all) {
    unsigned least = ~0U;
    for (const auto& [resource, gpus] : one.units) {
        for (const auto& [gpu, units] : gpus)
            least = std::min(least, all.at(resource).at(gpu) - units);
    }
    return least;
}

bool asks_for_any(const GpuPod& pod, const Held& held) {
    return std::any_of(pod.devices.begin(), pod.devices.end(),
                       [&](const auto& one) { return held.units.contains(one.resource); });
}

std::vector<std::string> ends_on(const GpuPod& pod, const ServedNode& node,
                                 const Bookings& bookings) {
    const auto held = bookings.held_on(node.name);
    std::vector<const Held*> rest;
    for (const Held& one : held) {
        // Its own gang's pods do not end for it.
        const bool is_own = !pod.gang.empty() && !one.claim.empty() && one.claim == pod.claim.key;
        if (!is_own && asks_for_any(pod, one)) rest.push_back(&one);
    }
    const auto fits = [&](const std::vector<const Held*>& gone) {
        return fit_on(pod, node, bookings.pools(), units_of(gone)).has_value();
    };
    std::vector<const Held*> gone;
    while (!rest.empty() && !fits(gone)) {
        const DeviceUnits all = units_of(rest);
        const auto rank = [&](const Held* one) {
            auto with = gone;
            with.push_back(one);
            const bool is_enough = fits(with);
            return std::tuple(!is_enough, is_enough ? 0 : rest_after(*one, all), one->priority,
                              std::string_view(one->pod));
        };
        const auto next =
            std::min_element(rest.begin(), rest.end(),
                             [&](const Held* a, const Held* b) { return rank(a) < rank(b); });
        gone.push_back(*next);
        rest.erase(next);
    }
    if (!fits(gone)) return {};
    for (std::size_t i = 0; i < gone.size();) {
        auto without = gone;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        if (fits(without)) {
            gone = std::move(without);
        } else {
            ++i;
        }
    }
    std::vector<std::string> names;
    for (const Held* const one : gone) names.push_back(one->pod);
    return names;
}

}  // namespace

std::vector<NearMiss> near_misses(const GpuPod& pod, const Bookings& bookings, std::size_t most) {
    constexpr std::size_t kOff = ~std::size_t{0};
    std::vector<std::pair<std::size_t, NearMiss>> found;  // by how much has to end
    for (const auto& [name, node] : bookings.nodes()) {
        if (std::string why = keeps_off(pod, node); !why.empty()) {
            found.push_back({kOff, {name, std::move(why), {}}});
            continue;
        }
        if (fit_on(pod, node, bookings.pools())) {
            found.push_back({kOff - 2, {name, "has the GPUs free, but not the CPU or memory", {}}});
            continue;
        }
        NearMiss miss{name, lacks(pod, node, bookings.pools()), ends_on(pod, node, bookings)};
        const std::size_t rank = miss.ends.empty() ? kOff - 1 : miss.ends.size();
        found.push_back({rank, std::move(miss)});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<NearMiss> misses;
    for (auto& one : found) {
        if (misses.size() < most) misses.push_back(std::move(one.second));
    }
    return misses;
}

}  // namespace aliquot::scheduling
