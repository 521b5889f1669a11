// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cel/evaluate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using aliquot::cel::Map;
    using aliquot::cel::Value;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto expression = aliquot::cel::Expression::parse(text, {"device"});
    if (!expression) return expression.error().message.empty() ? -1 : 0;
    Map attributes{{{"index", Value(std::int64_t{4})}, {"type", Value("gpu")}}};
    Map domains{{{"gpu.example.com", Value(std::move(attributes))}}, true};
    Map device{{{"driver", Value("gpu.example.com")}, {"attributes", Value(std::move(domains))}}};
    const auto value =
        aliquot::cel::evaluate(*expression, {{"device", Value(std::move(device))}}, 20'000);
    return value || !value.error().message.empty() ? 0 : -1;
}
