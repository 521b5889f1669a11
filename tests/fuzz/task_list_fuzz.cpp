// SPDX-License-Identifier: Apache-2.0
// Any bytes as a task list: nothing crashes, an error names a place inside the text, and every
// request that was read is one that the engine accepts.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "csv_place.h"
#include "sim/trace/task_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto list = aliquot::sim::trace::read_task_list("f", text, nullptr);
    if (!list) {
        aliquot::expect_place_inside(list.error().message, text);
        return 0;
    }
    aliquot::expect(!list->tasks.empty() && list->gpu_milli() >= 0);
    for (const auto& task : list->tasks) {
        aliquot::expect(!task.name.empty() && task.count >= 1 && task.weight >= 0);
        aliquot::expect(!task.deletion || *task.deletion >= task.creation);
        const auto again = aliquot::placement::checked(task.request);
        aliquot::expect(again.ok() && *again == task.request);
    }
    return 0;
}
