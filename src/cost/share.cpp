// SPDX-License-Identifier: Apache-2.0
#include "cost/share.h"

#include <algorithm>
#include <numeric>

#include "catalog/mig_profiles.h"
#include "gpu/inventory.h"
#include "gpu/mig_profile.h"

namespace aliquot::cost {
namespace {

constexpr Wide kCoreHour = 31'611;  // micros
constexpr Wide kGibHour = 4'237;    // micros
constexpr Wide kGpuHour = 950'000;  // micros
constexpr Wide kMilliPerCore = 1'000;
constexpr Wide kMibPerGib = 1'024;
constexpr std::uint64_t kHundred = 100;
constexpr unsigned kMibShift = 20;
constexpr std::uint32_t kMostSlices = 7;  // of a GPU that the catalog does not know

std::uint64_t part_of(std::uint64_t amount, std::uint64_t whole) {
    if (whole == 0) return 0;
    return static_cast<std::uint64_t>(Wide{std::min(amount, whole)} * kWholeGpu / whole);
}

/// For a quotient below 2^51. Compilers call a function for 128 bits that finds them one by one: a guess by
/// floating point is wrong by some units at most, which the remainder tells.
std::pair<std::uint64_t, Wide> divide(Wide amount, Wide by) {
    auto quotient =
        static_cast<std::uint64_t>(static_cast<double>(amount) / static_cast<double>(by));
    Wide product = by * quotient;
    while (product > amount) {
        --quotient;
        product -= by;
    }
    while (amount - product >= by) {
        ++quotient;
        product += by;
    }
    return {quotient, amount - product};
}

/// Of the GPU instance that a profile lies in: "3g.20gb" of "1c.3g.20gb". 0: not known.
std::uint32_t mib_of(const catalog::GpuModel* model, gpu::MigProfileName name) {
    name.compute_slices = name.gpu_slices;
    const auto* const profile =
        model == nullptr ? nullptr : catalog::find_mig_profile(*model, to_text(name));
    if (profile == nullptr) return 0;
    return static_cast<std::uint32_t>(profile->memory_gib * static_cast<double>(kMibPerGib));
}

}  // namespace

std::vector<Micros> largest_remainder(Micros total, std::span<const Wide> weights) {
    std::vector<Micros> parts(weights.size(), 0);
    const Wide sum = std::accumulate(weights.begin(), weights.end(), Wide{0});
    if (sum == 0 || total <= 0) return parts;
    // total * weight must fit: 10^15 is 50 bits, so weights are cut to 77 bits together.
    unsigned shift = 0;
    while ((sum >> shift) >> 76U != 0) ++shift;
    Wide cut_sum = 0;
    for (const Wide weight : weights) cut_sum += weight >> shift;
    std::vector<std::pair<Wide, std::size_t>> remainders;
    remainders.reserve(weights.size());
    Micros given = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] == 0) continue;
        const auto [part, rest] = divide(static_cast<Wide>(total) * (weights[i] >> shift), cut_sum);
        parts[i] = static_cast<Micros>(part);
        given += parts[i];
        if (rest != 0) remainders.emplace_back(rest, i);
    }
    const auto left = static_cast<std::size_t>(total - given);  // fewer than remainders
    const auto larger = [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    if (left < remainders.size()) {
        std::nth_element(remainders.begin(), remainders.begin() + static_cast<std::ptrdiff_t>(left),
                         remainders.end(), larger);
    }
    for (std::size_t i = 0; i < left; ++i) ++parts[remainders[i].second];
    return parts;
}

std::uint32_t share_of(const Held& held) {
    std::uint64_t share = kWholeGpu;
    if (held.mig_slices != 0) {
        share = std::max(part_of(held.mig_slices, held.gpu_slices),
                         part_of(held.mig_memory_mib, held.gpu_memory_mib));
    }
    const std::uint64_t limited = std::max(part_of(held.memory_mib, held.gpu_memory_mib),
                                           part_of(held.compute_percent, kHundred));
    if (held.mig_slices == 0 && limited != 0) return static_cast<std::uint32_t>(limited);
    const std::uint32_t of = std::max(held.of, 1U);
    return static_cast<std::uint32_t>(share * std::min(held.slots, of) / of);
}

std::uint32_t share_of(const gpu::Gpu& gpu, const gpu::MigDevice& device) {
    const std::uint64_t gpu_mib = gpu.memory_bytes >> kMibShift;
    const auto* const model = catalog::find_gpu_model(gpu.model, static_cast<unsigned>(gpu_mib));
    const std::uint32_t slices = model == nullptr ? 0 : catalog::mig_slices(*model);
    const auto named = gpu::parse_mig_profile(device.profile);
    const gpu::MigProfileName name =
        named ? *named
              : gpu::MigProfileName{.compute_slices = device.compute_slices,
                                    .gpu_slices = device.gpu_slices};
    const auto told_mib = static_cast<std::uint32_t>(device.memory_bytes >> kMibShift);
    if (name.gpu_slices == 0) {
        return told_mib == 0 ? kWholeGpu : static_cast<std::uint32_t>(part_of(told_mib, gpu_mib));
    }
    return share_of({.slots = name.compute_slices,
                     .of = name.gpu_slices,
                     .gpu_memory_mib = gpu_mib,
                     .mig_slices = name.gpu_slices,
                     .gpu_slices = slices == 0 ? kMostSlices : slices,
                     .mig_memory_mib = told_mib == 0 ? mib_of(model, name) : told_mib});
}

Rates rates_of(const Span& span) {
    const Wide rate = static_cast<Wide>(std::clamp<Micros>(span.rate, 0, kMostRate));
    const Wide cpu = kCoreHour * span.cpu_milli / kMilliPerCore;
    const Wide memory = kGibHour * span.memory_mib / kMibPerGib;
    const Wide gpus = kGpuHour * span.devices.size();
    std::vector<Wide> weights;
    const Wide others = cpu + memory;
    // The rest is more than the proportion where rate - others > rate * gpus / (gpus + others).
    const bool rest_is_more =
        gpus != 0 && rate > others && (rate - others) * (gpus + others) > rate * gpus;
    const Wide of_gpus = rest_is_more ? rate - others : gpus;
    for (std::size_t i = 0; i < span.devices.size(); ++i) weights.push_back(of_gpus);
    const Wide count = std::max<Wide>(span.devices.size(), 1);
    weights.push_back(cpu * count);
    weights.push_back(memory * count);
    if (others == 0 && gpus == 0) weights.back() = 1;  // nothing is known of it
    const auto parts = largest_remainder(static_cast<Micros>(rate), weights);
    Rates rates;
    rates.gpus.assign(parts.begin(), parts.end() - 2);
    rates.cpu = parts[parts.size() - 2];
    rates.memory = parts.back();
    return rates;
}

}  // namespace aliquot::cost
