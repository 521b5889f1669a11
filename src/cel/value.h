// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cel/semver.h"
#include "k8s/quantity.h"

namespace aliquot::cel {

class Value;
using List = std::vector<Value>;

/// Keys are texts only: what selectors of devices look into.
struct Map {
    std::map<std::string, Value, std::less<>> entries{};
    bool missing_is_empty = false;  // a key that is not there is an empty map: domains of a device
};

/// optional_type of CEL.
struct Maybe {
    std::shared_ptr<const Value> value{};  // nullptr: none
};

/// A value of an expression. Cheap to copy: lists and maps are shared and never change.
class Value {
public:
    using State =
        std::variant<std::monostate, bool, std::int64_t, double, std::string, Semver, k8s::Quantity,
                     Maybe, std::shared_ptr<const List>, std::shared_ptr<const Map>>;

    Value() = default;
    Value(bool value) : state_(value) {}                          // NOLINT(*-explicit-*)
    Value(std::int64_t value) : state_(value) {}                  // NOLINT(*-explicit-*)
    Value(double value) : state_(value) {}                        // NOLINT(*-explicit-*)
    Value(std::string value) : state_(std::move(value)) {}        // NOLINT(*-explicit-*)
    Value(std::string_view value) : Value(std::string(value)) {}  // NOLINT(*-explicit-*)
    Value(const char* value) : Value(std::string(value)) {}       // NOLINT(*-explicit-*)
    Value(Semver value) : state_(std::move(value)) {}             // NOLINT(*-explicit-*)
    Value(k8s::Quantity value) : state_(value) {}                 // NOLINT(*-explicit-*)
    Value(Maybe value) : state_(std::move(value)) {}              // NOLINT(*-explicit-*)
    Value(List value)
        : state_(std::make_shared<const List>(std::move(value))) {}  // NOLINT(*-explicit-*)
    Value(Map value)
        : state_(std::make_shared<const Map>(std::move(value))) {}  // NOLINT(*-explicit-*)

    /// nullptr: it is of another type.
    template <class T>
    [[nodiscard]] const T* as() const {
        if constexpr (std::is_same_v<T, List> || std::is_same_v<T, Map>) {
            const auto* const shared = std::get_if<std::shared_ptr<const T>>(&state_);
            return shared == nullptr ? nullptr : shared->get();
        } else {
            return std::get_if<T>(&state_);
        }
    }
    [[nodiscard]] bool is_null() const { return state_.index() == 0; }
    [[nodiscard]] std::string_view type_name() const;

    /// Texts have their length in code points; empty: it has none.
    [[nodiscard]] std::optional<std::int64_t> size() const;
    /// For messages: "'a text'", 4, [1, 2].
    [[nodiscard]] std::string text() const;

    /// Of two types: false, but numbers are compared as numbers.
    friend bool operator==(const Value& left, const Value& right);

private:
    State state_;
};

/// Less, equal or greater; empty: the two have no order.
std::optional<std::partial_ordering> compare(const Value& left, const Value& right);

}  // namespace aliquot::cel
