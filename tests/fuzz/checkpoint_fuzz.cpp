// SPDX-License-Identifier: Apache-2.0
// Any bytes as kubelet's checkpoint: nothing crashes, and what was read is whole and in order.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pods/checkpoint.h"

namespace {

void insist(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto entries = aliquot::pods::parse_checkpoint(
        std::string_view(reinterpret_cast<const char*>(data), size));
    if (!entries) {
        insist(entries.error().code == aliquot::ErrorCode::kInvalidInput);
        insist(!entries.error().message.empty());
        return 0;
    }
    insist(std::ranges::is_sorted(*entries));
    for (const auto& entry : *entries) {
        insist(!entry.pod_uid.empty() && !entry.container.empty() && !entry.resource.empty());
        insist(!entry.ids.empty() && std::ranges::is_sorted(entry.ids));
        insist(std::ranges::adjacent_find(entry.ids) == entry.ids.end());
        insist(!entry.ids.front().empty());
    }
    return 0;
}
