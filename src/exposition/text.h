// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "exposition/catalogue.h"
#include "exposition/style.h"

namespace aliquot::exposition {

/// value * 10^-digits, exactly.
struct Decimal {
    std::uint64_t value = 0;
    unsigned digits = 0;  // 0..18
    bool padded = false;  // zeros at the end stay
};

/// Appends `,name="value"` (without the comma to an empty text). Value: any bytes; what Prometheus
/// would refuse is replaced.
void append_label(std::string& labels, std::string_view name, std::string_view value);
void append_label(std::string& labels, std::string_view name, std::uint64_t value);

/// Writes families in one of the formats. Rows of a family follow one another; its head is written
/// with the first, so that a family without rows is not there at all.
///
///   text.family("gpu_throttle_active");
///   text.row(labels_of_the_gpu).label("reason", "sw_power").is(1);
class Text {
public:
    /// out   must outlive this; appended to
    Text(std::string& out, Format format) : out_(out), format_(format) {}

    /// The family of the rows to come; that of the rows before is no change.
    /// name   of the catalogue: an unknown one is our bug and ends the program
    void family(std::string_view name);
    /// The same with other words than the catalogue's.
    /// type   "gauge", "counter", "info", ...
    void family(std::string_view name, std::string_view help, std::string_view type,
                std::string_view unit);

    /// Begins a row.
    /// labels   as append_label() makes them; may be empty
    Text& row(std::string_view labels);
    Text& more(std::string_view labels);
    Text& label(std::string_view name, std::string_view value);
    Text& label(std::string_view name, std::uint64_t value);

    /// Ends a row.
    void is(std::unsigned_integral auto value) { is(Decimal{value, 0, false}); }
    void is(Decimal value);
    /// Whole numbers without point, others with up to six decimals.
    void is(double value);

    /// Ends the text.
    void finish();

private:
    void head();
    void separate();

    std::string& out_;
    Format format_;
    std::string_view name_;
    std::string_view help_;
    std::string_view type_;
    std::string_view unit_;
    bool headed_ = false;
    bool labelled_ = false;
};

}  // namespace aliquot::exposition
