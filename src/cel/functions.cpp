// SPDX-License-Identifier: Apache-2.0
#include "cel/functions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace aliquot::cel {
namespace {

using Operands = std::span<const Value>;

Result<Value> divided(std::int64_t left, std::int64_t right, char sign) {
    if (right == 0) {
        return Error{ErrorCode::kInvalidInput,
                     sign == '/' ? "division by zero" : "modulus by zero"};
    }
    if (right == -1) {
        if (left == INT64_MIN) return Error{ErrorCode::kInvalidInput, "integer overflow"};
        return Value(sign == '/' ? -left : std::int64_t{0});
    }
    return Value(sign == '/' ? left / right : left % right);
}

Result<Value> whole_result(std::int64_t left, std::int64_t right, char sign) {
    if (sign == '/' || sign == '%') return divided(left, right, sign);
    std::int64_t made = 0;
    const bool overflow = sign == '+'   ? __builtin_add_overflow(left, right, &made)
                          : sign == '-' ? __builtin_sub_overflow(left, right, &made)
                                        : __builtin_mul_overflow(left, right, &made);
    if (overflow) return Error{ErrorCode::kInvalidInput, "integer overflow"};
    return Value(made);
}

Result<Value> number_result(double left, double right, char sign) {
    switch (sign) {
        case '+':
            return Value(left + right);
        case '-':
            return Value(left - right);
        case '*':
            return Value(left * right);
        default:
            return Value(left / right);
    }
}

Result<Value> arithmetic(std::string_view name, Operands both) {
    const char sign = name.front();
    const auto* const left = both[0].as<std::int64_t>();
    const auto* const right = both[1].as<std::int64_t>();
    if (left != nullptr && right != nullptr) return whole_result(*left, *right, sign);
    const auto* const a = both[0].as<double>();
    const auto* const b = both[1].as<double>();
    if (a != nullptr && b != nullptr && sign != '%') return number_result(*a, *b, sign);
    if (sign != '+') return no_overload(name, both);
    const auto* const text = both[0].as<std::string>();
    const auto* const more = both[1].as<std::string>();
    if (text != nullptr && more != nullptr) {
        if (text->size() + more->size() > kLongestText) {
            return Error{ErrorCode::kInvalidInput, "+ makes too long a text"};
        }
        return Value(*text + *more);
    }
    const auto* const list = both[0].as<List>();
    const auto* const items = both[1].as<List>();
    if (list == nullptr || items == nullptr) return no_overload(name, both);
    if (list->size() + items->size() > kLongestList) {
        return Error{ErrorCode::kInvalidInput, "+ makes too long a list"};
    }
    List made = *list;
    made.insert(made.end(), items->begin(), items->end());
    return Value(std::move(made));
}

Result<Value> contained(Operands both) {
    if (const auto* const list = both[1].as<List>()) {
        return Value(std::ranges::find(*list, both[0]) != list->end());
    }
    const auto* const map = both[1].as<Map>();
    if (map == nullptr) return no_overload("in", both);
    const auto* const key = both[0].as<std::string>();
    return Value(key != nullptr && map->entries.contains(*key));
}

Result<Value> negated(Operands one) {
    if (const auto* const whole = one[0].as<std::int64_t>()) return whole_result(0, *whole, '-');
    if (const auto* const number = one[0].as<double>()) return Value(-*number);
    return no_overload("-", one);
}

}  // namespace

Error no_overload(std::string_view name, std::span<const Value> arguments) {
    std::vector<std::string_view> types;
    for (const Value& one : arguments) types.push_back(one.type_name());
    std::string message = "no such overload: " + std::string(name) + "(" + join(types) + ")";
    const bool amounts = arguments.size() == 2 && (types[0] == "Quantity" || types[0] == "Semver");
    if (amounts && std::string_view("<=>=").find(name) != std::string_view::npos) {
        message += ", compare with x.compareTo(y) " + std::string(name) + " 0";
    }
    return {ErrorCode::kInvalidInput, std::move(message)};
}

Result<Value> apply_operator(std::string_view name, std::span<const Value> arguments) {
    if (arguments.size() == 1) {
        if (name == "-") return negated(arguments);
        if (const bool* const flag = arguments[0].as<bool>()) return Value(!*flag);
        return no_overload(name, arguments);
    }
    if (name == "==") return Value(arguments[0] == arguments[1]);
    if (name == "!=") return Value(!(arguments[0] == arguments[1]));
    if (name == "in") return contained(arguments);
    if (name.front() != '<' && name.front() != '>') return arithmetic(name, arguments);
    const auto order = compare(arguments[0], arguments[1]);
    if (!order) return no_overload(name, arguments);
    if (name == "<") return Value(*order < 0);
    if (name == "<=") return Value(*order <= 0);
    if (name == ">") return Value(*order > 0);
    return Value(*order >= 0);
}

const Function* find_function(std::string_view name) {
    for (const auto functions : {text_functions(), amount_functions()}) {
        const auto found = std::ranges::find(functions, name, &Function::name);
        if (found != functions.end()) return &*found;
    }
    return nullptr;
}

bool is_unsupported_function(std::string_view name) {
    constexpr std::array<std::string_view, 41> kOthers{
        "bytes",         "cidr",         "containsCIDR",
        "containsIP",    "duration",     "find",
        "findAll",       "family",       "flatten",
        "format",        "getDate",      "getDayOfMonth",
        "getDayOfWeek",  "getDayOfYear", "getFullYear",
        "getHost",       "getHours",     "getMinutes",
        "getMonth",      "getPort",      "getQuery",
        "getSeconds",    "intersects",   "ip",
        "isCIDR",        "isIP",         "isSorted",
        "isURL",         "max",          "min",
        "optFlatMap",    "optMap",       "quote",
        "reverse",       "sum",          "timestamp",
        "transformList", "transformMap", "transformMapEntry",
        "type",          "uint"};
    return std::ranges::find(kOthers, name) != kOthers.end();
}

std::vector<std::string> function_names() {
    std::vector<std::string> names{"has"};
    for (const auto functions : {text_functions(), amount_functions()}) {
        for (const Function& one : functions) names.emplace_back(one.name);
    }
    return names;
}

}  // namespace aliquot::cel
