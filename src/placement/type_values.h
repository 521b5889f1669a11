// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "placement/type_table.h"

namespace aliquot::placement {

/// A number per type of a model, to be multiplied with counts of 16 bits (TypeTable::Finds) and summed. The sum is
/// exact: numbers are kept in kLimbs limbs of eleven bits, whose products with counts are added in 32 bits, for
/// several types at a time. Not thread-safe while values are set.
template <std::size_t kLimbs>
class TypeValues {
public:
    static constexpr unsigned kLimbBits = 11;

    /// value   below 2^(kLimbs * kLimbBits + 1), with either sign
    void set(std::size_t type, std::int64_t value) {
        for (std::size_t limb = 0; limb < kLimbs; ++limb) {
            const std::int64_t rest = value >> (limb * kLimbBits);  // the last one keeps the sign
            limbs_[limb][type] = static_cast<std::int16_t>(
                limb + 1 == kLimbs ? rest : rest & ((1 << kLimbBits) - 1));
        }
    }

    /// padded   Model::padded(); counts beyond the model's types are multiplied with 0
    [[nodiscard]] std::int64_t times(const std::array<std::int16_t, kMostTypes>& counts,
                                     std::size_t padded) const {
        std::int64_t sum = 0;
        for (std::size_t limb = 0; limb < kLimbs; ++limb) {
            for (std::size_t from = 0; from < padded; from += kAtOnce) {
                const std::size_t blocks = std::min(padded - from, kAtOnce) / kBlockOfTypes;
                const std::int16_t* const count = counts.data() + from;
                const std::int16_t* const value = limbs_[limb].data() + from;
                std::int32_t some = 0;
                for (std::size_t i = 0; i < blocks * kBlockOfTypes; ++i)
                    some += std::int32_t{count[i]} * std::int32_t{value[i]};
                sum += std::int64_t{some} << (limb * kLimbBits);
            }
        }
        return sum;
    }

private:
    // With 16 devices of 1,000 milli each, or of 1,000 parts, the sum stays below 2^31.
    static constexpr std::size_t kAtOnce = 64;
    static_assert(kAtOnce % kBlockOfTypes == 0);

    std::array<std::array<std::int16_t, kMostTypes>, kLimbs> limbs_{};
};

}  // namespace aliquot::placement
