// SPDX-License-Identifier: Apache-2.0
#include "guard/vmm.h"

#include "guard/exported.h"
#include "guard/memory.h"

namespace aliquot::guard {
namespace {

/// Physical memory. Lies in a table so that several handles can mean it.
struct Physical {
    std::uint64_t bytes;
    std::uint32_t handles;
    std::uint32_t mappings;
    std::uint32_t exports;
    std::uint32_t held;       // by calls that are under way
    std::uint32_t next_free;  // + 1; 0: none
    std::uint8_t place;
    bool charged;
    bool bound;      // a multicast object that memory was bound to
    bool lingering;  // counted in g_lingering

    [[nodiscard]] bool used() const { return handles != 0 || mappings != 0 || held != 0; }
};
constexpr std::uint32_t kMost = 1 << 20;

ThreadLock g_lock;  // for the physical memory and the tables' agreement with it
Physical* g_physical;
std::uint32_t g_made = 0;       // places ever used
std::uint32_t g_free = 0;       // + 1
constinit Records g_handles;    // by handle; `context`: references of this one
constinit Records g_mappings;   // by address; `context`: the same
constinit Records g_in_arrays;  // by part of an array; `context`: the array
constinit Records g_bindings;   // by object, memory and offset; `context`: object, `bytes`: offset
std::atomic<std::uint32_t> g_lingering{0};
std::atomic<bool> g_arrays{false};

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15u;
    return hash ^ hash >> 29;
}

PhysicalIndex make_physical(const Physical& content) {
    if (g_physical == nullptr)
        g_physical =
            static_cast<Physical*>(kernel::map(kMost * sizeof(Physical), PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (g_physical == nullptr || (g_free == 0 && g_made == kMost)) return kNone;
    std::uint32_t index = g_made;
    if (g_free != 0) {
        index = g_free - 1;
        g_free = g_physical[index].next_free;
    } else {
        ++g_made;
    }
    g_physical[index] = content;
    return index;
}

void drop_if_unused(PhysicalIndex index);

/// Under the lock: what was bound to a multicast object goes with it.
void drop_bound(PhysicalIndex object) {
    for (;;) {
        PhysicalIndex memory = kNone;
        g_bindings.take_all([&](const Record& record) {
            if (memory != kNone || record.context != object + 1) return false;
            memory = record.extra;
            return true;
        });
        if (memory == kNone) return;
        --g_physical[memory].mappings;
        drop_if_unused(memory);
    }
}

/// Under the lock.
void drop_if_unused(PhysicalIndex index) {
    Physical& physical = g_physical[index];
    const bool lingering = !physical.used() && physical.exports != 0;
    if (lingering != physical.lingering) {
        physical.lingering = lingering;
        if (lingering)
            g_lingering.fetch_add(1);
        else
            g_lingering.fetch_sub(1);
    }
    if (physical.used() || physical.exports != 0) return;
    if (physical.charged) g_ledger.shrink(physical.place, physical.bytes, Part::kTracked);
    const bool bound = physical.bound;
    drop_tokens(index);
    physical = Physical{};
    physical.next_free = g_free;
    g_free = index + 1;
    if (bound) drop_bound(index);
}

/// Under the lock. kNone: no such handle.
PhysicalIndex find_handle(CUmemGenericAllocationHandle handle) {
    Record record;
    return g_handles.look(handle, record) ? record.extra : kNone;
}

PhysicalIndex hold(PhysicalIndex index) {
    if (index != kNone) ++g_physical[index].held;
    return index;
}

/// Which part of which array.
std::uint64_t key_of(const CUarrayMapInfo& info) {
    std::uint64_t key = mix(1, reinterpret_cast<std::uintptr_t>(info.resource.array));
    key = mix(key, static_cast<std::uint64_t>(info.subresourceType));
    if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
        key = mix(key, info.subresource.miptail.layer);
        key = mix(key, info.subresource.miptail.offset);
        return mix(key, info.subresource.miptail.size);
    }
    const auto& part = info.subresource.sparseLevel;
    for (const unsigned value : {part.level, part.layer, part.offsetX, part.offsetY, part.offsetZ,
                                 part.extentWidth, part.extentHeight, part.extentDepth})
        key = mix(key, value);
    return key;
}

/// Under the lock: adds to a table what counts as a mapping.
void add_mapping(Records& records, std::uint64_t key, const Record& record) {
    Record before;
    if (records.take(key, before)) {
        --g_physical[before.extra].mappings;
        drop_if_unused(before.extra);
    }
    if (records.put(key, record))
        ++g_physical[record.extra].mappings;
    else
        g_ledger.remark(g_physical[record.extra].place, abi::kRemarkTableFull);
}

}  // namespace

void remember_handle(CUmemGenericAllocationHandle handle, std::uint64_t bytes, unsigned place,
                     bool charged) {
    const ThreadLocked locked(g_lock);
    Physical physical = {};
    physical.bytes = bytes;
    physical.handles = 1;
    physical.place = static_cast<std::uint8_t>(place);
    physical.charged = charged;
    Record record;
    record.kind = Kind::kHandle;
    record.extra = make_physical(physical);
    record.context = 1;
    // Without books the charge stays until the process ends.
    if (record.extra == kNone || !g_handles.put(handle, record))
        g_ledger.remark(place, abi::kRemarkTableFull);
}

void share_handle(CUmemGenericAllocationHandle handle, PhysicalIndex physical) {
    const ThreadLocked locked(g_lock);
    ++g_physical[physical].handles;
    if (g_handles.update(handle, [](Record& record) { ++record.context; })) return;
    Record record;
    record.kind = Kind::kHandle;
    record.extra = physical;
    record.context = 1;
    if (!g_handles.put(handle, record))
        g_ledger.remark(g_physical[physical].place, abi::kRemarkTableFull);
}

PhysicalIndex take_handle(CUmemGenericAllocationHandle handle) {
    const ThreadLocked locked(g_lock);
    Record record;
    if (!g_handles.look(handle, record)) return kNone;
    if (record.context <= 1)
        g_handles.take(handle, record);
    else
        g_handles.update(handle, [](Record& kept) { --kept.context; });
    --g_physical[record.extra].handles;
    return hold(record.extra);
}

PhysicalIndex hold_handle(CUmemGenericAllocationHandle handle) {
    const ThreadLocked locked(g_lock);
    return hold(find_handle(handle));
}

PhysicalIndex hold_mapped(std::uint64_t address) {
    const ThreadLocked locked(g_lock);
    Record record;
    if (g_mappings.look(address, record)) return hold(record.extra);
    PhysicalIndex found = kNone;
    g_mappings.take_all([&](const Record& one) {
        if (address >= one.context && address - one.context < one.bytes) found = one.extra;
        return false;
    });
    return hold(found);
}

PhysicalIndex hold_exported(CUmemAllocationHandleType type, const void* exported) {
    const ThreadLocked locked(g_lock);
    return hold(find_export(type, exported));
}

void let_go(PhysicalIndex physical) {
    if (physical == kNone) return;
    const ThreadLocked locked(g_lock);
    --g_physical[physical].held;
    drop_if_unused(physical);
}

void note_mapping(PhysicalIndex physical, std::uint64_t address, std::uint64_t bytes) {
    const ThreadLocked locked(g_lock);
    Record record;
    record.kind = Kind::kMapping;
    record.extra = physical;
    record.bytes = bytes;
    record.context = address;
    add_mapping(g_mappings, address, record);
}

std::size_t count_mappings(std::uint64_t address, std::uint64_t bytes) {
    const ThreadLocked locked(g_lock);
    std::size_t count = 0;
    Record record;
    for (std::uint64_t at = address;
         at < address + bytes && g_mappings.look(at, record) && record.bytes != 0;
         at += record.bytes)
        ++count;
    return count;
}

std::size_t take_mappings(std::uint64_t address, std::uint64_t bytes, TakenMapping* taken,
                          std::size_t most) {
    const ThreadLocked locked(g_lock);
    std::size_t count = 0;
    Record record;
    for (std::uint64_t at = address;
         at < address + bytes && count < most && g_mappings.take(at, record) && record.bytes != 0;
         at += record.bytes) {
        --g_physical[record.extra].mappings;
        taken[count++] = TakenMapping{at, record.bytes, hold(record.extra)};
    }
    return count;
}

void end_mapping(const TakenMapping& taken, bool gone) {
    if (!gone) note_mapping(taken.physical, taken.address, taken.bytes);
    let_go(taken.physical);
}

void note_array_mapping(const CUarrayMapInfo& info) {
    const ThreadLocked locked(g_lock);
    const PhysicalIndex physical = find_handle(info.memHandle.memHandle);
    if (physical == kNone) return;
    g_arrays.store(true, std::memory_order_relaxed);
    Record record;
    record.kind = Kind::kMapping;
    record.extra = physical;
    record.context = reinterpret_cast<std::uintptr_t>(info.resource.array);
    add_mapping(g_in_arrays, key_of(info), record);
}

PhysicalIndex take_array_mapping(const CUarrayMapInfo& info) {
    const ThreadLocked locked(g_lock);
    Record record;
    if (!g_in_arrays.take(key_of(info), record)) return kNone;
    --g_physical[record.extra].mappings;
    return hold(record.extra);
}

void drop_array(std::uint64_t array) {
    if (!g_arrays.load(std::memory_order_relaxed)) return;
    const ThreadLocked locked(g_lock);
    g_in_arrays.take_all([&](const Record& record) {
        if (record.context != array) return false;
        --g_physical[record.extra].mappings;
        drop_if_unused(record.extra);
        return true;
    });
}

void note_binding(CUmemGenericAllocationHandle multicast, std::uint64_t offset,
                  PhysicalIndex memory) {
    const ThreadLocked locked(g_lock);
    const PhysicalIndex object = find_handle(multicast);
    if (object == kNone || memory == kNone) return;
    g_physical[object].bound = true;
    Record record;
    record.kind = Kind::kMapping;
    record.extra = memory;
    record.context = object + 1;
    record.bytes = offset;
    record.place = g_physical[memory].place;
    add_mapping(g_bindings, mix(mix(mix(2, object), memory), offset), record);
}

void drop_bindings(CUmemGenericAllocationHandle multicast, unsigned place, std::uint64_t offset,
                   std::uint64_t bytes) {
    const ThreadLocked locked(g_lock);
    const PhysicalIndex object = find_handle(multicast);
    if (object == kNone) return;
    g_bindings.take_all([&](const Record& record) {
        if (record.context != object + 1 || record.place != place || record.bytes < offset ||
            record.bytes - offset >= bytes)
            return false;
        --g_physical[record.extra].mappings;
        drop_if_unused(record.extra);
        return true;
    });
}

void note_export(PhysicalIndex physical, CUmemAllocationHandleType type, const void* exported) {
    const ThreadLocked locked(g_lock);
    if (add_export(physical, type, exported)) ++g_physical[physical].exports;
}

bool has_exported_only() { return g_lingering.load(std::memory_order_relaxed) != 0; }

void settle_exported() {
    if (!has_exported_only()) return;
    const ThreadLocked locked(g_lock);
    look_for_descriptors();
    for (PhysicalIndex gone = take_closed(); gone != kNone; gone = take_closed()) {
        --g_physical[gone].exports;
        drop_if_unused(gone);
    }
}

void forget_vmm() {
    g_lock.forget();
    g_handles.forget();
    g_mappings.forget();
    g_in_arrays.forget();
    g_bindings.forget();
    forget_exports();
    if (g_physical != nullptr) kernel::unmap(g_physical, kMost * sizeof(Physical));
    g_physical = nullptr;
    g_made = 0;
    g_free = 0;
    g_lingering.store(0);
}

}  // namespace aliquot::guard
