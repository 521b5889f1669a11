// SPDX-License-Identifier: Apache-2.0
#include "vision/batch.h"

#include <algorithm>
#include <bit>

#include "base/number.h"

namespace aliquot::vision {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr double kPerGib = 0.8;
/// Workspaces of the libraries under the runtime lie outside of its arena.
constexpr std::uint64_t kReserveBytes = std::uint64_t{256} << 20U;

std::size_t floor_pow2(std::uint64_t value) { return value == 0 ? 1 : std::bit_floor(value); }

}  // namespace

BatchStep next_batch(const BatchRule& rule, std::size_t waiting, std::chrono::microseconds oldest,
                     std::size_t coming) {
    if (waiting == 0) return {};
    if (waiting >= rule.most) return {.take = rule.most};
    if (coming == 0 || oldest >= rule.most_wait) return {.take = waiting};
    return {.take = 0, .wait = rule.most_wait - oldest};
}

std::size_t padded_batch(std::size_t count, std::size_t most) {
    return std::min(std::bit_ceil(std::max<std::size_t>(count, 1)), std::max<std::size_t>(most, 1));
}

BatchChoice choose_batch(const BatchMemory& memory, std::size_t most) {
    const double gib = static_cast<double>(memory.limit_bytes) / kGib;
    BatchChoice choice;
    choice.batch = floor_pow2(static_cast<std::uint64_t>(gib * kPerGib));
    choice.formula =
        "floor_pow2(0.8 x " + decimal_text(gib) + " GiB) = " + std::to_string(choice.batch);
    const std::uint64_t taken =
        memory.fixed_bytes + std::min(kReserveBytes, memory.limit_bytes / 8);
    choice.arena_bytes = memory.limit_bytes > taken ? memory.limit_bytes - taken : 0;
    if (memory.sample_bytes > 0) {
        const std::uint64_t room = choice.arena_bytes > memory.weights_bytes
                                       ? choice.arena_bytes - memory.weights_bytes
                                       : 0;
        const std::size_t fits = floor_pow2(room / memory.sample_bytes);
        if (fits < choice.batch) {
            choice.batch = fits;
            choice.formula += ", " + std::to_string(fits) + " fit beside the model";
        }
    }
    if (choice.batch > most) {
        choice.batch = std::max<std::size_t>(most, 1);
        choice.formula += ", at most " + std::to_string(choice.batch);
    }
    return choice;
}

}  // namespace aliquot::vision
