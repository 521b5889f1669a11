// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/cuda.h"

/// Stream-ordered memory. A pool keeps what is freed, and for the stream that freed it: so not
/// pointers are charged but the most that the pool can hold of the device. That is what the driver
/// said it holds when it was last asked, and all that was allocated from it since; what was freed
/// since only counts once the driver says so. It is asked after waits and before a refusal.
namespace aliquot::guard {

/// Who may use at once what is freed: the stream itself.
std::uint64_t stream_key(CUstream stream, bool per_thread);

/// The books of one pool: made when first met, by its handle.
/// place     of its device in the ledger
/// charges   false: another process' memory, or the host's
/// returns  its place in the table; kNone: no memory for more books
std::uint32_t enter_pool(CUmemoryPool handle, unsigned place, bool charges);
/// kNone: not met yet.
std::uint32_t find_pool(CUmemoryPool handle);
struct PoolPlace {
    unsigned place;
    bool charges;
};
PoolPlace place_of_pool(std::uint32_t pool);
/// The pool is to be destroyed: what it holds is known exactly now, and later only from its frees.
void settle_pool(std::uint32_t pool);
/// Bytes that it held when it was last settled.
std::uint64_t held_by_pool(std::uint32_t pool);
/// Its handle must not be used any more: waits until nobody is asking the driver about it, and nobody
/// will, unless it is reopened.
void close_pool(std::uint32_t pool);
void reopen_pool(std::uint32_t pool);
/// After close_pool(): it was destroyed, and goes with its last pointer.
void end_pool(std::uint32_t pool);

/// Whether the driver is to be asked around an allocation: it would be charged as new memory, though
/// the pool may have some to spare.
bool may_reuse(std::uint32_t pool, std::uint64_t bytes);
/// Room for what the pool may take of the device for an allocation: whole pieces of the size in which
/// this driver gives memory to pools, as far as that is known.
/// guessed  nullptr, or set when, with nothing known of the driver, pages of 2 MiB were believed to do,
///          for one allocation at a time: end_guess() once its call has returned
/// returns  how much it may take; 0: over the limit
std::uint64_t reserve_in_pool(std::uint32_t pool, std::uint64_t bytes, bool* guessed = nullptr);
void end_guess(std::uint32_t pool);
/// The call that `reserved` was for has returned.
/// pointer  what it was given; nullptr: it failed
void allocated_in_pool(std::uint32_t pool, std::uint64_t reserved, std::uint64_t bytes,
                       std::uint64_t stream, const CUdeviceptr* pointer);
/// Whether this stream has freed a block that is large enough, so that the driver needs no more
/// memory. Only in a pool that no other stream uses.
/// through_waits  also one that it has freed before the last wait for the device, at which the driver
///                gives up what a pool keeps beyond its threshold
bool may_have_again(std::uint32_t pool, std::uint64_t bytes, std::uint64_t stream,
                    bool through_waits);
/// The driver took new memory all the same: not relied upon again.
void distrust_pools();
/// A pointer was freed in this stream; the memory stays with the pool until the driver gives it up.
void give_back_to_pool(std::uint32_t pool, std::uint64_t address, std::uint64_t bytes,
                       std::uint64_t stream);

/// While it lives, the pool keeps all that it has: no wait of another thread releases any, and nobody
/// has it trimmed. One at a time in the process; those who trim pools or set what they keep wait for
/// it with a null pool.
class PoolKept {
public:
    explicit PoolKept(CUmemoryPool pool);
    ~PoolKept();
    /// Whether it would have kept so much through a wait without us.
    [[nodiscard]] bool would_keep(std::uint64_t bytes) const { return threshold_ >= bytes; }
    PoolKept(const PoolKept&) = delete;
    PoolKept& operator=(const PoolKept&) = delete;

private:
    CUmemoryPool pool_;
    cuuint64_t threshold_ = 0;  // that the program has set
    bool raised_ = false;
};

/// Asks the driver what each pool, and the memory of graphs, really holds.
void settle_pools();
/// Something was allocated or freed since, so they may hold less than they are charged.
bool has_changed_pools();
/// Both together: before anybody is told how much is free.
inline void settle_pools_if_changed() {
    if (has_changed_pools()) settle_pools();
}
/// The program has waited for the device: a good moment, at most each 10 ms.
void note_synchronised();
/// Before a refusal: has the driver give up what pools and graphs of this device keep unused. As
/// the driver itself does when memory runs out, this waits for the current context's work, unless a
/// stream is captured now.
/// returns  whether there was anything
bool squeeze(unsigned place);
/// No context is left on the device, and so no memory of pools.
void drop_pools(unsigned place);

/// In the child of a fork.
void forget_pools();

}  // namespace aliquot::guard
