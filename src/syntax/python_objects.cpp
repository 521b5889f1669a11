// SPDX-License-Identifier: Apache-2.0
// Manifests that Python writes as dicts, or with the classes of the client library.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "document/path.h"
#include "syntax/words.h"
#include "syntax/written_objects.h"

namespace aliquot::syntax {
namespace {

constexpr int kDeepestObject = 30;

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Class {
    std::string_view name;
    std::string_view version;
    std::string_view kind;
};
constexpr std::array<Class, 7> kClasses{{{"V1Pod", "v1", "Pod"},
                                         {"V1Job", "batch/v1", "Job"},
                                         {"V1CronJob", "batch/v1", "CronJob"},
                                         {"V1Deployment", "apps/v1", "Deployment"},
                                         {"V1StatefulSet", "apps/v1", "StatefulSet"},
                                         {"V1DaemonSet", "apps/v1", "DaemonSet"},
                                         {"V1ResourceQuota", "v1", "ResourceQuota"}}};

bool has_amount(const Value& node, ResourceChoice is_wanted) {
    for (const std::string_view part : {"limits", "requests"}) {
        const Value* amounts = node.find(part);
        if (amounts == nullptr) continue;
        for (const auto& [key, value] : amounts->entries) {
            if (is_wanted(key.scalar)) return true;
        }
    }
    return false;
}

/// Whether a dict is one that a cluster is given: an object, or a part of a pod.
bool is_of_interest(const Value& node, ResourceChoice is_wanted) {
    if (is_manifest(node)) return true;
    const Value* containers = node.find("containers");
    if (containers != nullptr && containers->is_sequence()) return true;
    const Value* resources = node.find("resources");
    return has_amount(resources == nullptr ? node : *resources, is_wanted);
}

class PythonReader {
public:
    PythonReader(const Block& block, ResourceChoice is_wanted)
        : block_(block), is_wanted_(is_wanted), text_(block.text) {}

    std::vector<WrittenObject> read();

private:
    bool read_value(Value& value, int depth);
    bool read_text(Value& value);
    bool read_dict(Value& mapping, int depth);
    bool read_list(Value& list, int depth);
    bool read_call(Value& mapping, std::string_view name, std::size_t begin, int depth);
    bool skip_expression();
    bool skip_string();
    void skip_blanks();
    bool ends_value() const {
        return at_ >= text_.size() ||
               std::string_view(",}])").find(text_[at_]) != std::string_view::npos;
    }
    std::string_view class_at(std::size_t at) const;
    void take(std::vector<WrittenObject>& found, Value node, std::string_view name);
    char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    const Block& block_;
    ResourceChoice is_wanted_;
    std::string_view text_;
    std::size_t at_ = 0;
    bool gaps_ = false;
    bool broken_ = false;  // no use to go on
};

void PythonReader::skip_blanks() {
    while (at_ < text_.size()) {
        if (text_[at_] == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (std::string_view(" \t\n\\").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        } else {
            return;
        }
    }
}

/// Behind the closing quote of the string at `at_`.
bool PythonReader::skip_string() {
    const char quote = here();
    const std::string triple(3, quote);
    if (text_.substr(at_, 3) == triple) {
        const auto end = text_.find(triple, at_ + 3);
        if (end == std::string_view::npos) return false;
        at_ = end + 3;
        return true;
    }
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
        if (text_[at_] == '\\') {
            ++at_;
        } else if (text_[at_] == quote) {
            ++at_;
            return true;
        }
    }
    return false;
}

/// Up to the comma or bracket that ends a value.
bool PythonReader::skip_expression() {
    int level = 0;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"' || c == '\'') {
            if (!skip_string()) return false;
            continue;
        }
        if (c == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
            continue;
        }
        if (c == '{' || c == '[' || c == '(') {
            ++level;
        } else if (c == '}' || c == ']' || c == ')') {
            if (level-- == 0) return true;
        } else if (c == ',' && level == 0) {
            return true;
        }
        ++at_;
    }
    return level == 0;
}

/// 'x', f"x": one with braces is computed.
bool PythonReader::read_text(Value& value) {
    const std::size_t begin = at_;
    bool computed = false;
    while (at_ < text_.size() && here() != '"' && here() != '\'') {
        computed = computed || here() == 'f' || here() == 'F';
        ++at_;
    }
    const std::size_t open = at_;
    if (!skip_string()) return false;
    const std::size_t quotes = text_.substr(open, 3) == std::string(3, text_[open]) ? 3 : 1;
    if (at_ < open + 2 * quotes) return false;
    std::string words(text_.substr(open + quotes, at_ - open - 2 * quotes));
    if (computed && words.find('{') != std::string::npos) words = "${" + words + "}";
    value = written_scalar(block_, begin, std::move(words), Value::Kind::kString);
    return true;
}

/// "V1Container" of `client.V1Container(`, where it begins at `at`; empty: no such call.
std::string_view PythonReader::class_at(std::size_t at) const {
    std::size_t end = at;
    std::size_t name = at;
    while (end < text_.size() && (is_name_byte(text_[end]) || text_[end] == '.')) {
        if (text_[end] == '.') name = end + 1;
        ++end;
    }
    if (text_.substr(end, 1) != "(" || text_.substr(name, 2) != "V1") return {};
    return text_.substr(name, end - name);
}

bool PythonReader::read_value(Value& value, int depth) {
    if (depth > kDeepestObject) broken_ = true;
    if (broken_) return false;
    skip_blanks();
    const std::size_t begin = at_;
    bool plain = false;
    const auto quote = text_.find_first_of("\"'", begin);
    const bool prefixed =
        quote != std::string_view::npos && quote - begin <= 2 &&
        text_.substr(begin, quote - begin).find_first_not_of("fFrRbBuU") == std::string_view::npos;
    if (here() == '{') {
        plain = read_dict(value, depth + 1);
    } else if (here() == '[') {
        plain = read_list(value, depth + 1);
    } else if (prefixed) {
        plain = read_text(value);
    } else if (const auto name = class_at(begin); !name.empty()) {
        at_ = static_cast<std::size_t>(name.data() - text_.data()) + name.size() + 1;
        plain = read_call(value, name, begin, depth + 1);
    } else {
        while (is_name_byte(here()) || here() == '.' || here() == '-') ++at_;
        const std::string_view word = text_.substr(begin, at_ - begin);
        const Value::Kind kind = kind_of_word(word);
        plain = !word.empty() && kind != Value::Kind::kString;
        if (plain) {
            const bool truth = kind == Value::Kind::kBool;
            value = written_scalar(block_, begin, truth ? lower(word) : std::string(word), kind);
        }
    }
    if (plain) {
        skip_blanks();
        if (ends_value()) return true;
    }
    at_ = begin;
    if (broken_ || !skip_expression()) {
        broken_ = true;  // what is around it has no end either
        return false;
    }
    const auto written = text_.substr(begin, std::min(at_ - begin, std::size_t{60}));
    value = {};
    value = written_scalar(block_, begin,
                           "${" + std::string(trim(written.substr(0, written.find('\n')))) + "}",
                           Value::Kind::kString);
    return true;
}

bool PythonReader::read_list(Value& list, int depth) {
    list = {};
    list.kind = Value::Kind::kSequence;
    list.mark = block_.place(at_);
    ++at_;
    for (;;) {
        skip_blanks();
        if (here() == ']') {
            ++at_;
            return true;
        }
        if (at_ >= text_.size()) return false;
        if (here() == '*') gaps_ = true;
        Value item;
        if (!read_value(item, depth)) return false;
        if (item.scalar.find(" for ") != std::string::npos) gaps_ = true;
        list.items.push_back(std::move(item));
        if (here() == ',') {
            ++at_;
        } else if (here() != ']') {
            return false;
        }
    }
}

bool PythonReader::read_dict(Value& mapping, int depth) {
    mapping = {};
    mapping.kind = Value::Kind::kMapping;
    mapping.mark = block_.place(at_);
    ++at_;
    for (;;) {
        skip_blanks();
        if (here() == '}') {
            ++at_;
            return true;
        }
        if (at_ >= text_.size()) return false;
        if (text_.substr(at_, 2) == "**") {
            gaps_ = true;
            if (!skip_expression()) return false;
            if (here() == ',') ++at_;
            continue;
        }
        const std::size_t begin = at_;
        Value key;
        if (here() == '"' || here() == '\'') {
            if (!read_text(key)) return false;
        } else {  // a variable, a call
            while (at_ < text_.size() &&
                   std::string_view(":,}\n").find(here()) == std::string_view::npos)
                ++at_;
            key.scalar = "${" + std::string(trim(text_.substr(begin, at_ - begin))) + "}";
        }
        skip_blanks();
        if (here() != ':') return false;
        ++at_;
        Value value;
        if (!read_value(value, depth)) return false;
        add_written(block_, mapping, begin, std::move(key.scalar), std::move(value));
        if (here() == ',') {
            ++at_;
        } else if (here() != '}') {
            return false;
        }
    }
}

/// The named arguments of V1Container(...), from behind the bracket on.
bool PythonReader::read_call(Value& mapping, std::string_view name, std::size_t begin, int depth) {
    mapping = {};
    mapping.kind = Value::Kind::kMapping;
    mapping.mark = block_.place(begin);
    for (const Class& one : kClasses) {
        if (one.name != name) continue;
        add_written(block_, mapping, begin, "apiVersion",
                    written_scalar(block_, begin, std::string(one.version), Value::Kind::kString));
        add_written(block_, mapping, begin, "kind",
                    written_scalar(block_, begin, std::string(one.kind), Value::Kind::kString));
    }
    for (;;) {
        skip_blanks();
        if (here() == ')') {
            ++at_;
            return true;
        }
        if (at_ >= text_.size()) return false;
        const std::size_t word = at_;
        while (is_name_byte(here())) ++at_;
        const std::string_view key = text_.substr(word, at_ - word);
        skip_blanks();
        if (key.empty() || here() != '=' || text_.substr(at_, 2) == "==") {
            gaps_ = true;  // **arguments, or by position
            at_ = word;
            if (!skip_expression()) return false;
        } else {
            ++at_;
            Value value;
            if (!read_value(value, depth)) return false;
            if (key != "api_version" && key != "kind") {
                add_written(block_, mapping, word, camel_case(key), std::move(value));
            }
        }
        if (here() == ',') {
            ++at_;
        } else if (here() != ')') {
            return false;
        }
    }
}

/// Parts stand where a pod has them.
void PythonReader::take(std::vector<WrittenObject>& found, Value node, std::string_view name) {
    const auto wrap = [this, &node](std::string_view key, bool list) {
        Value inner = std::move(node);
        const Mark mark = inner.mark;
        Value value;
        if (list) {
            value.kind = Value::Kind::kSequence;
            value.mark = mark;
            value.items.push_back(std::move(inner));
        } else {
            value = std::move(inner);
        }
        node = {};
        node.mark = mark;
        add_written(block_, node, 0, std::string(key), std::move(value));
        node.entries.back().first.mark = mark;
    };
    if (name == "V1Container") wrap("containers", true);
    if (name == "V1ResourceRequirements") wrap("resources", false);
    if (name == "V1PodTemplateSpec") wrap("template", false);
    if (name == "V1JobSpec" || name == "V1DeploymentSpec") wrap("spec", false);
    const bool part = !name.empty() && !is_manifest(node) && name != "V1Container" &&
                      name != "V1ResourceRequirements" && name != "V1PodTemplateSpec" &&
                      name != "V1JobSpec" && name != "V1DeploymentSpec" && name != "V1PodSpec";
    if (!part) found.push_back({std::move(node), gaps_});
}

std::vector<WrittenObject> PythonReader::read() {
    constexpr std::size_t kMostTries = 200;
    constexpr std::size_t kLongest = 16U << 10U;
    const std::string_view whole = text_;
    std::vector<WrittenObject> found;
    std::size_t tries = 0;
    for (std::size_t at = 0; at < whole.size() && tries < kMostTries;) {
        text_ = whole.substr(0, at + kLongest);  // no object is longer
        const char c = text_[at];
        at_ = at;
        if (c == '#') {
            at = std::min(text_.find('\n', at), text_.size());
        } else if (c == '"' || c == '\'') {
            at = skip_string() ? at_ : at + 1;
        } else if (c == '{') {
            ++tries;
            gaps_ = false;
            broken_ = false;
            Value node;
            const bool good = read_dict(node, 0) && is_of_interest(node, is_wanted_);
            if (good) take(found, std::move(node), "");
            at = good ? at_ : at + 1;
        } else if (c == 'V' && (at == 0 || !is_name_byte(text_[at - 1]))) {
            const auto name = class_at(at);
            if (name.empty()) {
                ++at;
                continue;
            }
            ++tries;
            gaps_ = false;
            broken_ = false;
            at_ = at + name.size() + 1;
            Value node;
            if (read_call(node, name, at, 0)) take(found, std::move(node), name);
            at = std::max(at_, at + 1);
        } else {
            ++at;
        }
    }
    return found;
}

}  // namespace

std::vector<WrittenObject> read_python_objects(const Block& block, ResourceChoice is_wanted) {
    if (block.text.find("gpu") == std::string::npos) return {};
    return PythonReader(block, is_wanted).read();
}

}  // namespace aliquot::syntax
