// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "placement/type_table.h"

namespace aliquot::placement {

/// What is worth how much on the nodes of one model, and so what such a node is worth: the sum over the types that
/// the model may run of what each finds there (TypeTable::Finds) times what that is worth. The sum is exact and the
/// same on every machine: numbers are kept in limbs of eleven bits, whose products with counts of 16 bits are added in
/// 32, for as many types at a time as the processor can. Not thread-safe while values are set.
class NodeWorth {
public:
    static constexpr unsigned kLimbBits = 11;

    NodeWorth() = default;
    explicit NodeWorth(const TypeTable::Model& model);

    /// type     index among the model's
    /// usable   worth of a milli; below 2^22, with either sign
    /// slot     worth of a slot; below 2^44, with either sign
    void set(std::size_t type, std::int64_t usable, std::int64_t slot);

    [[nodiscard]] std::int64_t of(const TypeTable::Exchange& node, std::int32_t cpu) const;
    /// The same in steps that every processor can do.
    [[nodiscard]] std::int64_t plain(const TypeTable::Exchange& node, std::int32_t cpu) const;
    /// The part of it that usable compute has.
    [[nodiscard]] std::int64_t usable(const TypeTable::Finds& finds) const;

private:
    static constexpr std::size_t kUsableLimbs = 2;
    static constexpr std::size_t kLimbs = 4;
    using Row = std::array<std::int16_t, kMostTypes>;

    const TypeTable::Model* model_ = nullptr;
    bool wide_ = false;      // the processor does sixteen types at a time
    bool has_high_ = false;  // some slot needs the last limb
    std::array<Row, kUsableLimbs> usable_{};
    std::array<Row, kLimbs> slot_{};
};

}  // namespace aliquot::placement
