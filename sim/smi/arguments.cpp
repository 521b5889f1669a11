// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/arguments.h"

#include "base/text.h"

namespace aliquot::sim::smi {

Error invalid(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

std::string upper(std::string text) {
    for (char& c : text) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    }
    return text;
}

std::vector<std::string> list_in(std::string_view text) {
    const auto parts = split_list(text);
    return {parts.begin(), parts.end()};
}

}  // namespace aliquot::sim::smi
