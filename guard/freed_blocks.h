// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace aliquot::guard {

/// The last blocks that streams have freed into a pool: each may have its own again without waiting
/// for anybody. All zero is none; no constructor, so that it can lie in zeroed memory. Under the
/// lock of the pools.
class FreedBlocks {
public:
    /// stream  stream_key(), not 0
    /// waits   of the process for its device so far
    void add(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
             std::uint64_t waits) {
        blocks_[next_++ % kMost] = Block{address, bytes, stream, waits};
    }

    /// The driver has given this away: what is left of the blocks that it lay in stays.
    void take(std::uint64_t address, std::uint64_t bytes) {
        const std::uint64_t end = address + bytes;
        for (Block& block : blocks_) {
            const std::uint64_t block_end = block.address + block.bytes;
            if (block.bytes == 0 || address >= block_end || end <= block.address) continue;
            const std::uint64_t before = address > block.address ? address - block.address : 0;
            const std::uint64_t after = end < block_end ? block_end - end : 0;
            if (after >= before) block.address = block_end - after;
            block.bytes = after >= before ? after : before;
        }
    }

    /// Whether the stream has a block that is large enough.
    /// waits  blocks that were freed before this wait do not count
    [[nodiscard]] bool has(std::uint64_t bytes, std::uint64_t stream, std::uint64_t waits) const {
        for (const Block& block : blocks_)
            if (block.stream == stream && block.bytes >= bytes && block.waits >= waits) return true;
        return false;
    }

    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const Block& block : blocks_) sum += block.bytes;
        return sum;
    }

    void clear() {
        for (Block& block : blocks_) block = Block{};
    }

private:
    struct Block {
        std::uint64_t address;
        std::uint64_t bytes;  // 0: a free place
        std::uint64_t stream;
        std::uint64_t waits;
    };
    static constexpr unsigned kMost = 16;
    Block blocks_[kMost];
    std::uint32_t next_;
};

}  // namespace aliquot::guard
