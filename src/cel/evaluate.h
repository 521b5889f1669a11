// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cel/expression.h"

namespace aliquot::cel {

using Variables = std::map<std::string, Value, std::less<>>;

/// Nodes visited, and more for long texts and lists. The API server counts costs of its own and stops at
/// 1,000,000 of them; what stays below there stays far below here.
inline constexpr std::size_t kMostSteps = 1'000'000;

/// errors   kInvalidInput: "1:14: no such key: 'profile'": a missing key, values without such an
///          operation, more steps than `most_steps`
Result<Value> evaluate(const Expression& expression, const Variables& variables,
                       std::size_t most_steps = kMostSteps);

/// The same of an expression that says yes or no.
/// errors   and kInvalidInput: it says something else
Result<bool> evaluate_condition(const Expression& expression, const Variables& variables);

}  // namespace aliquot::cel
