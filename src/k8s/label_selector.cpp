// SPDX-License-Identifier: Apache-2.0
#include "k8s/label_selector.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "document/path.h"
#include "k8s/names.h"

namespace aliquot::k8s {
namespace {

using document::Value;
using Operator = Requirement::Operator;

constexpr std::size_t kMostBytes = 8192;
constexpr std::array<std::pair<std::string_view, Operator>, 6> kWords{
    {{"In", Operator::kIn},
     {"NotIn", Operator::kNotIn},
     {"Exists", Operator::kExists},
     {"DoesNotExist", Operator::kDoesNotExist},
     {"Gt", Operator::kGt},
     {"Lt", Operator::kLt}}};

class SelectorReader {
public:
    explicit SelectorReader(std::string_view text) : text_(text) {}

    Result<LabelSelector> read() {
        LabelSelector selector;
        if (text_.size() > kMostBytes) return fail("expected at most 8 KiB");
        blanks();
        if (at_ == text_.size()) return selector;
        while (true) {
            auto one = requirement();
            if (!one) return std::move(one).error();
            selector.push_back(std::move(*one));
            blanks();
            if (at_ == text_.size()) return selector;
            if (text_[at_] != ',') return fail("expected ',' or the end");
            ++at_;
        }
    }

private:
    [[nodiscard]] Error fail(std::string_view why) const {
        return {ErrorCode::kInvalidInput, "unable to parse requirement: " + std::string(why) +
                                              ", found '" + std::string(text_.substr(at_, 40)) +
                                              "'"};
    }

    void blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }

    std::string_view word() {
        blanks();
        const std::size_t start = at_;
        at_ = std::min(text_.find_first_of("=!,()<> \t", at_), text_.size());
        return text_.substr(start, at_ - start);
    }

    bool take(std::string_view sign) {
        blanks();
        if (!text_.substr(at_).starts_with(sign)) return false;
        at_ += sign.size();
        return true;
    }

    Result<Requirement> requirement() {
        Requirement made{.operation = Operator::kExists};
        const bool negated = take("!");
        made.key = word();
        if (const std::string why = check_label_key(made.key); !why.empty()) {
            return Error{
                ErrorCode::kInvalidInput,
                "unable to parse requirement: key: Invalid value: \"" + made.key + "\": " + why};
        }
        if (negated) {
            made.operation = Operator::kDoesNotExist;
            return made;
        }
        blanks();
        if (at_ == text_.size() || text_[at_] == ',') return made;
        if (take("==") || take("=")) return single(std::move(made), Operator::kIn);
        if (take("!=")) return single(std::move(made), Operator::kNotIn);
        if (take(">")) return number(std::move(made), Operator::kGt);
        if (take("<")) return number(std::move(made), Operator::kLt);
        const std::string_view keyword = word();
        if (keyword == "in") return several(std::move(made), Operator::kIn);
        if (keyword == "notin") return several(std::move(made), Operator::kNotIn);
        at_ -= keyword.size();
        return fail("expected an operator (=, ==, !=, in, notin, >, <)");
    }

    static Result<Requirement> checked(Requirement made) {
        for (const std::string& value : made.values) {
            if (const std::string why = check_label_value(value); !why.empty()) {
                return Error{ErrorCode::kInvalidInput, "unable to parse requirement: values[0][" +
                                                           made.key + "]: Invalid value: \"" +
                                                           value + "\": " + why};
            }
        }
        return made;
    }

    Result<Requirement> single(Requirement made, Operator operation) {
        made.operation = operation;
        made.values.emplace_back(word());
        return checked(std::move(made));
    }

    Result<Requirement> number(Requirement made, Operator operation) {
        made.operation = operation;
        made.values.emplace_back(word());
        if (!parse_number<std::int64_t>(made.values[0]))
            return fail("expected an integer behind > or <");
        return made;
    }

    Result<Requirement> several(Requirement made, Operator operation) {
        made.operation = operation;
        if (!take("(")) return fail("expected '('");
        while (true) {
            made.values.emplace_back(word());
            if (take(")")) return checked(std::move(made));
            if (!take(",")) return fail("expected ',' or ')'");
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::string_view to_text(Operator operation) {
    for (const auto& [word, known] : kWords) {
        if (known == operation) return word;
    }
    return "";
}

Operator operator_of(std::string_view word) {
    for (const auto& [text, operation] : kWords) {
        if (text == word) return operation;
    }
    return Operator::kOther;
}

bool holds(const Requirement& requirement, const std::string* value) {
    const bool there = value != nullptr;
    const auto& values = requirement.values;
    const bool listed = there && std::ranges::find(values, *value) != values.end();
    switch (requirement.operation) {
        case Operator::kIn:
            return listed;
        case Operator::kNotIn:
            return !listed;
        case Operator::kExists:
            return there;
        case Operator::kDoesNotExist:
            return !there;
        case Operator::kGt:
        case Operator::kLt: {
            const auto have = there ? parse_number<std::int64_t>(*value) : std::nullopt;
            const auto bound =
                values.size() == 1 ? parse_number<std::int64_t>(values[0]) : std::nullopt;
            if (!have || !bound) return false;
            return requirement.operation == Operator::kGt ? *have > *bound : *have < *bound;
        }
        case Operator::kOther:
            break;
    }
    return false;
}

bool holds(const Requirement& requirement, const Labels& labels) {
    const auto found = labels.find(requirement.key);
    return holds(requirement, found == labels.end() ? nullptr : &found->second);
}

const Requirement* first_unmet(const LabelSelector& selector, const Labels& labels) {
    const auto unmet =
        std::ranges::find_if(selector, [&](const Requirement& one) { return !holds(one, labels); });
    return unmet == selector.end() ? nullptr : &*unmet;
}

Result<LabelSelector> parse_label_selector(std::string_view text) {
    return SelectorReader(text).read();
}

std::string to_text(const LabelSelector& selector) {
    std::string text;
    for (const Requirement& one : selector) {
        const std::string values = join(one.values, ",");
        const bool negated = one.operation == Operator::kNotIn;
        std::string term = one.key;
        switch (one.operation) {
            case Operator::kIn:
            case Operator::kNotIn:
                term += one.values.size() == 1 && !negated
                            ? "=" + values
                            : (negated ? " notin (" : " in (") + values + ")";
                break;
            case Operator::kExists:
                break;
            case Operator::kDoesNotExist:
                term = "!" + term;
                break;
            case Operator::kGt:
                term += ">" + values;
                break;
            case Operator::kLt:
                term += "<" + values;
                break;
            case Operator::kOther:
                continue;
        }
        text += (text.empty() ? "" : ",") + term;
    }
    return text;
}

std::vector<Requirement> read_requirements(const Value* list) {
    std::vector<Requirement> made;
    if (list == nullptr) return made;
    for (const Value& one : list->items) {
        Requirement requirement{.key = text_at(one, {"key"}),
                                .operation = operator_of(text_at(one, {"operator"}))};
        if (const Value* const values = one.find("values")) {
            for (const Value& value : values->items) {
                if (!value.is_mapping() && !value.is_sequence()) {
                    requirement.values.push_back(value.scalar);
                }
            }
        }
        made.push_back(std::move(requirement));
    }
    return made;
}

LabelSelector read_label_selector(const Value* selector) {
    if (selector == nullptr) return {};
    LabelSelector made;
    for (const auto& [key, value] : read_labels(selector->find("matchLabels"))) {
        made.push_back({key, Operator::kIn, {value}});
    }
    for (Requirement& one : read_requirements(selector->find("matchExpressions"))) {
        made.push_back(std::move(one));
    }
    return made;
}

Labels read_labels(const Value* mapping) {
    Labels labels;
    if (mapping == nullptr) return labels;
    for (const Value::Entry& entry : mapping->entries) {
        labels[entry.first.scalar] = entry.second.scalar;
    }
    return labels;
}

}  // namespace aliquot::k8s
