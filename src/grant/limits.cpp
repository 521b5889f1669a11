// SPDX-License-Identifier: Apache-2.0
#include "grant/limits.h"

#include <algorithm>
#include <limits>

namespace aliquot::grant {
namespace {

constexpr std::uint64_t kWholeDevice = 100;

template <typename T>
std::optional<T> multiplied(std::optional<T> one, unsigned replicas,
                            std::uint64_t most = std::numeric_limits<T>::max()) {
    std::uint64_t product = 0;
    if (!one) return one;
    if (__builtin_mul_overflow(std::uint64_t{*one}, replicas, &product)) product = most;
    return static_cast<T>(std::min(product, most));
}

template <typename T>
std::optional<T> added(std::optional<T> a, std::optional<T> b,
                       std::uint64_t most = std::numeric_limits<T>::max()) {
    std::uint64_t total = 0;
    if (!a || !b) return std::nullopt;
    if (__builtin_add_overflow(std::uint64_t{*a}, std::uint64_t{*b}, &total)) total = most;
    return static_cast<T>(std::min(total, most));
}

}  // namespace

Limits sum(std::span<const Limits> shares) {
    if (shares.empty()) return {};
    Limits all = times(shares.front(), 1);
    for (const Limits& one : shares.subspan(1)) {
        all = {.memory_bytes = added(all.memory_bytes, one.memory_bytes),
               .compute_percent = added(all.compute_percent, one.compute_percent, kWholeDevice),
               .weight = added(all.weight, one.weight)};
    }
    return all;
}

Limits times(const Limits& one, unsigned replicas) {
    return {.memory_bytes = multiplied(one.memory_bytes, replicas),
            .compute_percent = multiplied(one.compute_percent, replicas, kWholeDevice),
            .weight = multiplied(one.weight, replicas)};
}

}  // namespace aliquot::grant
