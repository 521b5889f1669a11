// SPDX-License-Identifier: Apache-2.0
#include "cost/saving.h"

#include <algorithm>

#include "cost/share.h"

namespace aliquot::cost {

struct Measured {
    TimeMs measured = 0;
    std::uint32_t share = 0;      // the largest
    std::uint64_t whole_mib = 0;  // of one GPU, the smallest
    std::uint64_t peak_mib = 0;   // the most on one GPU
    std::uint64_t gpu_ppm = 0;    // compute of one GPU in the busiest interval
    std::uint64_t share_ppm = 0;  // the same of its share
    Micros cost = 0;
    bool unknown = false;
    bool out_of_memory = false;
    bool is_mig = false;
};

namespace {

constexpr std::uint64_t kFloorMib = 1'024;
constexpr std::uint64_t kFloorPpm = 50'000;
constexpr std::uint64_t kAllPpm = 1'000'000;

std::string workload_of(const Owner& owner, const Names& names) {
    if (owner.job != 0) return names.text(owner.job);
    if (owner.space == 0) return names.text(owner.pod);
    return names.text(owner.space) + "/" + names.text(owner.pod);
}

std::uint64_t with_reserve(std::uint64_t amount) { return amount + (amount + 3) / 4; }

void see(const Interval& one, Measured& seen) {
    seen.share = std::max(seen.share, one.share);
    seen.out_of_memory |= one.out_of_memory;
    seen.is_mig |= one.part != 0;
    if (one.share == 0 || one.gpu_memory_mib == 0 || one.gpu_memory_peak_mib == 0) {
        seen.unknown |= one.end - one.begin > kHourMs / 12;  // a beginning is measured late
        return;
    }
    seen.measured += one.end - one.begin;
    const auto whole = static_cast<std::uint64_t>(Wide{one.gpu_memory_mib} * kWholeGpu / one.share);
    seen.whole_mib = seen.whole_mib == 0 ? whole : std::min(seen.whole_mib, whole);
    seen.peak_mib = std::max<std::uint64_t>(seen.peak_mib, one.gpu_memory_peak_mib);
    seen.share_ppm = std::max<std::uint64_t>(seen.share_ppm, one.busy_ppm);
    seen.gpu_ppm =
        std::max<std::uint64_t>(seen.gpu_ppm, std::uint64_t{one.busy_ppm} * one.share / kWholeGpu);
}

std::optional<Saving> saving_of(const std::string& key, const Measured& seen) {
    if (seen.out_of_memory || seen.unknown || seen.measured < kHourMs) return std::nullopt;
    if (seen.share == 0 || seen.whole_mib == 0 || seen.cost <= 0 || seen.is_mig)
        return std::nullopt;
    const std::uint64_t memory = std::max(with_reserve(seen.peak_mib), kFloorMib);
    const std::uint64_t compute = std::max(with_reserve(seen.gpu_ppm), kFloorPpm);
    const std::uint64_t share =
        std::max(std::min(memory, seen.whole_mib) * kWholeGpu / seen.whole_mib,
                 std::min(compute, kAllPpm) * kWholeGpu / kAllPpm);
    if (share * 2 > seen.share) return std::nullopt;
    Saving saving{.key = key, .cost = seen.cost};
    saving.share = seen.share;
    saving.needed_share = static_cast<std::uint32_t>(share);
    saving.saved = seen.cost - static_cast<Micros>(Wide(seen.cost) * share / seen.share);
    saving.peak_mib = static_cast<std::uint32_t>(seen.peak_mib);
    saving.needed_mib = static_cast<std::uint32_t>(memory);
    constexpr std::uint64_t kPpmPerPercent = 10'000;
    saving.busy_percent = static_cast<std::uint32_t>(seen.share_ppm / kPpmPerPercent);
    saving.needed_percent =
        static_cast<std::uint32_t>((compute + kPpmPerPercent - 1) / kPpmPerPercent);
    return saving;
}

}  // namespace

SavingSum::SavingSum(const History& names) : names_(names) {}
SavingSum::~SavingSum() = default;

Measured& SavingSum::of(OwnerId owner) {
    if (owner >= by_owner_.size()) by_owner_.resize(std::size_t{owner} + 1, nullptr);
    if (by_owner_[owner] == nullptr) {
        auto& place = workloads_[workload_of(names_.owners[owner], names_.names)];
        if (place == nullptr) place = std::make_unique<Measured>();
        by_owner_[owner] = place.get();
    }
    return *by_owner_[owner];
}

void SavingSum::see(const Interval& interval) {
    if (interval.owner == 0 || interval.device == 0) return;
    cost::see(interval, of(interval.owner));
}

void SavingSum::pay(const Row& row) {
    if (row.owner != 0 && row.device != 0) of(row.owner).cost += row.gpu;
}

std::vector<Saving> SavingSum::savings() const {
    std::vector<Saving> savings;
    for (const auto& [key, one] : workloads_) {
        if (auto saving = saving_of(key, *one)) savings.push_back(*std::move(saving));
    }
    std::ranges::stable_sort(savings,
                             [](const Saving& a, const Saving& b) { return a.saved > b.saved; });
    return savings;
}

}  // namespace aliquot::cost
