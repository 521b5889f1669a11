// SPDX-License-Identifier: Apache-2.0
// Any bytes as a node list: nothing crashes, an error names a place inside the text, and what was
// read is within the limits that the engine expects.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "csv_place.h"
#include "sim/trace/node_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto list = aliquot::sim::trace::read_node_list("f", text);
    if (!list) {
        aliquot::expect_place_inside(list.error().message, text);
        return 0;
    }
    aliquot::expect(!list->nodes.empty() && list->capacity_milli() >= 0);
    for (const auto& node : list->nodes) {
        aliquot::expect(!node.name.empty() && node.cpu_milli >= 0 && node.memory_mib >= 0);
        aliquot::expect(node.devices <= aliquot::placement::kMostDevices);
        aliquot::expect((node.devices == 0) == node.model.empty());
    }
    aliquot::sim::trace::fill_gpu_memory(*list);
    return 0;
}
