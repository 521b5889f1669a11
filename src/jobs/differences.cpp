// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/sentence.h"
#include "document/json.h"
#include "jobs/read.h"

namespace aliquot::jobs {
namespace {

std::string told(const document::Value* value) {
    constexpr std::size_t kMost = 60;
    return value == nullptr ? "its default" : one_line(document::to_json_line(*value), kMost);
}

bool is_same(const document::Value* a, const document::Value* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return document::to_json_line(*a) == document::to_json_line(*b);
}

}  // namespace

std::vector<std::string> differences(const Request& before, const Request& now) {
    const auto old_fields = to_document(before, Secrets::kTell);
    const auto new_fields = to_document(now, Secrets::kTell);
    std::set<std::string> keys;
    for (const auto& entry : old_fields.entries) keys.insert(entry.first.scalar);
    for (const auto& entry : new_fields.entries) keys.insert(entry.first.scalar);
    std::vector<std::string> found;
    for (const std::string& key : keys) {
        const auto* const was = old_fields.find(key);
        const auto* const is = new_fields.find(key);
        if (is_same(was, is)) continue;
        found.push_back(key == "env" ? "env: other variables than before"
                                     : key + ": " + told(was) + " before, " + told(is) + " now");
    }
    return found;
}

}  // namespace aliquot::jobs
