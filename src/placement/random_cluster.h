// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "placement/cluster.h"
#include "placement/request.h"
#include "placement/workload.h"

/// Clusters, requests and workloads at random, for the property tests: small, mixed, and full of
/// corners (MIG, memory shares, taints, links, words of anti-affinity).
namespace aliquot::placement {

/// The same numbers on every machine: distributions of the standard library differ.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : bits_(seed) {}
    unsigned below(unsigned end) { return static_cast<unsigned>(bits_() % end); }
    bool one_in(unsigned n) { return below(n) == 0; }
    template <class T, std::size_t N>
    const T& of(const std::array<T, N>& values) {
        return values[below(N)];
    }

private:
    std::mt19937_64 bits_;
};

/// Seven compute and eight memory slices, as an 80 GB card has them.
inline MigGeometry seven_slices(const std::string& model) {
    return {.model = model,
            .profiles = {{.name = "1g.10gb", .width = 1, .starts = 0x7F, .milli = 142},
                         {.name = "1g.20gb", .width = 2, .starts = 0x55, .milli = 142},
                         {.name = "2g.20gb", .width = 2, .starts = 0x15, .milli = 285},
                         {.name = "3g.40gb", .width = 4, .starts = 0x11, .milli = 428},
                         {.name = "4g.40gb", .width = 4, .starts = 0x01, .milli = 571},
                         {.name = "7g.80gb", .width = 8, .starts = 0x01, .milli = 1000}}};
}

inline NodeSpec random_node(Dice& dice, unsigned number) {
    static const std::array<std::string, 4> kModels{"A2", "T4", "V100", "A100"};
    static constexpr std::array<std::uint8_t, 6> kDevices{1, 2, 4, 8, 8, 16};
    NodeSpec spec;
    spec.name = "n" + std::to_string(number);
    spec.cpu_milli = 4'000 * static_cast<std::int32_t>(1 + dice.below(32));
    spec.memory_mib = 16'384 * static_cast<std::int32_t>(1 + dice.below(16));
    if (!dice.one_in(8)) {
        spec.devices = dice.of(kDevices);
        spec.model = dice.of(kModels);
        spec.device_mib = dice.one_in(6) ? 0 : spec.model == "A100" ? 81'920 : 16'384;
        if (spec.model == "A100" && dice.one_in(2))
            spec.mig_devices = static_cast<std::uint16_t>(dice.below(1U << spec.devices));
        for (unsigned i = 0; i < spec.devices; ++i)
            spec.link_group[i] = static_cast<std::uint8_t>(i / 4);
    }
    if (dice.one_in(2)) spec.labels.emplace_back("zone", dice.one_in(2) ? "a" : "b");
    if (dice.one_in(6)) spec.taints.emplace_back("team", dice.one_in(2) ? "vision" : "speech");
    if (dice.one_in(2)) spec.milli_price_per_hour = 1'000 * static_cast<int>(dice.below(30));
    if (dice.one_in(2)) spec.idle_watts = static_cast<int>(dice.below(400));
    return spec;
}

inline Request random_request(Dice& dice) {
    static constexpr std::array<std::int32_t, 8> kMilli{50, 100, 190, 250, 460, 500, 810, 999};
    static constexpr std::array<std::int32_t, 5> kMib{512, 2'048, 5'000, 8'192, 16'384};
    static constexpr std::array<std::uint8_t, 8> kGpus{1, 1, 1, 1, 2, 4, 8, 16};
    static const std::array<std::string, 5> kProfiles{"1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb",
                                                      "9g.99gb"};
    static const std::array<std::string, 5> kModels{"A2", "T4", "V100", "A100", "H900"};
    Request request;
    request.cpu_milli = 500 * static_cast<std::int32_t>(dice.below(24));
    request.memory_mib = 1'024 * static_cast<std::int32_t>(dice.below(24));
    const unsigned form = dice.below(20);
    if (form >= 3) request.gpus = 1;
    if (form >= 3 && form < 11) request.milli = dice.of(kMilli);
    if (form >= 9 && form < 13) request.mib = dice.of(kMib);
    if (form >= 13 && form < 18) {
        request.gpus = dice.of(kGpus);
        request.milli = kWholeGpu;
    }
    if (form >= 18) request.mig_profile = dice.of(kProfiles);
    if (request.gpus > 0 && dice.one_in(5)) request.models.push_back(dice.of(kModels));
    if (!request.models.empty() && dice.one_in(2)) request.models.push_back(dice.of(kModels));
    if (dice.one_in(10)) request.selector.emplace_back("zone", "a");
    if (dice.one_in(4)) request.tolerations.emplace_back("team", dice.one_in(2) ? "*" : "vision");
    if (dice.one_in(10)) request.anti_affinity = "word" + std::to_string(dice.below(4));
    request.movable = dice.one_in(2);
    return request;
}

inline std::vector<TaskType> random_workload(Dice& dice) {
    std::vector<std::pair<Request, double>> tasks;
    for (unsigned i = 0; i < 40; ++i) {
        auto request = checked(random_request(dice));
        if (request) tasks.emplace_back(*request, 1 + dice.below(20));
    }
    return typical_types(tasks);
}

}  // namespace aliquot::placement
