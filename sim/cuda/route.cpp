// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "sim/cuda/entry_points.h"

namespace aliquot::sim {
namespace {

struct Row {
    std::string_view base;
    int version;
    bool per_thread;
    const char* exported;
};

constexpr auto kRows = std::to_array<Row>({
#define CUDA_SYMBOL(base, version, per_thread, exported) \
    {#base, version, (per_thread) != 0, #exported},
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
});

}  // namespace

Route route(std::string_view base, int wanted_version, std::uint64_t flags, int driver_version) {
    // The table is ordered by base.
    auto row =
        std::lower_bound(kRows.begin(), kRows.end(), base,
                         [](const Row& left, std::string_view name) { return left.base < name; });
    Route found;
    const Row* plain = nullptr;
    const Row* per_thread = nullptr;
    for (; row != kRows.end() && row->base == base; ++row) {
        if (row->version > driver_version) continue;
        found.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (row->version > wanted_version) continue;
        const Row*& best = row->per_thread ? per_thread : plain;
        if (best == nullptr || row->version > best->version) best = row;
    }
    if (plain == nullptr) return found;
    const bool own_stream = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    found.status = CU_GET_PROC_ADDRESS_SUCCESS;
    const Row* const chosen = own_stream && per_thread != nullptr ? per_thread : plain;
    found.exported = chosen->exported;
    found.row = static_cast<unsigned>(chosen - kRows.data());
    return found;
}

}  // namespace aliquot::sim
