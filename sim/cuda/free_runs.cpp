// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/free_runs.h"

#include <bit>

namespace aliquot::sim {
namespace {

constexpr int kLooks = 8;  // into the bin where a fitting run may, but need not, be

}  // namespace

void FreeRuns::clear() {
    coarse_ = 0;
    fine_.fill(0);
    for (auto& heads : heads_) heads.fill(kNoUnit);
}

FreeRuns::Bin FreeRuns::bin_of(std::uint32_t size) {
    const auto coarse = static_cast<unsigned>(std::bit_width(size)) - 1;
    if (coarse < kFine) return {coarse, (size << (kFine - coarse)) & ((1U << kFine) - 1)};
    return {coarse, (size >> (coarse - kFine)) & ((1U << kFine) - 1)};
}

void FreeRuns::mark(std::uint32_t start, std::uint32_t size, std::uint32_t flag) {
    units_[start].size = size | flag;
    units_[start + size - 1].size = size | flag;
}

void FreeRuns::insert(std::uint32_t start, std::uint32_t size) {
    mark(start, size, 0);
    const Bin bin = bin_of(size);
    std::uint32_t& head = heads_[bin.coarse][bin.fine];
    units_[start].a = kNoUnit;
    units_[start].b = head;
    if (head != kNoUnit) units_[head].a = start;
    head = start;
    coarse_ |= 1U << bin.coarse;
    fine_[bin.coarse] = static_cast<std::uint8_t>(fine_[bin.coarse] | 1U << bin.fine);
}

void FreeRuns::remove(std::uint32_t start) {
    const Bin bin = bin_of(run_size(units_[start]));
    const std::uint32_t before = units_[start].a;
    const std::uint32_t after = units_[start].b;
    if (after != kNoUnit) units_[after].a = before;
    if (before != kNoUnit) {
        units_[before].b = after;
        return;
    }
    heads_[bin.coarse][bin.fine] = after;
    if (after != kNoUnit) return;
    fine_[bin.coarse] = static_cast<std::uint8_t>(fine_[bin.coarse] & ~(1U << bin.fine));
    if (fine_[bin.coarse] == 0) coarse_ &= ~(1U << bin.coarse);
}

std::uint32_t FreeRuns::find(std::uint32_t size) const {
    const Bin bin = bin_of(size);
    std::uint32_t run = heads_[bin.coarse][bin.fine];
    for (int i = 0; i < kLooks && run != kNoUnit; ++i, run = units_[run].b) {
        if (run_size(units_[run]) >= size) return run;
    }
    const unsigned finer = fine_[bin.coarse] & (0xfeU << bin.fine);  // only larger ones
    if ((finer & 0xff) != 0) {
        return heads_[bin.coarse][static_cast<unsigned>(std::countr_zero(finer))];
    }
    const std::uint32_t coarser =
        bin.coarse == 31 ? 0 : coarse_ & ~((std::uint32_t{2} << bin.coarse) - 1);
    if (coarser == 0) return kNoUnit;
    const auto coarse = static_cast<unsigned>(std::countr_zero(coarser));
    return heads_[coarse][static_cast<unsigned>(std::countr_zero(unsigned{fine_[coarse]}))];
}

std::uint32_t FreeRuns::take(std::uint32_t size) {
    if (size == 0 || size >= kTakenBit) return kNoUnit;
    const std::uint32_t start = find(size);
    if (start == kNoUnit) return kNoUnit;
    const std::uint32_t whole = run_size(units_[start]);
    remove(start);
    if (whole > size) insert(start + size, whole - size);
    mark(start, size, kTakenBit);
    return start;
}

std::uint32_t FreeRuns::give(std::uint32_t start, std::uint32_t size, std::uint32_t low,
                             std::uint32_t high) {
    // Where no run begins or ends any more, none is to be found.
    units_[start].size = 0;
    units_[start + size - 1].size = 0;
    if (start > low && !is_taken(units_[start - 1])) {
        const std::uint32_t left = run_size(units_[start - 1]);
        remove(start - left);
        start -= left;
        size += left;
    }
    if (start + size < high && !is_taken(units_[start + size])) {
        const std::uint32_t right = run_size(units_[start + size]);
        remove(start + size);
        size += right;
    }
    insert(start, size);
    return start;
}

}  // namespace aliquot::sim
