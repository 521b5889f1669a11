// SPDX-License-Identifier: Apache-2.0
#include "document/json.h"

#include "base/json_text.h"
#include "document/scalar.h"

namespace aliquot::document {
namespace {

/// YAML knows more spellings than JSON.
bool is_spelled_as_json(std::string_view word) {
    return word == "true" || word == "false" || is_json_number(word);
}

class Writer {
public:
    explicit Writer(bool lines) : lines_(lines) {}

    std::string write(const Value& root) && {
        value(root);
        return std::move(out_);
    }

private:
    void value(const Value& node) {
        switch (node.kind) {
            case Value::Kind::kMapping:
                return list('{', node.entries, '}', [this](const Value::Entry& entry) {
                    append_json_quoted(out_, entry.first.scalar);
                    out_ += lines_ ? ": " : ":";
                    value(entry.second);
                });
            case Value::Kind::kSequence:
                return list('[', node.items, ']', [this](const Value& item) { value(item); });
            case Value::Kind::kNull:
                out_ += "null";
                return;
            case Value::Kind::kBool:
            case Value::Kind::kInteger:
            case Value::Kind::kFloat:
                if (!is_spelled_as_json(node.scalar)) return append_json_quoted(out_, node.scalar);
                out_ += node.scalar;
                return;
            case Value::Kind::kString:
                return append_json_quoted(out_, node.scalar);
        }
    }

    template <class Items, class Write>
    void list(char open, const Items& items, char close, const Write& write) {
        out_ += open;
        ++depth_;
        for (const auto& item : items) {
            if (&item != &items.front()) out_ += ',';
            break_line();
            write(item);
        }
        --depth_;
        if (!items.empty()) break_line();
        out_ += close;
    }

    void break_line() {
        if (lines_) out_.append(1, '\n').append(2 * depth_, ' ');
    }

    const bool lines_;
    std::size_t depth_ = 0;
    std::string out_;
};

}  // namespace

std::string to_json(const Value& node) { return Writer(true).write(node); }
std::string to_json_line(const Value& node) { return Writer(false).write(node); }

}  // namespace aliquot::document
