// SPDX-License-Identifier: Apache-2.0
// Any bytes as an order file: nothing crashes, an error names a place inside the text, and what was
// read names only rows that exist and every rank once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "csv_place.h"
#include "sim/trace/order.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kNodes = 4;
    constexpr std::size_t kTasks = 3;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto order = aliquot::sim::trace::read_order("f", text, kNodes, kTasks);
    if (!order) {
        aliquot::expect_place_inside(order.error().message, text);
        return 0;
    }
    aliquot::expect(!order->arrivals.empty());
    for (const auto row : order->arrivals) aliquot::expect(row < kTasks);
    std::vector<std::uint32_t> ranks = order->ranks;
    std::sort(ranks.begin(), ranks.end());
    aliquot::expect(ranks.empty() || ranks.size() == kNodes);
    for (std::size_t i = 0; i < ranks.size(); ++i) aliquot::expect(ranks[i] == i);
    return 0;
}
