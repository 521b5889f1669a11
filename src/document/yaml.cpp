// SPDX-License-Identifier: Apache-2.0
#include "document/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/node/node.h>  // parser.h only declares it, and clang-tidy takes ours for it
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>

#include "document/scalar.h"
#include "document/text_check.h"

namespace aliquot::document {
namespace {

/// Ends a parse from inside an event; never leaves this file.
struct Stop {
    SyntaxError error;
};

Mark to_mark(const YAML::Mark& mark) {
    if (mark.is_null()) return {1, 1};
    return {static_cast<unsigned>(mark.line) + 1, static_cast<unsigned>(mark.column) + 1};
}

/// What a subtree costs when it is copied.
struct Weight {
    std::size_t nodes = 1;
    std::size_t bytes = 0;
    unsigned depth = 0;  // below the node itself
};

std::string too_many_values(const Limits& limits) {
    return "more than " + std::to_string(limits.nodes) +
           " values (aliases count as what they name)";
}

/// Builds our tree out of yaml-cpp's events.
class Builder final : public YAML::EventHandler {
public:
    Builder(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

    std::vector<Value> documents;

    void OnDocumentStart(const YAML::Mark& mark) override;
    void OnDocumentEnd() override { documents.push_back(std::move(document_)); }

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override;
    void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        open(Value::Kind::kSequence, to_mark(mark), anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value style) override {
        open(Value::Kind::kMapping, to_mark(mark), anchor);
        open_.back().flow = style == YAML::EmitterStyle::Flow;
    }
    void OnMapEnd() override { close(); }

private:
    /// A sequence or mapping whose end has not come yet.
    struct Open {
        Value node;
        Weight weight;
        YAML::anchor_t anchor = 0;
        bool has_key = false;  // of a mapping: the last entry waits for its value
        bool flow = false;     // of a mapping: written in braces
    };
    struct Anchored {
        Value node;
        Weight weight;
        bool complete = false;
    };

    void open(Value::Kind kind, Mark mark, YAML::anchor_t anchor);
    void close();
    void add(Value node, const Weight& weight, YAML::anchor_t anchor);
    void place(Value node, const Weight& weight);
    void count(const Weight& weight, Mark mark);
    void expect_colon(const Value& key) const;
    [[nodiscard]] std::string_view at(Mark mark) const;

    std::string_view text_;
    Limits limits_;
    Value document_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, Anchored> anchors_;
    std::size_t nodes_ = 0;
    std::size_t alias_bytes_ = 0;
    // Where the lines begin that were asked for so far. Marks run onwards and back again, by a key of
    // a value that is not there, and each look must be short all the same.
    mutable std::vector<std::size_t> lines_{0};
};

/// The text from `mark` on.
std::string_view Builder::at(Mark mark) const {
    while (lines_.size() < mark.line) {
        const auto end = text_.find('\n', lines_.back());
        if (end == std::string_view::npos) return {};
        lines_.push_back(end + 1);
    }
    const std::size_t offset = lines_[mark.line - 1] + mark.column - 1;
    return offset < text_.size() ? text_.substr(offset) : std::string_view{};
}

/// yaml-cpp begins a new document wherever one value has ended; YAML wants a line `---` or `...`
/// between the two.
void Builder::OnDocumentStart(const YAML::Mark& yaml_mark) {
    anchors_.clear();
    open_.clear();
    document_ = Value{};
    document_.mark = {1, 1};
    if (documents.empty()) return;
    const Mark mark = to_mark(yaml_mark);
    const std::string_view rest = at(mark);
    if (rest.empty() || rest.substr(0, 3) == "---") return;
    std::string_view before = text_.substr(0, text_.size() - rest.size());
    while (!before.empty()) {  // back over blank lines and comments
        const std::string_view above = before.substr(0, before.size() - 1);
        const auto start = above.rfind('\n') + 1;  // npos + 1 is 0
        const std::string_view line = before.substr(start);
        const auto first = line.find_first_not_of(" \t\r\n");
        if (line.substr(0, 3) == "...") return;
        if (first != std::string_view::npos && line[first] != '#') break;
        before = before.substr(0, start);
    }
    throw Stop{{mark, "this belongs to no mapping or list above it: check its indentation"}};
}

/// yaml-cpp takes a last key without ':' for a key without value.
void Builder::expect_colon(const Value& key) const {
    if (key.is_mapping() || key.is_sequence() || key.quoted || key.scalar.empty()) return;
    std::string_view rest = at(key.mark);
    if (rest.substr(0, key.scalar.size()) != key.scalar) return;  // of an alias
    const auto before = text_.substr(0, text_.size() - rest.size()).find_last_not_of(" \t\r\n");
    if (before != std::string_view::npos && text_[before] == '?') return;
    rest.remove_prefix(key.scalar.size());
    const auto next = rest.find_first_not_of(" \t");
    if (next != std::string_view::npos && rest[next] == ':') return;
    throw Stop{{key.mark, "'" + key.scalar.substr(0, 60) + "' has no ':' behind it"}};
}

void Builder::count(const Weight& weight, Mark mark) {
    nodes_ += weight.nodes;
    if (nodes_ > limits_.nodes) {
        throw Stop{{mark, too_many_values(limits_)}};
    }
    if (open_.size() + weight.depth >= limits_.depth) {
        throw Stop{{mark, "nested deeper than " + std::to_string(limits_.depth) + " levels"}};
    }
}

void Builder::open(Value::Kind kind, Mark mark, YAML::anchor_t anchor) {
    count(Weight{}, mark);
    if (anchor != 0) anchors_[anchor] = {};
    Open one;
    one.node.kind = kind;
    one.node.mark = mark;
    one.anchor = anchor;
    open_.push_back(std::move(one));
}

void Builder::close() {
    Open one = std::move(open_.back());
    open_.pop_back();
    if (one.anchor != 0) anchors_[one.anchor] = {one.node, one.weight, true};
    place(std::move(one.node), one.weight);
}

void Builder::add(Value node, const Weight& weight, YAML::anchor_t anchor) {
    count(weight, node.mark);
    if (anchor != 0) anchors_[anchor] = {node, weight, true};
    place(std::move(node), weight);
}

void Builder::place(Value node, const Weight& weight) {
    if (open_.empty()) {
        document_ = std::move(node);
        return;
    }
    Open& parent = open_.back();
    parent.weight.nodes += weight.nodes;
    parent.weight.bytes += weight.bytes;
    parent.weight.depth = std::max(parent.weight.depth, weight.depth + 1);
    if (parent.node.is_sequence()) {
        parent.node.items.push_back(std::move(node));
    } else if (parent.has_key) {
        parent.node.entries.back().second = std::move(node);
        parent.has_key = false;
    } else {
        parent.node.entries.emplace_back(std::move(node), Value{});
        parent.has_key = true;
    }
}

/// Whether a ':' comes before the line ends, as far as a key can be long.
bool is_followed_by_colon(std::string_view rest) {
    constexpr std::size_t kLongestKey = 1024 + 8;  // by YAML's own rule, and blanks
    const auto end = rest.substr(0, kLongestKey).find_first_of(":\n");
    return end == std::string_view::npos ? rest.size() <= kLongestKey : rest[end] == ':';
}

void Builder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
    // yaml-cpp says the same of `~`, `null` and of a value that is not there at all; of the latter
    // it gives the place of whatever comes next.
    Value node;
    node.mark = to_mark(mark);
    const std::string_view rest = at(node.mark);
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
        if (rest.substr(0, word.size()) == word) node.scalar = word;
    }
    if (!open_.empty() && open_.back().has_key) {
        const Mark key = open_.back().node.entries.back().first.mark;
        if (node.scalar.empty() || node.mark.line != key.line) {
            // On a line of its own a written null cannot be told from the key `null` that follows.
            if (!node.scalar.empty() && is_followed_by_colon(rest)) node.scalar.clear();
            if (node.scalar.empty()) node.mark = key;
        }
        if (node.scalar.empty() && !open_.back().flow) {
            expect_colon(open_.back().node.entries.back().first);
        }
    }
    add(std::move(node), Weight{}, anchor);
}

void Builder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || !found->second.complete) {
        throw Stop{{to_mark(mark), "an alias inside the very value that it names"}};
    }
    alias_bytes_ += found->second.weight.bytes;
    if (alias_bytes_ > limits_.bytes) {
        throw Stop{{to_mark(mark), "aliases that stand for more than " +
                                       std::to_string(limits_.bytes) + " bytes"}};
    }
    count(found->second.weight, to_mark(mark));
    place(found->second.node, found->second.weight);
}

/// Whether the quoted scalar that `text` begins with has an end: yaml-cpp takes the end of the text
/// for one when a line break comes before it.
bool is_closed(std::string_view text) {
    const char quote = text.front();
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (quote == '"' && text[i] == '\\') {
            ++i;
        } else if (text[i] == quote) {
            if (quote == '"' || i + 1 == text.size() || text[i + 1] != quote) return true;
            ++i;  // '' inside single quotes
        }
    }
    return false;
}

void Builder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       const std::string& value) {
    Value node;
    node.mark = to_mark(mark);
    node.scalar = value;
    // yaml-cpp's tag of a plain scalar is "?", of a quoted or block one "!", else as written.
    std::string_view rest = at(node.mark);
    while (!rest.empty() && (rest.front() == '!' || rest.front() == '&')) {
        const auto blank = rest.find_first_of(" \t\r\n");
        rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank);
        const auto next = rest.find_first_not_of(" \t\r\n");
        rest.remove_prefix(next == std::string_view::npos ? rest.size() : next);
    }
    const char style = rest.empty() ? ' ' : rest.front();
    if (tag != "?" && (style == '"' || style == '\'') && !is_closed(rest)) {
        throw Stop{{node.mark, "a quoted text that is not closed"}};
    }
    node.block = tag != "?" && (style == '|' || style == '>');
    node.quoted = tag == "!" || (tag != "?" && (style == '"' || style == '\'' || node.block));
    constexpr std::string_view kSchema = "tag:yaml.org,2002:";
    if (tag == std::string(kSchema) + "str") {
        node.kind = Value::Kind::kString;
        node.quoted = true;
    } else {
        const bool resolves = !node.quoted || tag.substr(0, kSchema.size()) == kSchema;
        node.kind = resolves ? resolve_plain(value) : Value::Kind::kString;
    }
    Weight weight;
    weight.bytes = value.size();
    add(std::move(node), weight, anchor);
}

/// yaml-cpp's words for what people get wrong most, in ours.
std::string plain_words(const std::string& message) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kWords{
        {{"illegal map value", "a second ':' or a key at a wrong indentation"},
         {"illegal block entry", "a '-' where no list can begin: check the indentation"},
         {"illegal map key", "a key where none can begin: check the indentation"},
         {"end of map not found",
          "this line fits no mapping or list around it: check its indentation, and that each key "
          "is followed by ': '"},
         {"end of sequence not found",
          "this line is not an entry of the list above it: check its indentation and the '-'"},
         {"end of map flow not found", "a '{' that is not closed by '}'"},
         {"end of sequence flow not found", "a '[' that is not closed by ']'"},
         {"illegal flow end", "a ']' or '}' that closes nothing"},
         {"illegal EOF in scalar", "a quoted text that is not closed"},
         {"illegal document indicator in scalar", "a quoted text that is not closed before '---'"},
         {"the referenced anchor is not defined", "an alias to an anchor that is not defined"},
         {"unknown token", "a character that no value can begin with"},
         {"unknown escape character", "an unknown escape in a double quoted text"},
         {"unexpected end of block", "text behind '|' or '>'"}}};
    for (const auto& [theirs, ours] : kWords) {
        if (message.find(theirs) != std::string::npos) return std::string(ours);
    }
    return message.empty() ? "this is no YAML" : message;
}

/// yaml-cpp reads a bracket's whole content before it says anything of it, at 200 bytes for each
/// token. Refuses what cannot be within the limits anyhow; generous, since brackets may stand
/// inside texts and comments.
std::optional<SyntaxError> find_too_many_brackets(std::string_view text, const Limits& limits) {
    constexpr int kMostOpen = 1000;
    Mark mark{1, 1};
    int open = 0;
    std::size_t tokens = 0;
    for (const char c : text) {
        const bool opens = c == '[' || c == '{';
        const bool closes = c == ']' || c == '}';
        open = std::max(0, open + (opens ? 1 : closes ? -1 : 0));
        if (opens || closes || c == ',') ++tokens;
        if (open > kMostOpen) return SyntaxError{mark, "more than 1000 open brackets"};
        if (tokens / 4 > limits.nodes) return SyntaxError{mark, too_many_values(limits)};
        ++mark.column;
        if (c == '\n') mark = {mark.line + 1, 1};
    }
    return std::nullopt;
}

/// A place below the last line with something on it becomes the end of that line.
Mark clamped(std::string_view text, Mark mark) {
    const auto end = text.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) return {1, 1};
    text = text.substr(0, end + 1);
    const auto lines = static_cast<unsigned>(std::count(text.begin(), text.end(), '\n')) + 1;
    if (mark.line <= lines) return mark;
    const auto start = text.rfind('\n');  // npos + 1 is 0: the first line
    return {lines, static_cast<unsigned>(text.size() - (start + 1)) + 1};
}

/// Says why yaml-cpp stopped at `mark`. It is often a tab, which it does not tell.
SyntaxError explain(std::string_view text, Mark mark, const std::string& message) {
    for (unsigned line = mark.line; line + 1 >= mark.line && line != 0; --line) {
        const Mark tab = find_tab_indent(text, line);
        if (tab.line != 0) {
            return {tab, tab_message(tab.line)};
        }
    }
    return {clamped(text, mark), plain_words(message)};
}

}  // namespace

Stream parse_yaml(std::string_view text, const Limits& limits) {
    if (text.size() > limits.bytes) {
        return {{}, {{{1, 1}, "larger than " + std::to_string(limits.bytes) + " bytes"}}};
    }
    if (auto forbidden = find_forbidden_byte(text)) return {{}, {*std::move(forbidden)}};
    if (auto deep = find_too_many_brackets(text, limits)) return {{}, {*std::move(deep)}};
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    const bool has_mark = text.substr(0, kByteOrderMark.size()) == kByteOrderMark;
    if (has_mark) text.remove_prefix(kByteOrderMark.size());

    Builder builder(text, limits);
    Stream stream;
    try {
        std::istringstream input{std::string(text)};
        YAML::Parser parser(input);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (Stop& stop) {
        stream.errors.push_back(std::move(stop.error));
    } catch (const YAML::Exception& problem) {
        stream.errors.push_back(explain(text, to_mark(problem.mark), problem.msg));
    } catch (const std::exception& problem) {
        stream.errors.push_back({{1, 1}, plain_words(problem.what())});
    }
    stream.documents = std::move(builder.documents);
    if (stream.documents.empty() && stream.errors.empty()) {
        stream.documents.emplace_back();
        stream.documents.back().mark = {1, 1};
    }
    return stream;
}

}  // namespace aliquot::document
