// SPDX-License-Identifier: Apache-2.0
// Any bytes as a body in protobuf: nothing crashes, and what comes out can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/apiserver/decode.h"
#include "sim/apiserver/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot::sim::apiserver;  // NOLINT
    const auto read = read_protobuf({reinterpret_cast<const char*>(data), size});
    if (!read) return 0;
    const auto again = parse_json(to_json(*read));
    if (!again) std::abort();
    const auto* const type = TypeTable::built_in().find("core.v1.Pod");
    static_cast<void>(decode_built_in(again->value, *type));
    return 0;
}
