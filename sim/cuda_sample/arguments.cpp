// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda_sample/arguments.h"

#include <string>
#include <string_view>

#include "base/number.h"
#include "k8s/memory_amount.h"

namespace aliquot::sim {
namespace {

Result<std::uint64_t> number(std::string_view option, std::string_view text) {
    if (const auto value = parse_number<std::uint64_t>(text)) return *value;
    return Error{ErrorCode::kInvalidInput, std::string(option) + ": '" + std::string(text) +
                                               "' is not a number; expected one, as 100"};
}

}  // namespace

Result<SampleArguments> read_arguments(std::span<const char* const> words) {
    SampleArguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view option = words[i];
        if (option == "-h" || option == "--help") {
            arguments.help = true;
            continue;
        }
        if (option == "--hold") {
            arguments.hold = true;
            continue;
        }
        const bool known = option == "--memory" || option == "--kernels" || option == "--spin" ||
                           option == "--for";
        if (!known || i + 1 == words.size()) {
            return Error{ErrorCode::kInvalidInput,
                         known ? std::string(option) + " needs a value"
                               : "there is no option '" + std::string(option) +
                                     "'; expected --memory, --kernels, --spin, --for or --hold"};
        }
        const std::string_view text = words[++i];
        if (option == "--memory") {
            const auto bytes = k8s::parse_bytes(text);
            if (!bytes) return bytes.error();
            arguments.memory_bytes = *bytes;
            continue;
        }
        const auto value = number(option, text);
        if (!value) return value.error();
        if (option == "--kernels") arguments.kernels = *value;
        if (option == "--spin") arguments.spin_ns = *value;
        if (option == "--for") arguments.hold_seconds = *value;
    }
    return arguments;
}

}  // namespace aliquot::sim
