// SPDX-License-Identifier: Apache-2.0
#include "guard/pools.h"

#include "guard/freed_blocks.h"
#include "guard/graphs.h"
#include "guard/lane.h"
#include "guard/leaving.h"
#include "guard/memory.h"
#include "guard/vmm.h"

namespace aliquot::guard {
namespace {

struct Pool {
    CUmemoryPool handle;      // nullptr: destroyed, or a free place
    std::uint64_t live;       // bytes of its pointers
    std::uint64_t pointers;   // how many
    std::uint64_t base;       // bytes that the driver said it holds
    std::uint64_t started;    // what all allocations that were begun may have made it grow
    std::uint64_t completed;  // and those that have returned
    std::uint64_t mark;       // `completed` when the driver was asked
    std::uint64_t question;   // number of the last that was put to the driver
    std::uint64_t answered;   // the newest that `base` and `mark` are from
    std::uint64_t charged;    // in the ledger
    std::uint64_t granule;    // it grows by this, or by multiples, as far as it has told
    FreedBlocks freed;
    std::uint64_t stream;       // that has allocated from it; 0: none
    std::uint32_t asking;       // threads that use the handle now
    std::uint32_t next_unused;  // + 1; of a free place
    std::uint8_t place;
    bool used;
    bool closed;  // its handle is being destroyed
    bool charges;
    bool tells;    // the driver knows what it holds
    bool resting;  // its device was reset: not asked before it is used again
    bool mixed;    // several streams have: one may be given what another freed

    /// The most that it can hold: everything begun after the driver was asked may be new.
    [[nodiscard]] std::uint64_t most() const { return base + (started - mark); }
};
constexpr std::uint32_t kMost = 1 << 20;
constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
constexpr std::uint64_t kChunk = std::uint64_t{32} << 20;
constexpr std::uint64_t kBetween = 10'000'000;

ThreadLock g_lock;  // for the table; the ledger's lock may be taken inside
ThreadLock g_kept;  // what pools keep is not given up meanwhile; g_lock may be taken inside
Pool* g_pools;
constinit Records g_by_handle;
std::atomic<std::uint32_t> g_made{0};  // places ever used
std::uint32_t g_unused = 0;            // + 1
bool g_guessing = false;    // an allocation that is believed to need no more is under way
bool g_distrusted = false;  // what a stream freed is not given to it again
std::atomic<bool> g_changed{false};
std::atomic<std::uint64_t> g_settled_ns{0};
std::atomic<std::uint64_t> g_waits{0};  // for the device, since there are pools

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}
std::uint64_t key_of(CUmemoryPool handle) { return reinterpret_cast<std::uintptr_t>(handle); }

/// What an allocation can make a pool grow: a large one does not share a piece, small ones fill at
/// least half of theirs. Under the lock.
std::uint64_t growth_of(const Pool& pool, std::uint64_t bytes) {
    return bytes > pool.granule / 2 ? round_up(bytes, pool.granule) : 2 * bytes;
}

/// Under the lock.
std::uint32_t make_pool() {
    if (g_pools == nullptr)
        g_pools =
            static_cast<Pool*>(kernel::map(kMost * sizeof(Pool), PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    const std::uint32_t made = g_made.load(std::memory_order_relaxed);
    if (g_pools == nullptr || (g_unused == 0 && made == kMost)) return kNone;
    if (g_unused == 0) {
        g_made.store(made + 1, std::memory_order_relaxed);
        return made;
    }
    const std::uint32_t index = g_unused - 1;
    g_unused = g_pools[index].next_unused;
    return index;
}

/// Under the lock: the pool is to be charged with so much.
void charge(Pool& pool, std::uint64_t bytes) {
    if (!pool.charges) return;
    if (bytes > pool.charged)
        g_ledger.force(pool.place, bytes - pool.charged, Part::kTracked);
    else if (bytes < pool.charged)
        g_ledger.shrink(pool.place, pool.charged - bytes, Part::kTracked);
    pool.charged = bytes;
}

/// Under the lock.
void drop_if_over(std::uint32_t index) {
    Pool& pool = g_pools[index];
    if (pool.handle != nullptr || pool.pointers != 0) return;
    charge(pool, 0);
    pool = Pool{};
    pool.next_unused = g_unused;
    g_unused = index + 1;
}

/// Bytes that pools of this device keep beyond what is in use.
std::uint64_t spare_of(unsigned place) {
    const ThreadLocked locked(g_lock);
    std::uint64_t spare = 0;
    for (std::uint32_t i = 0; i < g_made.load(std::memory_order_relaxed); ++i)
        if (const Pool& pool = g_pools[i]; pool.used && pool.place == place)
            spare += pool.charged > pool.live ? pool.charged - pool.live : 0;
    return spare;
}

/// What the driver is asked about one pool, until asked().
struct Question {
    CUmemoryPool handle;  // nullptr: not this one
    std::uint64_t completed;
    std::uint64_t number;
};
Question ask(std::uint32_t index) {
    const ThreadLocked locked(g_lock);
    Pool& pool = g_pools[index];
    if (!pool.used || !pool.charges || pool.resting || pool.closed || pool.handle == nullptr)
        return {};
    ++pool.asking;
    return {pool.handle, pool.completed, ++pool.question};
}
void asked(std::uint32_t index) {
    const ThreadLocked locked(g_lock);
    --g_pools[index].asking;
}

}  // namespace

std::uint64_t stream_key(CUstream stream, bool per_thread) {
    const auto value = reinterpret_cast<std::uintptr_t>(stream);
    if (value == CU_STREAM_PER_THREAD_VALUE || (value == 0 && per_thread))
        return reinterpret_cast<std::uintptr_t>(this_thread());
    return value == 0 ? CU_STREAM_LEGACY_VALUE : value;
}

std::uint32_t enter_pool(CUmemoryPool handle, unsigned place, bool charges) {
    const ThreadLocked locked(g_lock);
    Record record;
    if (g_by_handle.look(key_of(handle), record)) return record.extra;
    record.kind = Kind::kPool;
    record.extra = make_pool();
    if (record.extra == kNone || !g_by_handle.put(key_of(handle), record)) return kNone;
    Pool& pool = g_pools[record.extra];
    pool = Pool{};
    pool.handle = handle;
    pool.granule = kChunk;
    pool.place = static_cast<std::uint8_t>(place);
    pool.used = true;
    pool.charges = charges;
    return record.extra;
}

std::uint32_t find_pool(CUmemoryPool handle) {
    Record record;
    return g_by_handle.look(key_of(handle), record) ? record.extra : kNone;
}

PoolPlace place_of_pool(std::uint32_t pool) {
    const ThreadLocked locked(g_lock);
    return {g_pools[pool].place, g_pools[pool].charges};
}

void settle_pool(std::uint32_t index) {
    const Question question = ask(index);
    cuuint64_t reserved = 0;
    if (question.handle == nullptr) return;
    const CUresult result = g_driver.cuMemPoolGetAttribute(
        question.handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
    const ThreadLocked locked(g_lock);
    Pool& pool = g_pools[index];
    --pool.asking;
    if (result != CUDA_SUCCESS) return;
    if (pool.handle != question.handle || pool.resting) return;
    // An answer that another thread was slow to bring is not the state any more.
    if (question.number < pool.answered) return;
    pool.answered = question.number;
    pool.tells = pool.tells || reserved != 0;
    while (reserved % pool.granule != 0 && pool.granule > kPage) pool.granule /= 2;
    const std::uint64_t before = pool.base;
    pool.base = pool.tells ? reserved : pool.live;
    pool.mark = question.completed;
    // A call that is under way may be in the answer already: it is not charged twice.
    const std::uint64_t known = pool.base > pool.charged ? pool.base : pool.charged;
    charge(pool, pool.most() < known ? pool.most() : known);
    // What streams have freed is only there while the pool gives nothing up, and has it all.
    if (pool.base < before || pool.base < pool.live + pool.freed.bytes()) pool.freed.clear();
    if (pool.base == 0) {
        pool.stream = 0;
        pool.mixed = false;
    }
}

std::uint64_t held_by_pool(std::uint32_t index) {
    const ThreadLocked locked(g_lock);
    return g_pools[index].base;
}

void close_pool(std::uint32_t index) {
    for (;;) {
        {
            const ThreadLocked locked(g_lock);
            Pool& pool = g_pools[index];
            Record record;
            if (!pool.closed) g_by_handle.take(key_of(pool.handle), record);
            pool.closed = true;
            if (pool.asking == 0) return;  // a question to the driver takes no time
        }
        kernel::call(SYS_sched_yield);
    }
}

void reopen_pool(std::uint32_t index) {
    const ThreadLocked locked(g_lock);
    Pool& pool = g_pools[index];
    pool.closed = false;
    Record record;
    record.kind = Kind::kPool;
    record.extra = index;
    g_by_handle.put(key_of(pool.handle), record);
}

void end_pool(std::uint32_t index) {
    const ThreadLocked locked(g_lock);
    g_pools[index].handle = nullptr;
    drop_if_over(index);
}

bool may_reuse(std::uint32_t index, std::uint64_t bytes) {
    const ThreadLocked locked(g_lock);
    const Pool& pool = g_pools[index];
    return pool.most() > pool.live && pool.most() + growth_of(pool, bytes) > pool.charged;
}

std::uint64_t reserve_in_pool(std::uint32_t index, std::uint64_t bytes, bool* guessed) {
    const ThreadLocked locked(g_lock);
    Pool& pool = g_pools[index];
    // One at a time: each may take a piece more than is believed.
    const bool guess = guessed != nullptr && !pool.tells && !g_guessing;
    const std::uint64_t growth = guess ? round_up(bytes, kPage) : growth_of(pool, bytes);
    const std::uint64_t most = pool.most() + growth;
    if (most > pool.charged) {
        std::uint64_t more = round_up(most - pool.charged, kChunk);
        if (!g_ledger.grow(pool.place, more, Part::kTracked)) {
            more = round_up(most - pool.charged, guess ? kPage : pool.granule);
            if (!g_ledger.grow(pool.place, more, Part::kTracked)) return 0;
        }
        pool.charged += more;
    }
    pool.started += growth;
    if (guess) *guessed = g_guessing = true;
    return growth;
}

void end_guess(std::uint32_t index) {
    settle_pool(index);
    const ThreadLocked locked(g_lock);
    g_guessing = false;
}

void allocated_in_pool(std::uint32_t index, std::uint64_t reserved, std::uint64_t bytes,
                       std::uint64_t stream, const CUdeviceptr* pointer) {
    const ThreadLocked locked(g_lock);
    Pool& pool = g_pools[index];
    pool.completed += reserved;
    if (pointer != nullptr) {
        pool.mixed = pool.mixed || (pool.stream != 0 && pool.stream != stream);
        pool.stream = stream;
        pool.freed.take(*pointer, bytes);
        pool.live += bytes;
        ++pool.pointers;
        pool.resting = false;
    }
    g_changed.store(true, std::memory_order_relaxed);
}

bool may_have_again(std::uint32_t index, std::uint64_t bytes, std::uint64_t stream,
                    bool through_waits) {
    const ThreadLocked locked(g_lock);
    const Pool& pool = g_pools[index];
    const std::uint64_t waits = through_waits ? 0 : g_waits.load(std::memory_order_relaxed);
    return !g_distrusted && !pool.mixed && pool.freed.has(bytes, stream, waits);
}

void distrust_pools() {
    const ThreadLocked locked(g_lock);
    g_distrusted = true;
}

void give_back_to_pool(std::uint32_t index, std::uint64_t address, std::uint64_t bytes,
                       std::uint64_t stream) {
    const ThreadLocked locked(g_lock);
    if (index >= g_made.load(std::memory_order_relaxed)) return;
    Pool& pool = g_pools[index];
    if (!pool.used || pool.pointers == 0) return;
    pool.live = bytes < pool.live ? pool.live - bytes : 0;
    --pool.pointers;
    if (stream != 0)
        pool.freed.add(address, bytes, stream, g_waits.load(std::memory_order_relaxed));
    drop_if_over(index);
    g_changed.store(true, std::memory_order_relaxed);
}

PoolKept::PoolKept(CUmemoryPool pool) : pool_(pool) {
    g_kept.lock();
    cuuint64_t all = ~cuuint64_t{0};
    raised_ = pool != nullptr &&
              g_driver.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                             &threshold_) == CUDA_SUCCESS &&
              g_driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all) ==
                  CUDA_SUCCESS;
}

PoolKept::~PoolKept() {
    if (raised_)
        g_driver.cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold_);
    g_kept.unlock();
}

void settle_pools() {
    g_settled_ns.store(kernel::now_ns(), std::memory_order_relaxed);
    g_changed.store(false, std::memory_order_relaxed);
    const CaptureRelaxed relaxed;
    const std::uint32_t made = g_made.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < made; ++i) settle_pool(i);
    settle_graph_memory();
    settle_leaving();
    settle_exported();
}

bool has_changed_pools() {
    return g_changed.load(std::memory_order_relaxed) || has_graph_memory() || has_exported_only() ||
           has_leaving();
}

void note_synchronised() {
    if (g_made.load(std::memory_order_relaxed) != 0)
        g_waits.fetch_add(1, std::memory_order_relaxed);
    if (!has_changed_pools()) return;
    if (kernel::now_ns() - g_settled_ns.load(std::memory_order_relaxed) >= kBetween) settle_pools();
}

bool squeeze(unsigned place) {
    if (spare_of(place) == 0 && graph_memory_of(place) == 0 && !has_leaving()) return false;
    if (g_captures.load(std::memory_order_relaxed) != 0) return false;
    if (current_place() == place) g_driver.cuCtxSynchronize();
    for (std::uint32_t i = 0; i < g_made.load(std::memory_order_relaxed); ++i) {
        const ThreadLocked kept(g_kept);
        CUmemoryPool handle = ask(i).handle;
        if (handle == nullptr) continue;
        if (place_of_pool(i).place == place) g_driver.cuMemPoolTrimTo(handle, 0);
        asked(i);
    }
    if (graph_memory_of(place) != 0) g_driver.cuDeviceGraphMemTrim(device_of_place(place));
    settle_pools();
    return true;
}

void drop_pools(unsigned place) {
    const auto of_pools = [&](const Record& record) {
        return record.kind == Kind::kPool && record.place == place;
    };
    g_memory.take_all(of_pools);
    const ThreadLocked locked(g_lock);
    for (std::uint32_t i = 0; i < g_made.load(std::memory_order_relaxed); ++i) {
        Pool& pool = g_pools[i];
        if (!pool.used || pool.place != place) continue;
        pool.live = 0;
        pool.pointers = 0;
        pool.base = 0;
        pool.mark = pool.completed;
        pool.answered = ++pool.question;
        pool.resting = true;
        pool.freed.clear();
        charge(pool, pool.most());
        drop_if_over(i);
    }
}

void forget_pools() {
    g_lock.forget();
    g_kept.forget();
    g_by_handle.forget();
    if (g_pools != nullptr) kernel::unmap(g_pools, kMost * sizeof(Pool));
    g_pools = nullptr;
    g_guessing = false;
    g_made.store(0, std::memory_order_relaxed);
    g_unused = 0;
    forget_graphs();
}

}  // namespace aliquot::guard
