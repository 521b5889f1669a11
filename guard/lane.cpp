// SPDX-License-Identifier: Apache-2.0
#include "guard/lane.h"

#include "guard/kernel.h"
#include "guard/lock.h"
#include "guard/session.h"
#include "guard/share.h"

namespace aliquot::guard {
namespace {

constexpr unsigned kLanes = 65'536;
constexpr unsigned kPlaces = 2 * kLanes;  // of the hash table
constexpr unsigned kRecent = 4'096;
constexpr std::uint64_t kGone = 1;  // an entry that was removed; no key

struct Place {
    std::atomic<std::uint64_t> key;
    std::atomic<Lane*> lane;
};
/// Mapped as a whole at the first launch under a share; pages cost when they are touched.
struct Table {
    std::atomic<Lane*> recent[kRecent];  // found last: few pages, since `places` has many
    Place places[kPlaces];
    Lane lanes[kLanes];
};

std::atomic<Table*> g_table{nullptr};
ThreadLock g_lock;  // for changes
unsigned g_high = 0;
Lane* g_free = nullptr;

unsigned first_place(std::uint64_t key) {
    return static_cast<unsigned>((key >> 4) * 0x9e37'79b9'7f4a'7c15 >> 47) % kPlaces;
}

Table* table() {
    Table* there = g_table.load(std::memory_order_acquire);
    if (there != nullptr) return there;
    void* made = kernel::map(sizeof(Table), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == nullptr) return nullptr;
    there = static_cast<Table*>(made);
    g_table.store(there, std::memory_order_release);
    return there;
}

__attribute__((noinline)) Lane* search(Table& all, std::uint64_t key, std::atomic<Lane*>& recent) {
    for (unsigned i = 0, at = first_place(key); i < kPlaces; ++i, at = (at + 1) % kPlaces) {
        const std::uint64_t there = all.places[at].key.load(std::memory_order_acquire);
        if (there == 0) return nullptr;
        if (there != key) continue;
        Lane* const lane = all.places[at].lane.load(std::memory_order_relaxed);
        recent.store(lane, std::memory_order_release);
        return lane;
    }
    return nullptr;
}

/// Under the lock.
bool enter(Table& all, std::uint64_t key, Lane* lane) {
    for (unsigned i = 0, at = first_place(key); i < kPlaces; ++i, at = (at + 1) % kPlaces) {
        Place& place = all.places[at];
        if (place.key.load(std::memory_order_relaxed) > kGone) continue;
        place.lane.store(lane, std::memory_order_relaxed);
        place.key.store(key, std::memory_order_release);
        return true;
    }
    return false;
}

/// Under the lock.
Lane* take_lane(Table& all) {
    if (g_free != nullptr) {
        Lane* lane = g_free;
        g_free = lane->next_free;
        return lane;
    }
    return g_high < kLanes ? &all.lanes[g_high++] : nullptr;
}

}  // namespace

const void* this_thread() { return &t_recent; }

std::uint64_t lane_key(CUstream stream, bool per_thread, CUcontext context) {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    if (!is_default_stream(stream)) return handle;
    const bool of_thread = handle == CU_STREAM_PER_THREAD_VALUE || (handle == 0 && per_thread);
    return reinterpret_cast<std::uintptr_t>(context) +
           (of_thread ? reinterpret_cast<std::uintptr_t>(this_thread()) : 0) + 1;
}

Lane* find_lane(std::uint64_t key) {
    Table* all = g_table.load(std::memory_order_acquire);
    if (all == nullptr) return nullptr;
    std::atomic<Lane*>& recent = all->recent[first_place(key) / (kPlaces / kRecent)];
    Lane* const lane = recent.load(std::memory_order_acquire);
    if (lane != nullptr && lane->key.load(std::memory_order_acquire) == key) return lane;
    return search(*all, key, recent);
}

Lane* lane_of(CUstream stream, bool per_thread) {
    CUcontext context = nullptr;
    if (g_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
    const std::uint64_t key = lane_key(stream, per_thread, context);
    if (Lane* known = find_lane(key)) return known;
    const unsigned place = current_place();
    if (place == kNone) return nullptr;
    const ThreadLocked locked(g_lock);
    Table* all = table();
    if (all == nullptr) return nullptr;
    if (Lane* known = find_lane(key)) return known;
    Lane* lane = take_lane(*all);
    if (lane == nullptr) return nullptr;
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    lane->place = place;
    lane->context = context;
    lane->stream = stream;
    lane->per_thread = per_thread;
    const bool of_thread = handle == CU_STREAM_PER_THREAD_VALUE || (handle == 0 && per_thread);
    lane->thread = of_thread ? this_thread() : nullptr;
    lane->start = nullptr;
    lane->last = nullptr;
    lane->is_held = false;
    lane->epoch.store(~0U, std::memory_order_relaxed);
    lane->key.store(key, std::memory_order_release);
    return enter(*all, key, lane) ? lane : nullptr;
}

void remove_lane(Lane& lane) {
    const ThreadLocked locked(g_lock);
    const std::uint64_t key = lane.key.exchange(0);
    Table* all = g_table.load();
    if (key == 0 || all == nullptr) return;
    for (unsigned i = 0, at = first_place(key); i < kPlaces; ++i, at = (at + 1) % kPlaces) {
        Place& place = all->places[at];
        const std::uint64_t there = place.key.load(std::memory_order_relaxed);
        if (there == 0) break;
        if (there != key) continue;
        place.key.store(kGone, std::memory_order_release);
        // A row of removed entries that nothing follows is none.
        unsigned end = at;
        if (all->places[(end + 1) % kPlaces].key.load() == 0)
            while (all->places[end].key.load() == kGone) {
                all->places[end].key.store(0, std::memory_order_release);
                end = (end + kPlaces - 1) % kPlaces;
            }
        break;
    }
    lane.next_free = g_free;
    g_free = &lane;
}

void for_each_lane(CUcontext context, void (*visit)(Lane& lane)) {
    Table* all = g_table.load(std::memory_order_acquire);
    if (all == nullptr) return;
    unsigned high = 0;
    {
        const ThreadLocked locked(g_lock);
        high = g_high;
    }
    for (unsigned i = 0; i < high; ++i) {
        Lane& lane = all->lanes[i];
        if (lane.key.load(std::memory_order_acquire) == 0) continue;
        if (context == nullptr || lane.context == context) visit(lane);
    }
}

void forget_lanes() {
    g_lock.forget();
    Table* all = g_table.exchange(nullptr);
    if (all != nullptr) kernel::unmap(all, sizeof(Table));
    g_high = 0;
    g_free = nullptr;
}

}  // namespace aliquot::guard
