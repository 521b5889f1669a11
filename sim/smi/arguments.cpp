// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/arguments.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace aliquot::sim::smi {

Error invalid(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t start = 0;
    while (start <= text.size()) {
        const auto comma = std::min(text.find(',', start), text.size());
        std::string part = text.substr(start, comma - start);
        part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
        part.erase(part.find_last_not_of(' ') + 1);
        if (!part.empty()) parts.push_back(std::move(part));
        start = comma + 1;
    }
    return parts;
}

std::optional<unsigned> number(const std::string& text) {
    unsigned value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace aliquot::sim::smi
