// SPDX-License-Identifier: Apache-2.0
#include "pools/read_fields.h"

#include <algorithm>
#include <set>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"

namespace aliquot::pools {

using document::Mark;
using document::Value;

Fields::Fields(const Value& node, std::string path, std::initializer_list<std::string_view> known,
               std::vector<Problem>& problems)
    : node_(node), path_(std::move(path)), problems_(problems) {
    if (!node.is_mapping()) {
        problems_.push_back({node.mark, (path_.empty() ? std::string("the document") : path_) +
                                            ": " + one_line(describe(node), 80) +
                                            " found, a mapping expected"});
        return;
    }
    std::set<std::string_view> seen;
    for (const auto& [key, value] : node.entries) {
        if (!seen.insert(key.scalar).second) {
            problems_.push_back({key.mark, path_of(key.scalar) + ": the key is there twice"});
        }
        if (std::ranges::find(known, key.scalar) != known.end()) continue;
        const std::vector<std::string_view> words(known);
        problems_.push_back({key.mark, path_of(one_line(key.scalar, 60)) + ": no such key" +
                                           did_you_mean(nearest_word(key.scalar, words)) +
                                           "; expected one of " + join(words)});
    }
}

const Value* Fields::find(std::string_view key) const {
    const Value* const found = node_.find(key);
    return found == nullptr || found->kind == Value::Kind::kNull ? nullptr : found;
}

Mark Fields::mark_of(std::string_view key) const {
    const Value* const found = node_.find(key);
    return found == nullptr ? node_.mark : found->mark;
}

std::string Fields::path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void Fields::error(std::string_view key, const std::string& message) {
    problems_.push_back({mark_of(key), path_of(key) + ": " + message});
}

void Fields::warning(std::string_view key, const std::string& message) {
    problems_.push_back({mark_of(key), path_of(key) + ": " + message, true});
}

void Fields::missing(std::string_view key, const std::string& message) {
    if (node_.is_mapping()) problems_.push_back({node_.mark, path_of(key) + ": " + message});
}

void Fields::wrong(std::string_view key, const Value& value, const std::string& expected) {
    error(key, one_line(describe(value), 80) + " found, " + expected + " expected");
}

std::optional<std::string> Fields::text(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_mapping() || value->is_sequence()) {
        wrong(key, *value, "a text");
        return std::nullopt;
    }
    return value->scalar;
}

std::optional<unsigned> Fields::number(std::string_view key, unsigned least, unsigned most) {
    const Value* const value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto read =
        value->kind == Value::Kind::kInteger ? parse_number<unsigned>(value->scalar) : std::nullopt;
    if (!read || *read < least || *read > most) {
        wrong(key, *value,
              "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
        return std::nullopt;
    }
    return read;
}

std::optional<std::chrono::seconds> Fields::duration(std::string_view key,
                                                     std::chrono::seconds most) {
    const Value* const value = find(key);
    if (value == nullptr) return std::nullopt;
    // A plain number is what other tools' keys count in seconds.
    const bool plain = value->kind == Value::Kind::kInteger;
    const auto read = value->is_mapping() || value->is_sequence()
                          ? std::nullopt
                          : parse_duration(plain ? value->scalar + "s" : value->scalar);
    if (!read || *read > most) {
        wrong(
            key, *value,
            "a duration as 90s, 5m or 12h, at most " + std::to_string(most.count() / 3600) + "h,");
        return std::nullopt;
    }
    return std::chrono::ceil<std::chrono::seconds>(*read);
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view key, std::size_t most) {
    const Value* const value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto is_text = [](const Value& item) {
        return !item.is_mapping() && !item.is_sequence() && !item.scalar.empty();
    };
    if (!value->is_sequence() || !std::ranges::all_of(value->items, is_text)) {
        wrong(key, *value, "a list of texts");
        return std::nullopt;
    }
    if (value->items.size() > most) {
        error(key, counted(value->items.size(), "entry") + " found, at most " +
                       std::to_string(most) + " expected");
        return std::nullopt;
    }
    std::vector<std::string> all;
    for (const Value& item : value->items) all.push_back(item.scalar);
    return all;
}

std::optional<std::size_t> Fields::word(std::string_view key,
                                        std::initializer_list<std::string_view> words) {
    const auto found = text(key);
    if (!found) return std::nullopt;
    const auto* const at = std::ranges::find(words, *found);
    if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
    const std::vector<std::string_view> all(words);
    error(key, "'" + one_line(*found, 40) + "' found, one of " + join(all) + " expected" +
                   did_you_mean(nearest_word(*found, all)));
    return std::nullopt;
}

}  // namespace aliquot::pools
