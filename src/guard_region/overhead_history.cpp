// SPDX-License-Identifier: Apache-2.0
#include "guard_region/overhead_history.h"

#include <algorithm>

#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

bool has_context(const LedgerView& ledger, const SlotTruth& truth, const std::string& uuid) {
    const auto name = parse_uuid(uuid);
    const auto place = name ? ledger.place_of(*name) : std::nullopt;
    const SlotView* const slot = ledger.find(truth.slot, truth.owner);
    return place && slot != nullptr && slot->devices[*place].contexts > 0;
}

}  // namespace

void OverheadHistory::smooth(const std::string& region, const LedgerView& ledger,
                             const std::vector<std::string>& uuids,
                             std::vector<SlotTruth>& truths) {
    for (SlotTruth& truth : truths) {
        Process& process = processes_[{region, truth.slot, truth.owner}];
        process.seen = true;
        for (std::size_t i = 0; i < uuids.size() && i < truth.overhead_bytes.size(); ++i) {
            auto& bytes = truth.overhead_bytes[i];
            if (!has_context(ledger, truth, uuids[i])) process.devices.erase(i);
            if (!bytes || *bytes == abi::kNotMeasured) continue;
            Figures& figures = process.devices[i];
            figures.bytes[figures.count++ % kLooks] = *bytes;
            bytes = *std::ranges::max_element(figures.bytes);
        }
    }
}

void OverheadHistory::end_look() {
    std::erase_if(processes_, [](auto& entry) { return !entry.second.seen; });
    for (auto& [key, process] : processes_) process.seen = false;
}

}  // namespace aliquot::guard_region
