// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/value.h"

namespace aliquot::cel {

/// A function of the language: what stands before its name (a method's receiver), then its arguments.
struct Function {
    using Call = Result<Value> (*)(std::span<const Value> arguments);
    enum class Form : unsigned char { kCall, kMethod, kBoth };
    std::string_view name;
    Form form = Form::kMethod;
    std::size_t fewest = 0;  // arguments, the receiver not counted
    std::size_t most = 0;
    Call call = nullptr;
};

/// The functions of texts, and those of amounts, versions, lists and conversions. Errors say what is wrong
/// without a place.
std::span<const Function> text_functions();
std::span<const Function> amount_functions();

/// nullptr: there is none of this name.
const Function* find_function(std::string_view name);
/// Those that Kubernetes' own environment has besides.
bool is_unsupported_function(std::string_view name);
std::vector<std::string> function_names();

/// "no such overload: size(int)".
Error no_overload(std::string_view name, std::span<const Value> arguments);

/// +, -, *, /, %, comparisons, in, negate, !.
Result<Value> apply_operator(std::string_view name, std::span<const Value> arguments);

/// Longest text and list that an expression may make, in bytes and items.
inline constexpr std::size_t kLongestText = 64 * 1024;
inline constexpr std::size_t kLongestList = 4096;

}  // namespace aliquot::cel
