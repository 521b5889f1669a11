// SPDX-License-Identifier: Apache-2.0
#include "admission/node_match.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace aliquot::admission {
namespace {

using Operator = Requirement::Operator;

constexpr std::array<std::pair<std::string_view, Operator>, 6> kWords{
    {{"In", Operator::kIn},
     {"NotIn", Operator::kNotIn},
     {"Exists", Operator::kExists},
     {"DoesNotExist", Operator::kDoesNotExist},
     {"Gt", Operator::kGt},
     {"Lt", Operator::kLt}}};

std::optional<long long> number_of(std::string_view text) {
    long long value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stop != end) return std::nullopt;
    return value;
}

bool compares(const Requirement& requirement, const std::string& label) {
    if (requirement.values.size() != 1) return false;
    const auto bound = number_of(requirement.values[0]);
    const auto value = number_of(label);
    if (!bound || !value) return false;
    return requirement.operation == Operator::kGt ? *value > *bound : *value < *bound;
}

bool is_among(const std::vector<std::string>& values, const std::string& value) {
    return std::ranges::find(values, value) != values.end();
}

/// A term without any expression means no node.
bool holds(const NodeChoice::Term& term, const GpuNode& node) {
    if (term.labels.empty() && term.fields.empty()) return false;
    const Labels fields{{"metadata.name", node.name}};
    return std::ranges::all_of(
               term.labels,
               [&](const Requirement& one) { return admission::holds(one, node.labels); }) &&
           std::ranges::all_of(
               term.fields, [&](const Requirement& one) { return admission::holds(one, fields); });
}

}  // namespace

std::string_view to_text(Operator operation) {
    const auto* const found =
        std::ranges::find(kWords, operation, &std::pair<std::string_view, Operator>::second);
    return found == kWords.end() ? "" : found->first;
}

Operator operator_of(std::string_view word) {
    const auto* const found =
        std::ranges::find(kWords, word, &std::pair<std::string_view, Operator>::first);
    return found == kWords.end() ? Operator::kOther : found->second;
}

bool holds(const Requirement& requirement, const Labels& labels) {
    const auto found = labels.find(requirement.key);
    const bool there = found != labels.end();
    switch (requirement.operation) {
        case Operator::kIn:
            return there && is_among(requirement.values, found->second);
        case Operator::kNotIn:
            return !there || !is_among(requirement.values, found->second);
        case Operator::kExists:
            return there;
        case Operator::kDoesNotExist:
            return !there;
        case Operator::kGt:
        case Operator::kLt:
            return there && compares(requirement, found->second);
        case Operator::kOther:
            break;
    }
    return false;
}

bool NodeChoice::allows(const GpuNode& node) const {
    if (!node_name.empty() && node.name != node_name) return false;
    for (const auto& [key, value] : selector) {
        const auto found = node.labels.find(key);
        if (found == node.labels.end() || found->second != value) return false;
    }
    return !has_terms ||
           std::ranges::any_of(terms, [&](const Term& term) { return holds(term, node); });
}

}  // namespace aliquot::admission
