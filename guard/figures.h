// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "abi/region.h"

/// Figures of the ledger. Their order among each other is the lock's to keep.
namespace aliquot::guard {

inline bool same(const abi::DeviceUuid& a, const abi::DeviceUuid& b) {
    return std::memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}
inline bool none(const abi::DeviceUuid& uuid) { return same(uuid, abi::DeviceUuid{}); }

inline std::uint64_t value(const std::atomic<std::uint64_t>& figure) {
    return figure.load(std::memory_order_relaxed);
}
inline void set(std::atomic<std::uint64_t>& figure, std::uint64_t to) {
    figure.store(to, std::memory_order_relaxed);
}
inline std::uint64_t less(std::uint64_t from, std::uint64_t by) {
    return from < by ? 0 : from - by;
}

}  // namespace aliquot::guard
