// SPDX-License-Identifier: Apache-2.0
#include "placement/node_worth.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace aliquot::placement {
namespace {

// With 16 devices of 1,000 milli each, or of 1,000 parts, a sum over so many types stays below 2^31.
constexpr std::size_t kAtOnce = 64;
static_assert(kAtOnce % kBlockOfTypes == 0);

std::int64_t sum_of(const std::array<std::int16_t, kMostTypes>& counts,
                    const std::array<std::int16_t, kMostTypes>& values, std::size_t padded) {
    std::int64_t sum = 0;
    for (std::size_t from = 0; from < padded; from += kAtOnce) {
        const std::size_t blocks = std::min(padded - from, kAtOnce) / kBlockOfTypes;
        const std::int16_t* const count = counts.data() + from;
        const std::int16_t* const value = values.data() + from;
        std::int32_t some = 0;
        for (std::size_t i = 0; i < blocks * kBlockOfTypes; ++i)
            some += std::int32_t{count[i]} * std::int32_t{value[i]};
        sum += some;
    }
    return sum;
}

#if defined(__x86_64__)

constexpr std::size_t kStep = 16;  // types

[[gnu::target("avx2")]] inline __m256i load(const std::int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// Entries of kStep types that `node` has, from its `at`-th on.
[[gnu::target("avx2")]] inline __m256i entries(const TypeTable::Exchange& node, std::size_t at) {
    return _mm256_sub_epi16(_mm256_add_epi16(load(node.sums + at), load(node.after + at)),
                            load(node.before + at));
}

/// Products of counts, cut to 16 bits, where each is at most kMostSlots.
[[gnu::target("avx2")]] inline __m256i products(__m256 low, __m256 high, const float* by) {
    const __m256 most = _mm256_set1_ps(TypeTable::kMostSlots);
    low = _mm256_min_ps(_mm256_mul_ps(low, _mm256_loadu_ps(by)), most);
    high = _mm256_min_ps(_mm256_mul_ps(high, _mm256_loadu_ps(by + kStep / 2)), most);
    // Packing goes by halves of the register: the middle quarters change places.
    return _mm256_permute4x64_epi64(
        _mm256_packs_epi32(_mm256_cvttps_epi32(low), _mm256_cvttps_epi32(high)), 0xD8);
}

[[gnu::target("avx2")]] inline __m256i quotients(__m256i room, const float* per_gpu) {
    const __m256 half = _mm256_set1_ps(0.5F);
    const __m256i low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(room));
    const __m256i high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(room, 1));
    return products(_mm256_add_ps(_mm256_cvtepi32_ps(low), half),
                    _mm256_add_ps(_mm256_cvtepi32_ps(high), half), per_gpu);
}

/// Adds count * value to the sums of each two types.
[[gnu::target("avx2")]] inline void add(__m256i& sums, __m256i count,
                                        const std::array<std::int16_t, kMostTypes>& values,
                                        std::size_t at) {
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(count, load(values.data() + at)));
}

/// The sum of all entries, in 64 bits: four parts of it.
[[gnu::target("avx2")]] inline __m256i widened(__m256i sums) {
    return _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(sums)),
                            _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sums, 1)));
}

/// As plain(), sixteen types at a time. What is read beyond the model's types is multiplied with 0.
[[gnu::target("avx2")]] std::int64_t wide(
    const TypeTable::Model& model, const TypeTable::Exchange& node, std::int32_t cpu,
    const std::array<std::array<std::int16_t, kMostTypes>, 2>& usable_values,
    const std::array<std::array<std::int16_t, kMostTypes>, 4>& slot_values, bool has_high) {
    const std::size_t padded = model.padded();
    const __m256 some = _mm256_set1_ps(static_cast<float>(cpu) + 0.5F);
    __m256i sums0 = _mm256_setzero_si256();
    __m256i sums1 = sums0;
    __m256i sums2 = sums0;
    __m256i sums3 = sums0;
    for (std::size_t at = 0; at < padded; at += kStep) {
        __m256i room = entries(node, padded + at);
        if (at + kStep > model.singles) room = quotients(room, model.per_gpu.data() + at);
        const __m256i slots =
            _mm256_min_epi16(room, products(some, some, model.per_milli.data() + at));
        const __m256i usable =
            _mm256_and_si256(entries(node, at), _mm256_cmpgt_epi16(slots, _mm256_setzero_si256()));
        add(sums0, usable, usable_values[0], at);
        add(sums1, usable, usable_values[1], at);
        add(sums0, slots, slot_values[0], at);
        add(sums1, slots, slot_values[1], at);
        add(sums2, slots, slot_values[2], at);
        if (has_high) add(sums3, slots, slot_values[3], at);
    }
    __m256i all =
        _mm256_add_epi64(widened(sums0), _mm256_slli_epi64(widened(sums1), NodeWorth::kLimbBits));
    all = _mm256_add_epi64(all, _mm256_slli_epi64(widened(sums2), 2 * NodeWorth::kLimbBits));
    if (has_high)
        all = _mm256_add_epi64(all, _mm256_slli_epi64(widened(sums3), 3 * NodeWorth::kLimbBits));
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    return _mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1);
}

bool has_wide() { return __builtin_cpu_supports("avx2") != 0; }

#else

bool has_wide() { return false; }

#endif

}  // namespace

NodeWorth::NodeWorth(const TypeTable::Model& model) : model_(&model), wide_(has_wide()) {}

void NodeWorth::set(std::size_t type, std::int64_t usable, std::int64_t slot) {
    const auto part = [](std::int64_t value, std::size_t limb, bool last) {
        const std::int64_t rest = value >> (limb * kLimbBits);  // the last one keeps the sign
        return static_cast<std::int16_t>(last ? rest : rest & ((1 << kLimbBits) - 1));
    };
    for (std::size_t limb = 0; limb < kUsableLimbs; ++limb)
        usable_[limb][type] = part(usable, limb, limb + 1 == kUsableLimbs);
    for (std::size_t limb = 0; limb < kLimbs; ++limb)
        slot_[limb][type] = part(slot, limb, limb + 1 == kLimbs);
    has_high_ = has_high_ || slot_[kLimbs - 1][type] != 0;
}

std::int64_t NodeWorth::of(const TypeTable::Exchange& node, std::int32_t cpu) const {
#if defined(__x86_64__)
    if (wide_ && cpu < TypeTable::kMostExactCpu)
        return wide(*model_, node, cpu, usable_, slot_, has_high_);
#endif
    return plain(node, cpu);
}

std::int64_t NodeWorth::plain(const TypeTable::Exchange& node, std::int32_t cpu) const {
    TypeTable::Finds finds;
    TypeTable::find(finds, node, *model_, cpu);
    std::int64_t sum = usable(finds);
    for (std::size_t limb = 0; limb < kLimbs; ++limb)
        sum += sum_of(finds.slots, slot_[limb], model_->padded()) << (limb * kLimbBits);
    return sum;
}

std::int64_t NodeWorth::usable(const TypeTable::Finds& finds) const {
    std::int64_t sum = 0;
    for (std::size_t limb = 0; limb < kUsableLimbs; ++limb)
        sum += sum_of(finds.usable, usable_[limb], model_->padded()) << (limb * kLimbBits);
    return sum;
}

}  // namespace aliquot::placement
