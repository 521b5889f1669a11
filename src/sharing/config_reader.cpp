// SPDX-License-Identifier: Apache-2.0
#include "sharing/config_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/number.h"
#include "base/text.h"
#include "document/write.h"

namespace aliquot::sharing {
namespace {

/// What YAML 1.1, which NVIDIA's plugin reads, takes for a bool.
std::optional<bool> old_bool(const Value& node) {
    if (node.quoted || node.kind != Value::Kind::kString) return std::nullopt;
    for (const std::string_view word : {"y", "yes", "on"}) {
        if (same_letters(node.scalar, word)) return true;
    }
    for (const std::string_view word : {"n", "no", "off"}) {
        if (same_letters(node.scalar, word)) return false;
    }
    return std::nullopt;
}

}  // namespace

void Reader::report(Mark mark, std::string_view rule, findings::Severity severity,
                    std::string message, Advice advice) {
    // An error must not get lost: without one the configuration would count as good.
    if (full() && (severity != findings::Severity::kError || failed())) return;
    constexpr std::size_t kLongestMessage = 500;
    constexpr std::size_t kLongestFix = 4000;
    if (message.size() > kLongestMessage) {
        std::size_t end = kLongestMessage;
        while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0U) == 0x80U) --end;
        message.resize(end);
        message += "...";
    }
    if (advice.fix.size() > kLongestFix) advice.fix.clear();
    findings_.push_back({file_, mark.line, mark.column, std::string(rule), severity,
                         std::move(message), std::move(advice.expected), std::move(advice.fix)});
}

void Reader::set_root(const Value* root) {
    root_ = root;
    corrected_.reset();
}

const std::string& Reader::corrected() {
    if (!corrected_) corrected_ = root_ == nullptr ? "" : corrected_sharing(*root_);
    return *corrected_;
}

bool Reader::full() const {
    constexpr std::size_t kMostFindings = 500;
    return findings_.size() >= kMostFindings;
}

void Reader::error(Mark mark, std::string_view rule, std::string message, Advice advice) {
    report(mark, rule, findings::Severity::kError, std::move(message), std::move(advice));
}

void Reader::warning(Mark mark, std::string_view rule, std::string message, Advice advice) {
    report(mark, rule, findings::Severity::kWarning, std::move(message), std::move(advice));
}

void Reader::info(Mark mark, std::string_view rule, std::string message, Advice advice) {
    report(mark, rule, findings::Severity::kInfo, std::move(message), std::move(advice));
}

void Reader::refuse(Mark mark, std::string_view rule, std::string message, std::string_view does,
                    Advice advice) {
    if (strict_) {
        error(mark, rule, std::move(message), std::move(advice));
        return;
    }
    message += "; NVIDIA's plugin " + std::string(does);
    warning(mark, rule, std::move(message), std::move(advice));
}

std::vector<findings::Finding> Reader::take_findings() {
    findings::sort(findings_);
    return std::exchange(findings_, {});
}

const Value* Fields::find(std::string_view key) const {
    const auto found = fields_.find(key);
    if (found == fields_.end() || found->second.value->kind == Value::Kind::kNull) return nullptr;
    return found->second.value;
}

Mark Fields::key_mark(std::string_view key) const {
    const auto found = fields_.find(key);
    return found == fields_.end() ? mark : found->second.key;
}

std::string Fields::path_of(std::string_view key) const {
    return path.empty() ? std::string(key) : path + '.' + std::string(key);
}

const Value* find_any_case(const Value& mapping, std::string_view key) {
    for (const auto& [name, value] : mapping.entries) {
        if (name.items.empty() && name.entries.empty() && same_letters(name.scalar, key)) {
            return &value;
        }
    }
    return nullptr;
}

std::string join_words(std::span<const std::string_view> words) {
    std::string joined;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i != 0) joined += i + 1 == words.size() ? " or " : ", ";
        joined += words[i];
    }
    return joined;
}

void complain_type(Reader& reader, const Value& node, std::string_view path,
                   std::string_view expected, std::string fix) {
    reader.error(node.mark, rule::kType,
                 "'" + std::string(path) + "' is " + document::describe(node),
                 {std::string(expected), std::move(fix)});
}

std::optional<bool> read_bool(Reader& reader, const Fields& fields, std::string_view key) {
    const Value* node = fields.find(key);
    if (node == nullptr) return std::nullopt;
    if (node->kind == Value::Kind::kBool) return lower(node->scalar.front()) == 't';
    const auto old = old_bool(*node);
    if (old && !reader.strict()) return *old;
    std::string fix;
    std::string expected = "true or false";
    if (old) {
        fix = std::string(key) + (*old ? ": true" : ": false");
        expected = std::string("write ") + (*old ? "true" : "false") +
                   ": YAML 1.1 takes this word for a bool, YAML 1.2 for a text";
    } else if (same_letters(node->scalar, "true") || same_letters(node->scalar, "false")) {
        fix = std::string(key) + (lower(node->scalar.front()) == 't' ? ": true" : ": false");
        expected = "true or false, without quotes";
    }
    complain_type(reader, *node, fields.path_of(key), expected, fix);
    return std::nullopt;
}

std::optional<std::string> read_text(Reader& reader, const Fields& fields, std::string_view key) {
    const Value* node = fields.find(key);
    if (node == nullptr) return std::nullopt;
    const bool scalar = !node->is_mapping() && !node->is_sequence();
    // NVIDIA's reader makes a text of any scalar where it wants one.
    if (node->is_string() || (scalar && !reader.strict())) return node->scalar;
    complain_type(reader, *node, fields.path_of(key), "a text",
                  scalar ? std::string(key) + ": \"" + node->scalar + '"' : "");
    return std::nullopt;
}

std::optional<std::string> read_path(Reader& reader, const Fields& fields, std::string_view key) {
    auto path = read_text(reader, fields, key);
    if (!path || path->empty() || path->front() == '/' || !reader.strict()) return path;
    reader.error(fields.find(key)->mark, rule::kWord,
                 "'" + fields.path_of(key) + "' is '" + *path + "', which is not an absolute path",
                 {"a path that begins with /", std::string(key) + ": /" + *path});
    return std::nullopt;
}

std::optional<std::int64_t> integer_of(const Value& node, bool strict) {
    if (node.kind != Value::Kind::kInteger) return std::nullopt;
    std::string_view digits = node.scalar;
    const bool minus = digits.front() == '-';
    if (minus || digits.front() == '+') digits.remove_prefix(1);
    int base = 10;
    if (digits.size() > 1 && digits.front() == '0') {
        if (digits[1] == 'x' || digits[1] == 'o') {
            base = digits[1] == 'x' ? 16 : 8;
            digits.remove_prefix(2);
        } else if (strict) {
            return std::nullopt;  // 010 is 8 to YAML 1.1 and 10 to YAML 1.2
        } else {
            base = 8;
        }
    }
    const auto value = parse_number<std::int64_t>(digits, base);
    return value && minus ? -*value : value;
}

std::optional<std::size_t> word_of(Reader& reader, const Value& node, std::string_view path,
                                   std::span<const std::string_view> words) {
    const std::string allowed = join_words(words);
    if (!node.is_string()) {
        complain_type(reader, node, path, allowed, "");
        return std::nullopt;
    }
    const auto found = std::find(words.begin(), words.end(), node.scalar);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    const std::string_view near = nearest_word(node.scalar, words);
    const std::string_view key = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
    reader.error(
        node.mark, rule::kWord, "'" + std::string(path) + "' is " + document::describe(node),
        {allowed, near.empty() || key.back() == ']' ? std::string(near)
                                                    : std::string(key) + ": " + std::string(near)});
    return std::nullopt;
}

std::optional<std::size_t> read_word(Reader& reader, const Fields& fields, std::string_view key,
                                     std::span<const std::string_view> words) {
    const Value* node = fields.find(key);
    if (node == nullptr) return std::nullopt;
    return word_of(reader, *node, fields.path_of(key), words);
}

}  // namespace aliquot::sharing
