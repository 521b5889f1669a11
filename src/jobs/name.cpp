// SPDX-License-Identifier: Apache-2.0
#include "jobs/name.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "document/json.h"
#include "jobs/read.h"

namespace aliquot::jobs {
namespace {

constexpr std::size_t kMostName = 63;
constexpr std::size_t kHashPart = 9;  // with the '-'

/// FNV-1a, 64 bits folded into 32. source: draft-eastlake-fnv
std::uint32_t fingerprint(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

std::string cut_dashes(std::string text) {
    while (text.ends_with('-') || text.ends_with('.') || text.ends_with('_')) text.pop_back();
    return text;
}

/// In lower case, with '-' for what is no letter and no digit.
std::string dashed(std::string_view text) {
    std::string made;
    for (const char c : text) {
        const char small = lower(c);
        made += is_digit(small) || is_letter(small) ? small : '-';
    }
    return made;
}

}  // namespace

std::string dns_label(std::string_view text) {
    std::string label = dashed(text);
    label.erase(0, std::min(label.find_first_not_of('-'), label.size()));
    label = cut_dashes(label.substr(0, kMostName));
    return label.empty() ? "job" : label;
}

std::string job_name(const Request& request) {
    if (!request.name.empty()) return request.name;
    std::string name = "gpu-" + dashed(request.task_id);
    name.resize(std::min(name.size(), kMostName - kHashPart));
    std::array<char, 16> hash{};
    std::snprintf(hash.data(), hash.size(), "-%08x",
                  fingerprint(document::to_json_line(to_document(request, Secrets::kTell))));
    return cut_dashes(std::move(name)) + hash.data();
}

std::string label_value(std::string_view text) {
    std::string value;
    for (const char c : text) {
        const bool fine = is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.';
        if (value.empty() && !is_digit(c) && !is_letter(c)) continue;
        value += fine ? c : '-';
        if (value.size() == kMostName) break;
    }
    return cut_dashes(std::move(value));
}

}  // namespace aliquot::jobs
