// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/manifest_object.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"

namespace aliquot::sim::cluster {

using document::Mark;
using document::Value;

namespace {

/// ", did you mean 'limits'?", or nothing when no known field is near.
std::string suggestion(std::string_view key, std::span<const std::string_view> known) {
    constexpr std::size_t kLongest = 64;
    return did_you_mean(key.size() > kLongest ? "" : nearest_word(key, known));
}

}  // namespace

std::string to_text(const Remark& remark) {
    if (remark.mark.line == 0) return remark.file + ": " + remark.message;
    return remark.file + ":" + std::to_string(remark.mark.line) + ":" +
           std::to_string(remark.mark.column) + ": " + remark.message;
}

void Diagnostics::problem(Mark mark, std::string message) {
    problems.push_back({.file = file_, .mark = mark, .message = std::move(message)});
}

void Diagnostics::note(Mark mark, std::string message) {
    notes.push_back({.file = file_, .mark = mark, .message = std::move(message)});
}

ObjectReader::ObjectReader(Diagnostics& report, const Value& node, std::string path,
                           std::span<const std::string_view> known)
    : report_(report), node_(node), path_(std::move(path)) {
    if (!node.is_mapping()) {
        expected(node, path_, "an object");
        return;
    }
    std::set<std::string_view> seen;
    for (const auto& entry : node.entries) {
        const Value& key = entry.first;
        if (!seen.insert(key.scalar).second) {
            report_.problem(key.mark, path_of(key.scalar) + ": the field is there twice");
        }
        if (!known.empty() && std::ranges::find(known, key.scalar) == known.end()) {
            report_.problem(
                key.mark, path_of(key.scalar) + ": unknown field" + suggestion(key.scalar, known));
        }
    }
}

const Value* ObjectReader::find(std::string_view key) const {
    const Value* const value = node_.find(key);
    return value == nullptr || value->kind == Value::Kind::kNull ? nullptr : value;
}

std::string ObjectReader::path_of(std::string_view key) const {
    if (key.empty()) return path_;
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

Mark ObjectReader::mark_of(std::string_view key) const {
    const Value* const value = node_.find(key);
    return value == nullptr ? node_.mark : value->mark;
}

void ObjectReader::expected(const Value& node, const std::string& path, std::string_view what) {
    const std::string subject = path.empty() ? std::string("the manifest") : path;
    report_.problem(node.mark,
                    subject + ": found " + describe(node) + ", expected " + std::string(what));
}

std::string ObjectReader::text(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->scalar;
    const bool scalar = !value->is_mapping() && !value->is_sequence();
    expected(*value, path_of(key), scalar ? "a string: put it in quotes" : "a string");
    return {};
}

std::string ObjectReader::required_text(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr || (value->is_string() && value->scalar.empty())) {
        complain(key, "is missing");
        return {};
    }
    return text(key);
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key, std::int64_t least,
                                                  std::int64_t most) {
    const Value* const value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto number = parse_number<std::int64_t>(value->scalar);
    const bool whole = value->kind == Value::Kind::kInteger && number;
    if (whole && *number >= least && *number <= most) return number;
    expected(*value, path_of(key),
             "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
}

std::vector<std::string> ObjectReader::texts(std::string_view key) {
    std::vector<std::string> result;
    const auto items = list(key);
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].is_string()) {
            expected(items[i], path_of(key) + "[" + std::to_string(i) + "]",
                     "a string: put it in quotes");
        }
        result.push_back(items[i].scalar);
    }
    return result;
}

std::map<std::string, std::string> ObjectReader::text_map(std::string_view key) {
    std::map<std::string, std::string> result;
    const Value* const value = mapping(key);
    if (value == nullptr) return result;
    ObjectReader members(report_, *value, path_of(key), {});
    for (const auto& entry : value->entries) {
        result[entry.first.scalar] = members.text(entry.first.scalar);
    }
    return result;
}

bool ObjectReader::boolean(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr) return false;
    if (value->kind != Value::Kind::kBool) expected(*value, path_of(key), "true or false");
    return value->scalar == "true";
}

std::span<const Value> ObjectReader::list(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr) return {};
    if (value->is_sequence()) return value->items;
    expected(*value, path_of(key), "a list");
    return {};
}

const Value* ObjectReader::mapping(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr || value->is_mapping()) return value;
    expected(*value, path_of(key), "an object");
    return nullptr;
}

const Value* ObjectReader::required_mapping(std::string_view key) {
    if (!has(key)) complain(key, "is missing");
    return mapping(key);
}

void ObjectReader::complain(std::string_view key, const std::string& message) {
    report_.problem(mark_of(key), path_of(key) + ": " + message);
}

}  // namespace aliquot::sim::cluster
