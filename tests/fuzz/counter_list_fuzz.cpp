// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "exposition/counter_list.h"

/// Each counter is of the catalogue and stands once; a refusal names a place; nothing is kept of
/// more lines than there are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto list = aliquot::exposition::parse_counters("f", text);
    if (!list) {
        if (!list.error().message.starts_with("f:")) __builtin_trap();
        return 0;
    }
    for (const auto& counter : list->counters) {
        if (counter.family == nullptr ||
            (counter.name != counter.family->name && counter.name != counter.family->old)) {
            __builtin_trap();
        }
    }
    if (list->counters.size() + list->labels.size() > size) __builtin_trap();
    for (std::size_t one = 0; one < list->counters.size(); ++one) {
        for (std::size_t other = 0; other < one; ++other) {
            if (list->counters[one].name == list->counters[other].name) __builtin_trap();
        }
    }
    return 0;
}
