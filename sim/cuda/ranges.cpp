// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/ranges.h"

#include <sys/mman.h>

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "sim/cuda/objects.h"

namespace aliquot::sim {
namespace {

struct Ranges {
    std::mutex mutex;
    std::map<std::uint64_t, Range> by_address;
    std::atomic<std::size_t> count{0};
};

Ranges& ranges() { return immortal<Ranges>(); }

auto containing(Ranges& all, std::uint64_t address) {
    auto found = all.by_address.upper_bound(address);
    if (found == all.by_address.begin()) return all.by_address.end();
    --found;
    return address - found->first < found->second.bytes ? found : all.by_address.end();
}

}  // namespace

bool add_range(const Range& range) {
    Ranges& all = ranges();
    const std::lock_guard lock(all.mutex);
    const auto after = all.by_address.lower_bound(range.address);
    if (after != all.by_address.end() && after->first < range.address + range.bytes) return false;
    if (containing(all, range.address) != all.by_address.end()) return false;
    all.by_address.emplace(range.address, range);
    all.count = all.by_address.size();
    return true;
}

std::optional<Range> find_range(std::uint64_t address) {
    Ranges& all = ranges();
    if (all.count.load(std::memory_order_acquire) == 0) return std::nullopt;
    const std::lock_guard lock(all.mutex);
    const auto found = containing(all, address);
    if (found == all.by_address.end()) return std::nullopt;
    return found->second;
}

std::optional<Range> remove_range(std::uint64_t address, RangeKind kind) {
    Ranges& all = ranges();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_address.find(address);
    if (found == all.by_address.end() || found->second.kind != kind) return std::nullopt;
    const Range range = found->second;
    all.by_address.erase(found);
    all.count = all.by_address.size();
    return range;
}

void set_accessible(std::uint64_t address, std::uint64_t bytes, bool accessible) {
    Ranges& all = ranges();
    const std::lock_guard lock(all.mutex);
    for (auto& [start, range] : all.by_address) {
        if (range.kind != RangeKind::kMapping) continue;
        if (start < address + bytes && address < start + range.bytes) range.accessible = accessible;
    }
}

void forget_ranges_of(CUcontext context) {
    Ranges& all = ranges();
    std::vector<Range> gone;
    {
        const std::lock_guard lock(all.mutex);
        std::erase_if(all.by_address, [&](const auto& entry) {
            const Range& range = entry.second;
            const bool of_it = range.context == context && range.kind != RangeKind::kMapping;
            if (of_it) gone.push_back(range);
            return of_it;
        });
        all.count = all.by_address.size();
    }
    for (const Range& range : gone) {
        if (range.pages != nullptr) ::munmap(range.pages, range.pages_bytes);
    }
}

}  // namespace aliquot::sim
