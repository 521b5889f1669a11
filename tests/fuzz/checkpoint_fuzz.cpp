// SPDX-License-Identifier: Apache-2.0
// Any bytes as kubelet's checkpoints of devices and of claims: nothing crashes, and what was read is whole and in order.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pods/checkpoint.h"
#include "pods/claim_state.h"

namespace {

void insist(bool condition) {
    if (!condition) std::abort();
}

/// Bytes that begin with 'C' are of claims.
void read_claims(std::string_view text) {
    const auto holds = aliquot::pods::parse_claim_state(text);
    if (!holds) {
        insist(holds.error().code == aliquot::ErrorCode::kInvalidInput);
        insist(!holds.error().message.empty());
        return;
    }
    insist(std::ranges::is_sorted(*holds));
    for (const auto& one : *holds) {
        insist(one.claim.contains('/') && !one.driver.empty());
        insist(std::ranges::is_sorted(one.ids));
        insist(std::ranges::adjacent_find(one.ids) == one.ids.end());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.starts_with('C')) {
        read_claims(text.substr(1));
        return 0;
    }
    const auto entries = aliquot::pods::parse_checkpoint(text);
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
