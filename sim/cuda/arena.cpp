// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace aliquot::sim {
namespace {

// Where the owner's words stand in a taken run's first unit.
constexpr std::uint32_t kTouched = 0x100;
constexpr std::uint32_t kResident = 0x200;

void* reserve_memory(std::uint64_t bytes, void* at, int flags) {
    void* const address = ::mmap(at, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    // Terabytes of nothing in a core dump help nobody, and a child cannot use the device anyway.
    ::madvise(address, bytes, MADV_DONTDUMP);
    return address;
}

/// A range below 4 GiB, as long as there is one.
void* reserve_low(std::uint64_t& bytes) {
    constexpr std::uint64_t kEnd = 0xfff0'0000;
    constexpr std::uint64_t kStep = 128ULL << 20;
    for (std::uint64_t wanted = bytes; wanted >= kStep; wanted -= kStep) {
        for (std::uint64_t start = kStep; start + wanted <= kEnd; start += kStep) {
            void* const at =
                reserve_memory(wanted, reinterpret_cast<void*>(start), MAP_FIXED_NOREPLACE);
            if (at == nullptr) continue;
            if (reinterpret_cast<std::uint64_t>(at) + wanted <= kEnd) {
                bytes = wanted;
                return at;
            }
            ::munmap(at, wanted);  // a kernel that does not know the flag
        }
    }
    return nullptr;
}

}  // namespace

Arena::~Arena() {
    if (size_ == 0) return;
    const std::uint64_t blocks = size_ / kBlockBytes;
    delete runs_;
    ::munmap(reinterpret_cast<void*>(base_), size_);
    ::munmap(blocks_, blocks * sizeof(Unit));
    ::munmap(heads_, blocks * sizeof(std::uint32_t));
    ::munmap(cells_, blocks * kCellsPerBlock * sizeof(Unit));
}

bool Arena::reserve(std::uint64_t bytes, bool low) {
    if (size_ != 0) return true;
    bytes = std::min(bytes, std::uint64_t{kTakenBit - 1} / kCellsPerBlock * kBlockBytes);
    std::uint64_t reserved = bytes / kBlockBytes * kBlockBytes;
    void* base = nullptr;
    if (low) {
        base = reserve_low(reserved);
    } else {
        base = reserve_memory(reserved + kBlockBytes, nullptr, 0);
    }
    if (base == nullptr) return false;
    const std::uint64_t blocks = reserved / kBlockBytes;
    blocks_ = static_cast<Unit*>(reserve_memory(blocks * sizeof(Unit), nullptr, 0));
    heads_ =
        static_cast<std::uint32_t*>(reserve_memory(blocks * sizeof(std::uint32_t), nullptr, 0));
    cells_ = static_cast<Unit*>(reserve_memory(blocks * kCellsPerBlock * sizeof(Unit), nullptr, 0));
    if (blocks_ == nullptr || heads_ == nullptr || cells_ == nullptr) return false;
    const auto address = reinterpret_cast<std::uint64_t>(base);
    base_ = low ? address : (address + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    size_ = reserved;
    runs_ = new FreeRuns(blocks_);
    const auto count = static_cast<std::uint32_t>(blocks);
    runs_->give(0, count, 0, count);
    return true;
}

Allocation Arena::describe(std::uint32_t block) const {
    const Unit& unit = blocks_[block];
    const std::uint64_t span = run_size(unit) * kBlockBytes;
    return {.address = base_ + block * kBlockBytes,
            .bytes = span - unit.a,
            .span = span,
            .use = static_cast<Use>(unit.b & 0xff),
            .touched = (unit.b & kTouched) != 0,
            .resident = (unit.b & kResident) != 0,
            .owner = unit.c};
}

std::uint64_t Arena::take_blocks(std::uint64_t bytes, Use use, std::uint32_t owner) {
    const std::uint64_t wanted = (bytes + kBlockBytes - 1) / kBlockBytes;
    if (wanted == 0 || wanted > size_ / kBlockBytes) return 0;
    const auto count = static_cast<std::uint32_t>(wanted);
    const std::uint32_t block = runs_->take(count);
    if (block == kNoUnit) return 0;
    Unit& unit = blocks_[block];
    unit.a = static_cast<std::uint32_t>(wanted * kBlockBytes - bytes);
    unit.b = static_cast<std::uint32_t>(use);
    unit.c = owner;
    for (std::uint32_t i = 0; i < count; ++i) heads_[block + i] = block;
    used_ = std::max(used_, block + count);
    return base_ + block * kBlockBytes;
}

void Arena::give_blocks(std::uint64_t address) {
    const auto block = static_cast<std::uint32_t>((address - base_) / kBlockBytes);
    const std::uint32_t count = run_size(blocks_[block]);
    if ((blocks_[block].b & kTouched) != 0) {
        ::madvise(reinterpret_cast<void*>(address), count * kBlockBytes, MADV_DONTNEED);
    }
    runs_->give(block, count, 0, static_cast<std::uint32_t>(size_ / kBlockBytes));
}

std::optional<Allocation> Arena::blocks_at(std::uint64_t address) const {
    if (!contains(address)) return std::nullopt;
    const auto block = static_cast<std::uint32_t>((address - base_) / kBlockBytes);
    if (block >= used_) return std::nullopt;
    // A head that was given back stays written down: it counts if a taken run begins there still and
    // reaches us.
    const std::uint32_t head = heads_[block];
    const Unit& unit = blocks_[head];
    if (!is_taken(unit) || heads_[head] != head || head + run_size(unit) <= block)
        return std::nullopt;
    return describe(head);
}

void Arena::set_touched(std::uint64_t address) {
    const auto block = static_cast<std::uint32_t>((address - base_) / kBlockBytes);
    blocks_[heads_[block]].b |= kTouched;
}

void Arena::set_resident(std::uint64_t address, bool resident) {
    const auto block = static_cast<std::uint32_t>((address - base_) / kBlockBytes);
    std::uint32_t& flags = blocks_[heads_[block]].b;
    flags = resident ? flags | kResident : flags & ~kResident;
}

void Arena::for_each(const std::function<void(const Allocation&)>& visit) const {
    for (std::uint32_t block = 0; block < used_;) {
        const std::uint32_t count = run_size(blocks_[block]);
        if (count == 0) return;
        const bool taken = is_taken(blocks_[block]);
        if (taken) visit(describe(block));
        // The run may have joined a free neighbour meanwhile; what follows it did not move.
        block += taken ? count : run_size(blocks_[block]);
    }
}

}  // namespace aliquot::sim
