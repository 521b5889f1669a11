// SPDX-License-Identifier: Apache-2.0
#include "scaling/selector.h"

#include <algorithm>

namespace aliquot::scaling {
namespace {

using Operator = Selector::Operator;
using Requirement = Selector::Requirement;

constexpr std::size_t kMostBytes = 8192;

bool is_word_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
}

/// Goes over the text once, part by part.
class Scanner {
public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    [[nodiscard]] bool at_end() {
        skip_blanks();
        return rest_.empty();
    }
    bool take(std::string_view mark) {
        skip_blanks();
        if (!rest_.starts_with(mark)) return false;
        rest_.remove_prefix(mark.size());
        return true;
    }
    std::string word() {
        skip_blanks();
        const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word_letter);
        std::string taken(rest_.begin(), end);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    /// Only as a word of its own: "in" is none in "inner".
    bool take_word(std::string_view wanted) {
        const std::string_view before = rest_;
        if (word() == wanted) return true;
        rest_ = before;
        return false;
    }

private:
    void skip_blanks() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
            rest_.remove_prefix(1);
        }
    }
    std::string_view rest_;
};

/// "(a,b)"; false: it is none.
bool read_set(Scanner& scanner, std::vector<std::string>& values) {
    if (!scanner.take("(")) return false;
    do {
        values.push_back(scanner.word());
    } while (scanner.take(","));
    return scanner.take(")");
}

bool read_requirement(Scanner& scanner, Requirement& read) {
    const bool negated = scanner.take("!");
    read.key = scanner.word();
    if (read.key.empty()) return false;
    if (negated) {
        read.what = Operator::kDoesNotExist;
        return true;
    }
    if (scanner.take("!=")) {
        read.what = Operator::kNotIn;
        read.values.push_back(scanner.word());
    } else if (scanner.take("==") || scanner.take("=")) {
        read.what = Operator::kIn;
        read.values.push_back(scanner.word());
    } else if (scanner.take_word("in")) {
        read.what = Operator::kIn;
        return read_set(scanner, read.values);
    } else if (scanner.take_word("notin")) {
        read.what = Operator::kNotIn;
        return read_set(scanner, read.values);
    }
    return true;
}

bool fulfils(const Requirement& requirement, const Labels& labels) {
    const auto label = labels.find(requirement.key);
    const bool there = label != labels.end();
    const auto is_one_of = [&] {
        return there && std::find(requirement.values.begin(), requirement.values.end(),
                                  label->second) != requirement.values.end();
    };
    switch (requirement.what) {
        case Operator::kIn:
            return is_one_of();
        case Operator::kNotIn:
            return !is_one_of();
        case Operator::kExists:
            return there;
        case Operator::kDoesNotExist:
            return !there;
    }
    return false;
}

}  // namespace

Result<Selector> Selector::parse(std::string_view text) {
    const auto refused = [&] {
        return Error{ErrorCode::kInvalidInput,
                     "'" + std::string(text.substr(0, 200)) +
                         "' is no label selector; expected such as app=web,tier in (a,b),!canary"};
    };
    if (text.size() > kMostBytes) return refused();
    Selector made;
    Scanner scanner(text);
    if (scanner.at_end()) return made;
    do {
        Requirement read;
        if (!read_requirement(scanner, read)) return refused();
        made.requirements_.push_back(std::move(read));
    } while (scanner.take(","));
    if (!scanner.at_end()) return refused();
    return made;
}

bool Selector::matches(const Labels& labels) const {
    return std::all_of(requirements_.begin(), requirements_.end(),
                       [&](const Requirement& one) { return fulfils(one, labels); });
}

}  // namespace aliquot::scaling
