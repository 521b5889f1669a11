// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "base/json_text.h"
#include "base/number.h"
#include "bundle/bundle.h"
#include "bundle/entry_kind.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::bundle {
namespace {

using document::is_true;
using document::text_at;
using document::Value;

constexpr std::array<std::pair<Entry::Kind, std::string_view>, 6> kKinds{
    {{Entry::Kind::kFile, "file"},
     {Entry::Kind::kDirectory, "directory"},
     {Entry::Kind::kLink, "link"},
     {Entry::Kind::kDevice, "device"},
     {Entry::Kind::kSocket, "socket"},
     {Entry::Kind::kUnreadable, "unreadable"}}};

}  // namespace

std::string_view word_of(Entry::Kind kind) {
    return kKinds.at(static_cast<std::size_t>(kind)).second;
}

Entry::Kind kind_of(std::string_view word) {
    const auto* const found =
        std::ranges::find(kKinds, word, &std::pair<Entry::Kind, std::string_view>::second);
    return found == kKinds.end() ? Entry::Kind::kFile : found->first;
}

namespace {

std::string hex_text(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 0xfU];
    }
    return text;
}

std::string bytes_of(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(parse_hex(hex.substr(i, 2)).value_or(0));
    }
    return bytes;
}

}  // namespace

std::string facts_to_json(const Tree& tree) {
    std::string text = "{\"schemaVersion\":\"1\",\"tool\":\"aliquot " ALIQUOT_VERSION
                       "\",\"taken\":" +
                       std::to_string(tree.taken_s) +
                       ",\"complete\":" + (tree.complete ? "true" : "false") + ",\"entries\":[";
    bool first = true;
    for (const auto& [path, entry] : tree.entries()) {
        text += first ? "\n{" : ",\n{";
        first = false;
        text += "\"path\":" + json_quoted(path) + ",\"kind\":" + json_quoted(word_of(entry.kind));
        if (entry.modified_s != 0) text += ",\"modified\":" + std::to_string(entry.modified_s);
        if (entry.cut) text += ",\"cut\":true";
        const std::string plain = json_quoted(entry.content);
        const bool whole = !plain.contains("\xef\xbf\xbd");
        text += whole ? ",\"text\":" + plain : ",\"hex\":" + json_quoted(hex_text(entry.content));
        text += "}";
    }
    return text + "\n]}\n";
}

Result<Tree> facts_from_json(std::string_view text) {
    const auto root = document::parse_json(text);
    if (!root) return Error(root.error()).during("facts");
    const Value* const entries = root->find("entries");
    if (entries == nullptr || !entries->is_sequence()) {
        return Error{ErrorCode::kInvalidInput,
                     "facts: no list \"entries\": not a file that `aliquot doctor --save` wrote"};
    }
    const std::string schema = text_at(*root, {"schemaVersion"});
    if (!schema.empty() && schema != "1") {
        return Error{ErrorCode::kInvalidInput, "facts: schemaVersion '" + schema +
                                                   "' found, 1 expected: a newer aliquot wrote it"};
    }
    if (entries->items.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "facts: the list \"entries\" is empty: nothing was saved"};
    }
    Tree tree;
    tree.complete = is_true(root->find("complete"));
    tree.taken_s = parse_number<std::int64_t>(text_at(*root, {"taken"})).value_or(0);
    for (const Value& item : entries->items) {
        const std::string path = text_at(item, {"path"});
        const Value* const given = item.find("path");
        if (path.empty() || !given->is_string()) {
            return Error{ErrorCode::kInvalidInput, "facts: line " + std::to_string(item.mark.line) +
                                                       ": an entry without a path"};
        }
        Entry entry{.kind = kind_of(text_at(item, {"kind"}))};
        const Value* const hex = item.find("hex");
        entry.content = hex != nullptr ? bytes_of(hex->scalar) : text_at(item, {"text"});
        entry.modified_s = parse_number<std::int64_t>(text_at(item, {"modified"})).value_or(0);
        entry.cut = is_true(item.find("cut"));
        tree.add(path, std::move(entry));
    }
    return tree;
}

}  // namespace aliquot::bundle
