// SPDX-License-Identifier: Apache-2.0
// resource "kubernetes_..." of Terraform as the objects that they make.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "syntax/hcl_names.h"
#include "syntax/words.h"
#include "syntax/written_objects.h"

namespace aliquot::syntax {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;
constexpr int kDeepestBlock = 30;

class HclReader {
public:
    explicit HclReader(const Block& block) : block_(block), text_(block.text) {}

    std::vector<WrittenObject> read() {
        constexpr std::string_view kBegin = "resource \"";
        constexpr std::size_t kMost = 200;
        constexpr std::size_t kLongest = 32U << 10U;
        const std::string_view whole = text_;
        std::vector<WrittenObject> found;
        for (std::size_t at = whole.find(kBegin); at != kNowhere && found.size() < kMost;
             at = whole.find(kBegin, at + 1)) {
            text_ = whole.substr(0, at + kLongest);              // no object is longer
            const std::size_t line = text_.rfind('\n', at) + 1;  // npos + 1 is 0
            if (!trim(text_.substr(line, at - line)).empty()) continue;
            const std::size_t name = at + kBegin.size();
            const std::size_t end = text_.find('"', name);
            if (end == kNowhere) break;
            std::string_view resource = text_.substr(name, end - name);
            if (resource.ends_with("_v1")) resource.remove_suffix(3);
            const HclKind* made = find_hcl_kind(resource);
            if (made == nullptr) continue;
            at_ = text_.find('{', end);
            if (at_ == kNowhere || text_.substr(end, at_ - end).find('\n') != kNowhere) continue;
            ++at_;
            gaps_ = false;
            broken_ = false;
            Value body;
            if (!read_body(body, "", 0)) continue;
            Value object = finished(*made, at, body);
            if (object.entries.size() > 2) found.push_back({std::move(object), gaps_});
        }
        return found;
    }

private:
    Value finished(const HclKind& made, std::size_t at, Value& body);
    bool read_body(Value& mapping, std::string_view outer, int depth);
    bool read_block(Value& mapping, std::string_view name, std::size_t begin,
                    std::string_view outer, int depth);
    bool read_value(Value& value, int depth);
    bool read_list(Value& list, int depth);
    bool read_map(Value& mapping, int depth);
    bool skip_expression();
    bool skip_heredoc();
    std::size_t end_of_string(std::size_t quote) const;
    void skip_blanks(bool lines);
    char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    std::string_view read_name();

    const Block& block_;
    std::string_view text_;
    std::size_t at_ = 0;
    bool gaps_ = false;
    bool broken_ = false;  // no use to go on
};

/// Spaces, line ends and comments.
void HclReader::skip_blanks(bool lines) {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '#' || text_.substr(at_, 2) == "//") {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (text_.substr(at_, 2) == "/*") {
            const auto end = text_.find("*/", at_);
            at_ = end == kNowhere ? text_.size() : end + 2;
        } else if (c == ' ' || c == '\t' || (lines && c == '\n')) {
            ++at_;
        } else {
            return;
        }
    }
}

std::string_view HclReader::read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '-')) {
        ++at_;
    }
    return text_.substr(begin, at_ - begin);
}

/// Of a string that begins at `quote`, `${ "..." }` in it passed over; npos: it has no end.
std::size_t HclReader::end_of_string(std::size_t quote) const {
    int level = 0;
    for (std::size_t i = quote + 1; i < text_.size() && text_[i] != '\n'; ++i) {
        if (text_[i] == '\\') {
            ++i;
        } else if (text_.substr(i, 2) == "${" || text_.substr(i, 2) == "%{") {
            ++level;
            ++i;
        } else if (text_[i] == '}' && level > 0) {
            --level;
        } else if (text_[i] == '"' && level == 0) {
            return i;
        }
    }
    return kNowhere;
}

bool HclReader::skip_heredoc() {
    const auto newline = text_.find('\n', at_);
    if (newline == kNowhere) return false;
    std::string_view word = trim(text_.substr(at_ + 2, newline - at_ - 2));
    if (word.starts_with("-")) word.remove_prefix(1);
    if (word.empty()) return false;
    for (std::size_t begin = newline + 1; begin < text_.size();) {
        const auto end = std::min(text_.find('\n', begin), text_.size());
        if (trim(text_.substr(begin, end - begin)) == word) {
            at_ = end;
            return true;
        }
        begin = end + 1;
    }
    return false;
}

/// Up to what ends a value: the end of the line, a comma or a bracket that it did not open.
bool HclReader::skip_expression() {
    int level = 0;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"') {
            const auto end = end_of_string(at_);
            if (end == kNowhere) return false;
            at_ = end;
        } else if (text_.substr(at_, 2) == "<<" && level == 0) {
            return skip_heredoc();
        } else if (c == '{' || c == '[' || c == '(') {
            ++level;
        } else if (c == '}' || c == ']' || c == ')') {
            if (level-- == 0) return true;
        } else if (level == 0 && (c == '\n' || c == ',')) {
            return true;
        }
        ++at_;
    }
    return level == 0;
}

bool HclReader::read_value(Value& value, int depth) {
    if (depth > kDeepestBlock) broken_ = true;
    if (broken_) return false;
    const std::size_t begin = at_;
    bool plain = false;
    if (here() == '"') {
        const auto end = end_of_string(begin);
        if (end == kNowhere) return false;
        value = written_scalar(block_, begin, std::string(text_.substr(begin + 1, end - begin - 1)),
                               Value::Kind::kString);
        at_ = end + 1;
        plain = true;
    } else if (here() == '[') {
        plain = read_list(value, depth + 1);
    } else if (here() == '{') {
        plain = read_map(value, depth + 1);
    } else {
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                      text_[at_] == '.' || text_[at_] == '-')) {
            ++at_;
        }
        const std::string_view word = text_.substr(begin, at_ - begin);
        const Value::Kind kind = kind_of_word(word);
        plain = !word.empty() && kind != Value::Kind::kString;
        if (plain) value = written_scalar(block_, begin, std::string(word), kind);
    }
    if (plain) {
        skip_blanks(false);
        if (at_ >= text_.size() || std::string_view("\n,}]").find(here()) != kNowhere) return true;
    }
    at_ = begin;
    if (broken_ || !skip_expression()) {
        broken_ = true;  // what is around it has no end either
        return false;
    }
    const std::string_view written =
        trim(text_.substr(begin, std::min(at_ - begin, std::size_t{80})));
    value = {};
    value = written_scalar(block_, begin,
                           "${" + std::string(written.substr(0, written.find('\n'))) + "}",
                           Value::Kind::kString);
    return true;
}

bool HclReader::read_list(Value& list, int depth) {
    list = {};
    list.kind = Value::Kind::kSequence;
    list.mark = block_.place(at_);
    ++at_;
    for (;;) {
        skip_blanks(true);
        if (here() == ']') {
            ++at_;
            return true;
        }
        if (text_.substr(at_, 4) == "for ") return false;
        Value item;
        const std::size_t begin = at_;
        if (at_ >= text_.size() || !read_value(item, depth) || at_ == begin) return false;
        list.items.push_back(std::move(item));
        skip_blanks(true);
        if (here() == ',') ++at_;
    }
}

bool HclReader::read_map(Value& mapping, int depth) {
    mapping = {};
    mapping.kind = Value::Kind::kMapping;
    mapping.mark = block_.place(at_);
    ++at_;
    for (;;) {
        skip_blanks(true);
        if (here() == '}') {
            ++at_;
            return true;
        }
        if (text_.substr(at_, 4) == "for ") return false;
        const std::size_t begin = at_;
        std::string key;
        if (here() == '"') {
            const auto end = end_of_string(at_);
            if (end == kNowhere) return false;
            key = std::string(text_.substr(at_ + 1, end - at_ - 1));
            at_ = end + 1;
        } else {
            key = std::string(read_name());
        }
        skip_blanks(false);
        if (key.empty() || (here() != '=' && here() != ':')) return false;
        ++at_;
        skip_blanks(false);
        Value value;
        if (!read_value(value, depth)) return false;
        add_written(block_, mapping, begin, std::move(key), std::move(value));
        skip_blanks(true);
        if (here() == ',') ++at_;
    }
}

bool HclReader::read_block(Value& mapping, std::string_view name, std::size_t begin,
                           std::string_view outer, int depth) {
    std::string_view label;
    while (here() == '"') {
        const auto end = end_of_string(at_);
        if (end == kNowhere) return false;
        label = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        skip_blanks(false);
    }
    if (here() != '{') return false;
    ++at_;
    Value body;
    body.kind = Value::Kind::kMapping;
    body.mark = block_.place(begin);
    const bool dynamic = name == "dynamic";
    if (!read_body(body, name, depth + 1)) return false;
    if (dynamic) {
        gaps_ = true;
        const Value* content = body.find("content");
        Value inner = content == nullptr ? Value{} : *content;
        body = std::move(inner);
        name = label;
    }
    const std::string list = hcl_list_name(name, outer);
    if (list.empty()) {
        add_written(block_, mapping, begin, camel_case(name), std::move(body));
        return true;
    }
    for (auto& [key, value] : mapping.entries) {
        if (key.scalar != list || !value.is_sequence()) continue;
        value.items.push_back(std::move(body));
        return true;
    }
    Value items;
    items.kind = Value::Kind::kSequence;
    items.mark = body.mark;
    items.items.push_back(std::move(body));
    add_written(block_, mapping, begin, list, std::move(items));
    return true;
}

bool HclReader::read_body(Value& mapping, std::string_view outer, int depth) {
    if (depth > kDeepestBlock) return false;
    for (;;) {
        skip_blanks(true);
        if (at_ >= text_.size()) return false;
        if (here() == '}') {
            ++at_;
            return true;
        }
        const std::size_t begin = at_;
        const std::string_view name = read_name();
        if (name.empty()) return false;
        skip_blanks(false);
        if (here() == '=' && text_.substr(at_, 2) != "==") {
            ++at_;
            skip_blanks(false);
            Value value;
            if (!read_value(value, depth)) return false;
            add_written(block_, mapping, begin, camel_case(name), std::move(value));
        } else if (!read_block(mapping, name, begin, outer, depth)) {
            return false;
        }
    }
}

/// The object, with what the provider adds by itself.
Value HclReader::finished(const HclKind& made, std::size_t at, Value& body) {
    Value object;
    object.mark = block_.place(at);
    add_written(block_, object, at, "apiVersion",
                written_scalar(block_, at, std::string(made.version), Value::Kind::kString));
    add_written(block_, object, at, "kind",
                written_scalar(block_, at, std::string(made.kind), Value::Kind::kString));
    if (made.kind ==
        "HelmRelease") {  // as Flux writes it; a chart without repository lies beside it
        if (body.find("repository") == nullptr || body.find("chart") == nullptr) return object;
        Value source;
        add_written(block_, source, at, "kind",
                    written_scalar(block_, at, "HelmRepository", Value::Kind::kString));
        Value chart;
        for (auto& entry : body.entries) {
            const std::string& key = entry.first.scalar;
            if (key != "chart" && key != "version" && key != "repository") continue;
            add_written(block_, chart, at, key, std::move(entry.second));
        }
        add_written(block_, chart, at, "sourceRef", std::move(source));
        Value holder;
        add_written(block_, holder, at, "spec", std::move(chart));
        Value spec;
        add_written(block_, spec, at, "chart", std::move(holder));
        add_written(block_, object, at, "spec", std::move(spec));
        return object;
    }
    for (auto& [key, value] : body.entries) {
        if (key.scalar == "metadata" || key.scalar == "spec" || key.scalar == "data") {
            object.entries.emplace_back(std::move(key), std::move(value));
        }
    }
    Value* pod = made.kind == "Job" ? mapping_below(object, {"spec", "template", "spec"})
                 : made.kind == "CronJob"
                     ? mapping_below(object, {"spec", "jobTemplate", "spec", "template", "spec"})
                     : nullptr;
    if (pod != nullptr && pod->find("restartPolicy") == nullptr) {
        add_written(block_, *pod, at, "restartPolicy",
                    written_scalar(block_, at, "Never", Value::Kind::kString));
    }
    Value* spec = made.version.starts_with("apps/") ? mapping_below(object, {"spec"}) : nullptr;
    const Value* labels =
        spec == nullptr ? nullptr : mapping_below(*spec, {"template", "metadata", "labels"});
    if (labels != nullptr && spec->find("selector") == nullptr) {
        Value selector;
        add_written(block_, selector, at, "matchLabels", Value(*labels));
        add_written(block_, *spec, at, "selector", std::move(selector));
    }
    return object;
}

}  // namespace

std::vector<WrittenObject> read_hcl_objects(const Block& block) {
    if (block.text.find("\"kubernetes_") == std::string::npos &&
        block.text.find("\"helm_release\"") == std::string::npos) {
        return {};
    }
    return HclReader(block).read();
}

}  // namespace aliquot::syntax
