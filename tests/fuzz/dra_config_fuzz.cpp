// SPDX-License-Identifier: Apache-2.0
// Any text as opaque.parameters of a claim: it is read or refused with one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "document/json.h"
#include "dra/gpu_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto value = aliquot::document::parse_json({reinterpret_cast<const char*>(data), size});
    if (!value) return 0;
    const auto config = aliquot::dra::read_gpu_config(*value);
    if (config) {
        const auto& limits = config->limits;
        if (limits.memory_bytes && *limits.memory_bytes == 0) std::abort();
        if (limits.compute_percent &&
            (*limits.compute_percent < 1 || *limits.compute_percent > 100))
            std::abort();
        if (limits.weight && (*limits.weight < 1 || *limits.weight > 10'000)) std::abort();
    } else if (config.error().message.empty()) {
        std::abort();
    }
    return 0;
}
