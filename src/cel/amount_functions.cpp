// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/number.h"
#include "base/text.h"
#include "cel/functions.h"

namespace aliquot::cel {
namespace {

using Values = std::span<const Value>;
using k8s::Quantity;

Error wrong_amount(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

Result<Value> call_quantity(Values values) {
    const auto* const text = values[0].as<std::string>();
    if (text == nullptr) return no_overload("quantity", values);
    const auto amount = Quantity::parse(*text);
    if (!amount) return wrong_amount("not a quantity: " + values[0].text());
    return Value(*amount);
}
Result<Value> call_is_quantity(Values values) {
    const auto* const text = values[0].as<std::string>();
    if (text == nullptr) return no_overload("isQuantity", values);
    return Value(Quantity::parse(*text).has_value());
}

std::optional<std::optional<Semver>> version_of(Values values) {
    const auto* const text = values[0].as<std::string>();
    const bool* const lenient = values.size() > 1 ? values[1].as<bool>() : nullptr;
    if (text == nullptr || (values.size() > 1 && lenient == nullptr)) return std::nullopt;
    return lenient != nullptr && *lenient ? Semver::parse_lenient(*text) : Semver::parse(*text);
}
Result<Value> call_semver(Values values) {
    auto read = version_of(values);
    if (!read) return no_overload("semver", values);
    if (!*read) return wrong_amount("not a version of semver.org 2.0.0: " + values[0].text());
    return Value(*std::move(*read));
}
Result<Value> call_is_semver(Values values) {
    const auto read = version_of(values);
    if (!read) return no_overload("isSemver", values);
    return Value(read->has_value());
}

/// Of two amounts or two versions.
std::optional<std::strong_ordering> order_of(Values values) {
    const auto* const amount = values[0].as<Quantity>();
    const auto* const other_amount = values[1].as<Quantity>();
    if (amount != nullptr && other_amount != nullptr) {
        return amount->nanos() <=> other_amount->nanos();
    }
    const auto* const version = values[0].as<Semver>();
    const auto* const other_version = values[1].as<Semver>();
    if (version != nullptr && other_version != nullptr) return *version <=> *other_version;
    return std::nullopt;
}
Result<Value> call_compare(Values values) {
    const auto order = order_of(values);
    if (!order) return no_overload("compareTo", values);
    return Value(std::int64_t{*order < 0 ? -1 : *order > 0 ? 1 : 0});
}
Result<Value> call_is_greater(Values values) {
    const auto order = order_of(values);
    if (!order) return no_overload("isGreaterThan", values);
    return Value(*order > 0);
}
Result<Value> call_is_less(Values values) {
    const auto order = order_of(values);
    if (!order) return no_overload("isLessThan", values);
    return Value(*order < 0);
}

template <std::uint64_t Semver::*Part>
Result<Value> part_of_version(Values values) {
    const auto* const version = values[0].as<Semver>();
    if (version == nullptr) return no_overload("major", values);
    return Value(static_cast<std::int64_t>(version->*Part));
}

Result<Value> call_as_integer(Values values) {
    const auto* const amount = values[0].as<Quantity>();
    if (amount == nullptr) return no_overload("asInteger", values);
    const auto whole = amount->ones();
    if (!whole || amount->nanos() % 1'000'000'000 != 0) {
        return wrong_amount("cannot convert the quantity " + amount->canonical() +
                            " to an integer");
    }
    return Value(*whole);
}
Result<Value> call_is_integer(Values values) {
    const auto* const amount = values[0].as<Quantity>();
    if (amount == nullptr) return no_overload("isInteger", values);
    return Value(amount->ones().has_value() && amount->nanos() % 1'000'000'000 == 0);
}
Result<Value> call_as_float(Values values) {
    const auto* const amount = values[0].as<Quantity>();
    if (amount == nullptr) return no_overload("asApproximateFloat", values);
    return Value(amount->value());
}
Result<Value> call_sign(Values values) {
    const auto* const amount = values[0].as<Quantity>();
    if (amount == nullptr) return no_overload("sign", values);
    return Value(std::int64_t{amount->nanos() < 0 ? -1 : amount->nanos() > 0 ? 1 : 0});
}

Result<Value> sum_of(std::string_view name, Values values, int sign) {
    const auto* const amount = values[0].as<Quantity>();
    const auto* const other = values[1].as<Quantity>();
    const auto* const whole = values[1].as<std::int64_t>();
    if (amount == nullptr || (other == nullptr && whole == nullptr))
        return no_overload(name, values);
    const Quantity::Nanos more =
        other != nullptr ? other->nanos() : Quantity::Nanos{*whole} * 1'000'000'000;
    return Value(Quantity::of(amount->nanos() + sign * more, amount->format()));
}
Result<Value> call_add(Values values) { return sum_of("add", values, 1); }
Result<Value> call_sub(Values values) { return sum_of("sub", values, -1); }

Result<Value> call_size(Values values) {
    if (const auto size = values[0].size()) return Value(*size);
    return no_overload("size", values);
}

Result<Value> call_int(Values values) {
    if (values[0].as<std::int64_t>() != nullptr) return values[0];
    if (const auto* const number = values[0].as<double>()) {
        constexpr double kBeyond = 9223372036854775808.0;
        if (std::isfinite(*number) && *number > -kBeyond && *number < kBeyond) {
            return Value(static_cast<std::int64_t>(*number));
        }
        return wrong_amount("int(): out of range");
    }
    const auto* const text = values[0].as<std::string>();
    if (text == nullptr) return no_overload("int", values);
    if (const auto whole = parse_number<std::int64_t>(*text)) return Value(*whole);
    return wrong_amount("int(): not a number: " + values[0].text());
}
Result<Value> call_double(Values values) {
    if (values[0].as<double>() != nullptr) return values[0];
    if (const auto* const whole = values[0].as<std::int64_t>()) {
        return Value(static_cast<double>(*whole));
    }
    const auto* const text = values[0].as<std::string>();
    if (text == nullptr) return no_overload("double", values);
    if (const auto number = parse_number<double>(*text)) return Value(*number);
    return wrong_amount("double(): not a number: " + values[0].text());
}
Result<Value> call_string(Values values) {
    if (values[0].as<std::string>() != nullptr) return values[0];
    if (values[0].as<bool>() == nullptr && values[0].as<std::int64_t>() == nullptr &&
        values[0].as<double>() == nullptr) {
        return no_overload("string", values);
    }
    return Value(values[0].text());
}
Result<Value> call_bool(Values values) {
    if (values[0].as<bool>() != nullptr) return values[0];
    const auto* const text = values[0].as<std::string>();
    if (text != nullptr && (*text == "true" || *text == "false")) return Value(*text == "true");
    return no_overload("bool", values);
}
Result<Value> call_dyn(Values values) { return values[0]; }

/// The value itself where an attribute may be a list (DRAListTypeAttributes).
Result<Value> call_includes(Values values) {
    const auto* const list = values[0].as<List>();
    if (list == nullptr) return Value(values[0] == values[1]);
    return Value(std::ranges::find(*list, values[1]) != list->end());
}

Result<Value> call_has_value(Values values) {
    const auto* const maybe = values[0].as<Maybe>();
    if (maybe == nullptr) return no_overload("hasValue", values);
    return Value(maybe->value != nullptr);
}
Result<Value> call_value(Values values) {
    const auto* const maybe = values[0].as<Maybe>();
    if (maybe == nullptr) return no_overload("value", values);
    if (maybe->value == nullptr) return wrong_amount("optional.none() has no value");
    return *maybe->value;
}
Result<Value> call_or_value(Values values) {
    const auto* const maybe = values[0].as<Maybe>();
    if (maybe == nullptr) return no_overload("orValue", values);
    return maybe->value == nullptr ? values[1] : *maybe->value;
}
Result<Value> call_or(Values values) {
    const auto* const maybe = values[0].as<Maybe>();
    if (maybe == nullptr || values[1].as<Maybe>() == nullptr) return no_overload("or", values);
    return maybe->value == nullptr ? values[1] : values[0];
}

}  // namespace

std::span<const Function> amount_functions() {
    using Form = Function::Form;
    static constexpr std::array<Function, 27> kFunctions{{
        {"add", Form::kMethod, 1, 1, call_add},
        {"asApproximateFloat", Form::kMethod, 0, 0, call_as_float},
        {"asInteger", Form::kMethod, 0, 0, call_as_integer},
        {"bool", Form::kCall, 1, 1, call_bool},
        {"compareTo", Form::kMethod, 1, 1, call_compare},
        {"double", Form::kCall, 1, 1, call_double},
        {"dyn", Form::kCall, 1, 1, call_dyn},
        {"hasValue", Form::kMethod, 0, 0, call_has_value},
        {"includes", Form::kMethod, 1, 1, call_includes},
        {"int", Form::kCall, 1, 1, call_int},
        {"isGreaterThan", Form::kMethod, 1, 1, call_is_greater},
        {"isInteger", Form::kMethod, 0, 0, call_is_integer},
        {"isLessThan", Form::kMethod, 1, 1, call_is_less},
        {"isQuantity", Form::kCall, 1, 1, call_is_quantity},
        {"isSemver", Form::kCall, 1, 2, call_is_semver},
        {"major", Form::kMethod, 0, 0, part_of_version<&Semver::major>},
        {"minor", Form::kMethod, 0, 0, part_of_version<&Semver::minor>},
        {"or", Form::kMethod, 1, 1, call_or},
        {"orValue", Form::kMethod, 1, 1, call_or_value},
        {"patch", Form::kMethod, 0, 0, part_of_version<&Semver::patch>},
        {"quantity", Form::kCall, 1, 1, call_quantity},
        {"semver", Form::kCall, 1, 2, call_semver},
        {"sign", Form::kMethod, 0, 0, call_sign},
        {"size", Form::kBoth, 0, 0, call_size},
        {"string", Form::kCall, 1, 1, call_string},
        {"sub", Form::kMethod, 1, 1, call_sub},
        {"value", Form::kMethod, 0, 0, call_value},
    }};
    return kFunctions;
}

}  // namespace aliquot::cel
