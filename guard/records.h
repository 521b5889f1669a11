// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "guard/lock.h"

namespace aliquot::guard {

/// What a record of ours is about.
enum class Kind : std::uint8_t {
    kFree,  // an empty place of the table
    kMemory,
    kManaged,
    kPool,      // `extra`: the pool's place
    kImported,  // 0 bytes: somebody else's
    kArray,
    kHandle,     // of physical memory; `extra`: its place
    kMapping,    // of a handle at an address; `extra`: the physical memory's place
    kGraph,      // bytes that its memory nodes want
    kGraphExec,  // the same; `extra`: 1 when it has run
    kContext,
};

/// What is known of one pointer or handle that the driver gave out.
struct Record {
    std::uint64_t bytes = 0;
    std::uint64_t context = 0;  // in which it was made, where it dies with that
    std::uint32_t extra = 0;
    std::uint8_t place = 0;  // of the device in the ledger
    Kind kind = Kind::kFree;
};

/// From pointers and handles to records. Its own memory, straight from the kernel: a program may
/// have us called from inside its allocator. Thread-safe; all zero is empty.
///
/// 16 parts with a lock each. Each is a table with open addressing and no tombstones, and a few places
/// before it for the newest, so that a million live allocations cost what ten do.
class Records {
public:
    /// Adds or replaces.
    /// returns  false: no memory for it
    bool put(std::uint64_t key, const Record& record);
    /// Adds what the driver has just given out, so that no living record has this key. Quicker: what
    /// is taken soon again never gets into the table, where every address is a miss of the cache.
    bool add(std::uint64_t key, const Record& record);
    /// Removes.
    bool take(std::uint64_t key, Record& record);
    [[nodiscard]] bool look(std::uint64_t key, Record& record);
    /// Calls `change(record)` on the one record of this key, under the lock.
    template <class Change>
    bool update(std::uint64_t key, Change change) {
        Part& part = part_of(key);
        const ThreadLocked locked(part.lock);
        Entry* entry = find(part, key);
        if (entry != nullptr) change(entry->record);
        return entry != nullptr;
    }
    /// Removes all that `which(record)` says; calls it under a lock: it must not come back here.
    template <class Which>
    void take_all(Which which) {
        for (Part& part : parts_) {
            const ThreadLocked locked(part.lock);
            for (Entry& entry : part.newest)
                if (entry.record.kind != Kind::kFree && which(entry.record))
                    entry.record.kind = Kind::kFree;
            for (std::size_t i = 0; i < part.capacity;) {
                Entry& entry = part.entries[i];
                if (entry.record.kind != Kind::kFree && which(entry.record))
                    erase(part, i);  // another entry may have moved here
                else
                    ++i;
            }
        }
    }
    /// In the child of a fork: nothing in it is the child's.
    void forget();

private:
    struct Entry {
        std::uint64_t key = 0;
        Record record;
    };
    static constexpr unsigned kNewest = 4;
    struct alignas(64) Part {
        ThreadLock lock;
        unsigned next = 0;  // of `newest`, to give up
        Entry* entries = nullptr;
        std::size_t capacity = 0;  // power of two
        std::size_t count = 0;
        Entry newest[kNewest] = {};
    };
    static constexpr std::size_t kParts = 16;

    Part& part_of(std::uint64_t key) { return parts_[hash(key) >> 60]; }
    /// Addresses of one page share it: small allocations that follow each other lie together.
    static std::uint64_t hash(std::uint64_t key) { return (key >> 12) * 0x9e37'79b9'7f4a'7c15u; }
    static std::size_t home(const Part& part, std::uint64_t key) {
        return ((hash(key) >> 20) + (key >> 9 & 7)) & (part.capacity - 1);
    }
    static Entry* find(Part& part, std::uint64_t key);
    static Entry* find_in_table(Part& part, std::uint64_t key);
    static bool put_in_table(Part& part, const Entry& entry);
    static bool make_room(Part& part);
    static void place(Part& part, const Entry& entry);
    static void erase(Part& part, std::size_t index);

    Part parts_[kParts] = {};
};

}  // namespace aliquot::guard
