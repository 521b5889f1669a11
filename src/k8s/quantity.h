// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aliquot::k8s {

/// An amount as Kubernetes writes it: "500m", "16Gi", "1e3". Exact: kept in billionths.
/// source   k8s.io/apimachinery/pkg/api/resource, the grammar in the comment of Quantity
class Quantity {
public:
    enum class Format : std::uint8_t { kDecimal, kBinary, kExponent };
    using Nanos = __int128;

    /// text     sign, digits with at most one point, then nothing, n u m k M G T P E, Ki .. Ei or a
    ///          decimal exponent; nothing before and nothing behind
    /// limits   less than a billionth is rounded up; more than 2^63-1 with Ki .. Ei is cut to that, as
    ///          Kubernetes does; other amounts of 10^28 and more, which Kubernetes keeps, are refused
    /// Empty: not a quantity. At least one digit is needed, as the grammar says.
    static std::optional<Quantity> parse(std::string_view text);
    /// The same of a field of an object, where Kubernetes lets blanks stand before and behind.
    static std::optional<Quantity> parse_field(std::string_view text);
    static Quantity of(Nanos nanos, Format format) { return {nanos, format}; }

    [[nodiscard]] Nanos nanos() const { return nanos_; }
    [[nodiscard]] Format format() const { return format_; }
    /// The nearest number.
    [[nodiscard]] double value() const;
    /// In whole ones and in thousandths, rounded away from 0; empty: beyond 2^63-1.
    [[nodiscard]] std::optional<std::int64_t> ones() const;
    [[nodiscard]] std::optional<std::int64_t> thousandths() const;
    /// The one spelling that API servers answer with: "0.5" is "500m", "1024Mi" is "1Gi".
    [[nodiscard]] std::string canonical() const;

private:
    Quantity(Nanos nanos, Format format) : nanos_(nanos), format_(format) {}
    Nanos nanos_;
    Format format_;
};

/// The value of a field ("16Gi" is 17179869184); empty: not a quantity.
std::optional<double> quantity_value(std::string_view text);

}  // namespace aliquot::k8s
