// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace aliquot::metrics {

enum class Format : std::uint8_t {
    kText,         // Prometheus text format 0.0.4
    kOpenMetrics,  // OpenMetrics 1.0.0
};

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
///   text.family("requests_total", "Requests by answer.", "counter");
///   text.row("").label("code", 200).is(7);
class Text {
public:
    /// out   must outlive this; appended to
    explicit Text(std::string& out, Format format = Format::kText) : out_(out), format_(format) {}

    /// The family of the rows to come. The words must live until its last row.
    /// type   "gauge", "counter", "info", "histogram", "untyped"; in OpenMetrics a counter without _total at its
    ///        end and an info without _info are "unknown"
    /// unit   "seconds", "bytes", ..., told where the name ends in it; "none"
    void family(std::string_view name, std::string_view help, std::string_view type,
                std::string_view unit = "none");

    /// Begins a row.
    /// labels   as append_label() makes them; may be empty
    /// ending   of the name: "_bucket", "_sum", "_count" of a histogram
    Text& row(std::string_view labels, std::string_view ending = "");
    Text& more(std::string_view labels);
    Text& label(std::string_view name, std::string_view value);
    Text& label(std::string_view name, std::uint64_t value);

    /// Ends a row.
    void is(std::unsigned_integral auto value) { is(Decimal{value, 0, false}); }
    void is(Decimal value);
    /// Whole numbers without point, others with up to six decimals.
    void is(double value);
    /// A number as it is to stand there.
    void is(std::string_view written);

    /// A family of one row without labels.
    void single(std::string_view name, std::string_view help, std::string_view type,
                std::uint64_t value);

    /// Ends the text.
    void finish();

protected:
    [[nodiscard]] std::string_view name() const { return name_; }

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

}  // namespace aliquot::metrics
