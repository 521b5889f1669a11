// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace aliquot::kube_client {

/// Whether `one` is surely older than `other`: both are decimal numbers (Kubernetes promises so
/// since 1.35 and has always done it) and it is the smaller. False when that cannot be said.
inline bool is_older(std::string_view one, std::string_view other) {
    const auto is_number = [](std::string_view text) {
        return !text.empty() && text.front() != '0' &&
               std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    if (!is_number(one) || !is_number(other)) return false;
    return one.size() != other.size() ? one.size() < other.size() : one < other;
}

}  // namespace aliquot::kube_client
