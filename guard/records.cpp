// SPDX-License-Identifier: Apache-2.0
#include "guard/records.h"

#include "guard/kernel.h"

namespace aliquot::guard {
namespace {

/// Zeroed memory; a large piece lies so that it can be had in huge pages.
void* map_table(std::size_t size) {
    constexpr std::size_t kHuge = std::size_t{2} << 20;
    const auto map = [](std::size_t bytes) {
        return kernel::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    };
    if (size < kHuge) return map(size);
    void* room = map(size + kHuge);
    if (room == nullptr) return nullptr;
    const auto start = reinterpret_cast<std::uintptr_t>(room);
    const std::uintptr_t aligned = (start + kHuge - 1) / kHuge * kHuge;
    if (aligned != start) kernel::unmap(room, aligned - start);
    if (aligned + size != start + size + kHuge)
        kernel::unmap(kernel::as_pointer<void>(aligned + size), start + kHuge - aligned);
    kernel::call(SYS_madvise, static_cast<long>(aligned), static_cast<long>(size), MADV_HUGEPAGE);
    return kernel::as_pointer<void>(aligned);
}

}  // namespace

Records::Entry* Records::find(Part& part, std::uint64_t key) {
    for (Entry& entry : part.newest)
        if (entry.key == key && entry.record.kind != Kind::kFree) return &entry;
    return find_in_table(part, key);
}

Records::Entry* Records::find_in_table(Part& part, std::uint64_t key) {
    if (part.capacity == 0) return nullptr;
    const std::size_t mask = part.capacity - 1;
    for (std::size_t i = home(part, key);; i = (i + 1) & mask) {
        Entry& entry = part.entries[i];
        if (entry.record.kind == Kind::kFree) return nullptr;
        if (entry.key == key) return &entry;
    }
}

void Records::place(Part& part, const Entry& entry) {
    const std::size_t mask = part.capacity - 1;
    std::size_t i = home(part, entry.key);
    while (part.entries[i].record.kind != Kind::kFree) i = (i + 1) & mask;
    part.entries[i] = entry;
}

bool Records::make_room(Part& part) {
    if (part.capacity != 0 && part.count * 8 < part.capacity * 5) return true;
    constexpr std::size_t kFirst = 4096 / sizeof(Entry) >= 64 ? 64 : 32;
    const std::size_t capacity = part.capacity == 0 ? kFirst : part.capacity * 2;
    auto* entries = static_cast<Entry*>(map_table(capacity * sizeof(Entry)));
    // Without more memory a table that is not full goes on, only slower.
    if (entries == nullptr) return part.capacity != 0 && part.count + 1 < part.capacity;
    Part grown = {};
    grown.entries = entries;
    grown.capacity = capacity;
    for (std::size_t i = 0; i < part.capacity; ++i)
        if (part.entries[i].record.kind != Kind::kFree) place(grown, part.entries[i]);
    if (part.entries != nullptr) kernel::unmap(part.entries, part.capacity * sizeof(Entry));
    part.entries = entries;
    part.capacity = capacity;
    return true;
}

void Records::erase(Part& part, std::size_t index) {
    const std::size_t mask = part.capacity - 1;
    --part.count;
    // Close the gap: whatever follows and may lie here moves up.
    for (std::size_t next = (index + 1) & mask; part.entries[next].record.kind != Kind::kFree;
         next = (next + 1) & mask) {
        const std::size_t wants = home(part, part.entries[next].key);
        if (((next - wants) & mask) < ((next - index) & mask)) continue;
        part.entries[index] = part.entries[next];
        index = next;
    }
    part.entries[index].record.kind = Kind::kFree;
}

bool Records::put_in_table(Part& part, const Entry& entry) {
    if (Entry* there = find_in_table(part, entry.key)) {
        *there = entry;
        return true;
    }
    if (!make_room(part)) return false;
    place(part, entry);
    ++part.count;
    return true;
}

bool Records::put(std::uint64_t key, const Record& record) {
    Part& part = part_of(key);
    const ThreadLocked locked(part.lock);
    if (Entry* entry = find(part, key)) {
        entry->record = record;
        return true;
    }
    return put_in_table(part, Entry{key, record});
}

bool Records::add(std::uint64_t key, const Record& record) {
    Part& part = part_of(key);
    const ThreadLocked locked(part.lock);
    Entry* place = nullptr;
    for (Entry& entry : part.newest) {
        if (entry.record.kind == Kind::kFree) place = place == nullptr ? &entry : place;
        // Of one that the driver took back without our knowing.
        else if (entry.key == key) {
            place = &entry;
            break;
        }
    }
    if (place == nullptr) {
        place = &part.newest[part.next++ % kNewest];
        if (!put_in_table(part, *place)) return false;
    }
    *place = Entry{key, record};
    return true;
}

bool Records::take(std::uint64_t key, Record& record) {
    Part& part = part_of(key);
    const ThreadLocked locked(part.lock);
    Entry* entry = find(part, key);
    if (entry == nullptr) return false;
    record = entry->record;
    if (entry >= part.newest && entry < part.newest + kNewest)
        entry->record.kind = Kind::kFree;
    else
        erase(part, static_cast<std::size_t>(entry - part.entries));
    return true;
}

bool Records::look(std::uint64_t key, Record& record) {
    Part& part = part_of(key);
    const ThreadLocked locked(part.lock);
    const Entry* entry = find(part, key);
    if (entry == nullptr) return false;
    record = entry->record;
    return true;
}

void Records::forget() {
    for (Part& part : parts_) {
        part.lock.forget();
        if (part.entries != nullptr) kernel::unmap(part.entries, part.capacity * sizeof(Entry));
        part.entries = nullptr;
        part.capacity = 0;
        part.count = 0;
        for (Entry& entry : part.newest) entry = Entry{};
    }
}

}  // namespace aliquot::guard
