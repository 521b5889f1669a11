// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/pair_list.h"

#include <algorithm>

#include "base/text.h"
#include "sim/trace/csv.h"

namespace aliquot::sim::trace {
namespace {

constexpr std::size_t kMostPairs = 64;

}  // namespace

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        parts.push_back(trim(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

Result<Pairs> parse_pairs(std::string_view text, const char* lone) {
    Pairs pairs;
    for (const std::string_view part : parts_of(text, ';')) {
        if (part.empty()) continue;
        const std::size_t equals = part.find('=');
        if (equals == 0 || (equals == std::string_view::npos && lone == nullptr)) {
            return Error{ErrorCode::kInvalidInput,
                         shown(part) + " is not a key=value; pairs are separated by ;"};
        }
        std::string key(trim(part.substr(0, equals)));
        const auto same = [&](const auto& pair) { return pair.first == key; };
        if (std::any_of(pairs.begin(), pairs.end(), same)) {
            return Error{ErrorCode::kInvalidInput, "the key " + shown(key) + " stands there twice"};
        }
        if (pairs.size() == kMostPairs) {
            return Error{ErrorCode::kInvalidInput,
                         "at most " + std::to_string(kMostPairs) + " pairs were expected"};
        }
        pairs.emplace_back(std::move(key), equals == std::string_view::npos
                                               ? std::string(lone)
                                               : std::string(trim(part.substr(equals + 1))));
    }
    return pairs;
}

}  // namespace aliquot::sim::trace
