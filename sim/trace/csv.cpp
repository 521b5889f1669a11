// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/csv.h"

#include <algorithm>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/text.h"

namespace aliquot::sim::trace {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::string shown(std::string_view value) {
    constexpr std::size_t kMost = 40;
    std::string text = "'";
    for (const char c : value.substr(0, kMost)) {
        const auto byte = static_cast<unsigned char>(c);
        text += byte < 0x20U || byte == 0x7FU ? '?' : c;
    }
    // A cut inside a UTF-8 character would leave bytes that a terminal shows as rubbish.
    if (value.size() > kMost) {
        while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
            text.pop_back();
        }
        if ((static_cast<unsigned char>(text.back()) & 0x80U) != 0) text.pop_back();
        text += "...";
    }
    return text + '\'';
}

CsvReader::CsvReader(std::string name, std::string_view text, CsvLimits limits)
    : name_(std::move(name)), text_(text), limits_(limits) {}

Error CsvReader::wrong(unsigned column, const std::string& message) const {
    return {ErrorCode::kInvalidInput, name_ + ':' + std::to_string(std::max(line_, 1U)) + ':' +
                                          std::to_string(std::max(column, 1U)) + ": " + message};
}

Result<bool> CsvReader::next() {
    if (text_.size() > limits_.bytes) {
        return wrong(1, "the file has " + std::to_string(text_.size()) + " bytes: at most " +
                            std::to_string(limits_.bytes) + " were expected; split it");
    }
    while (position_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', position_), text_.size());
        std::string_view row = text_.substr(position_, end - position_);
        position_ = end + 1;
        ++line_;
        shift_ = 0;
        if (line_ == 1 && row.starts_with(kByteOrderMark)) {
            row.remove_prefix(kByteOrderMark.size());
            shift_ = static_cast<unsigned>(kByteOrderMark.size());
        }
        if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
        if (row.size() > limits_.line_bytes) {
            return wrong(1, "the line has " + std::to_string(row.size()) + " bytes: at most " +
                                std::to_string(limits_.line_bytes) +
                                " were expected; is this a CSV file with a line for each row?");
        }
        if (std::all_of(row.begin(), row.end(), is_blank) || row.front() == '#') continue;
        if (++rows_ > limits_.rows) {
            return wrong(1, "more than " + std::to_string(limits_.rows) + " rows; split the file");
        }
        auto done = split(row);
        if (!done) return std::move(done).error();
        return true;
    }
    return false;
}

Result<Done> CsvReader::split(std::string_view row) {
    fields_.clear();
    unquoted_.clear();
    std::size_t at = 0;
    while (true) {
        if (fields_.size() == limits_.columns) {
            return wrong(static_cast<unsigned>(at) + shift_ + 1,
                         "more than " + std::to_string(limits_.columns) + " fields in one line");
        }
        while (at < row.size() && is_blank(row[at])) ++at;
        if (at < row.size() && row[at] == '"') {
            auto after = read_quoted(row, at);
            if (!after) return std::move(after).error();
            at = *after;
        } else {
            const std::size_t end = std::min(row.find(',', at), row.size());
            std::size_t last = end;
            while (last > at && is_blank(row[last - 1])) --last;
            const std::string_view text = row.substr(at, last - at);
            for (const char stranger : {'"', '\0', '\r'}) {
                const std::size_t where = text.find(stranger);
                if (where == std::string_view::npos) continue;
                return wrong(
                    static_cast<unsigned>(at + where) + shift_ + 1,
                    stranger == '"' ? shown(text) +
                                          " has a quote inside: put the whole field in quotes and "
                                          "write \"\" for each quote in it"
                    : stranger == '\r' ? std::string("a carriage return inside a line: lines end "
                                                     "with LF or CRLF; convert the file")
                                       : std::string("a NUL byte: text was expected; is this a CSV "
                                                     "file in UTF-8?"));
            }
            fields_.push_back({text, static_cast<unsigned>(at) + shift_ + 1});
            at = end;
        }
        if (at >= row.size()) return Done{};
        ++at;  // the comma
    }
}

/// Reads a field in quotes that begins at `start`; returns where its comma or the line's end is.
Result<std::size_t> CsvReader::read_quoted(std::string_view row, std::size_t start) {
    const auto column = static_cast<unsigned>(start) + shift_ + 1;
    std::string text;
    std::size_t at = start + 1;
    while (true) {
        const std::size_t quote = row.find('"', at);
        if (quote == std::string_view::npos) {
            return wrong(column,
                         "a quote is opened and not closed on this line: close it, or "
                         "write \"\" for a quote inside quotes");
        }
        text.append(row.substr(at, quote - at));
        at = quote + 1;
        if (at >= row.size() || row[at] != '"') break;
        text += '"';
        ++at;
    }
    if (text.find('\0') != std::string::npos) {
        return wrong(column, "a NUL byte: text was expected; is this a CSV file in UTF-8?");
    }
    while (at < row.size() && is_blank(row[at])) ++at;
    if (at < row.size() && row[at] != ',') {
        return wrong(static_cast<unsigned>(at) + shift_ + 1,
                     shown(row.substr(at, row.find(',', at) - at)) +
                         " behind a closed quote: a comma or the end of the line was expected");
    }
    unquoted_.push_back(std::move(text));
    fields_.push_back({unquoted_.back(), column});
    return at;
}

Result<Done> CsvTable::read_header(std::string_view what, std::span<const std::string_view> columns,
                                   std::size_t required) {
    columns_ = columns;
    at_.assign(columns.size(), kAbsent);
    const std::string expected =
        std::string(what) + " begins with the line " + join(columns.first(required), ",");
    auto row = reader_.next();
    if (!row) return std::move(row).error();
    if (!*row) return reader_.wrong(1, "the file is empty: " + expected);
    const auto fields = reader_.fields();
    width_ = fields.size();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto known = std::find(columns.begin(), columns.end(), fields[i].text);
        if (known == columns.end()) continue;
        std::size_t& at = at_[static_cast<std::size_t>(known - columns.begin())];
        if (at != kAbsent) {
            return reader_.wrong(fields[i].column, "column " + shown(fields[i].text) +
                                                       " stands here twice: remove one of them");
        }
        at = i;
    }
    for (std::size_t i = 0; i < required; ++i) {
        if (at_[i] != kAbsent) continue;
        std::vector<std::string_view> found;
        for (const CsvField& field : fields) {
            if (std::find(columns.begin(), columns.end(), field.text) == columns.end()) {
                found.push_back(field.text);
            }
        }
        const std::string_view near = nearest_word(columns[i], found);
        for (const CsvField& field : fields) {
            if (near.empty() || field.text != near) continue;
            return reader_.wrong(field.column, "column " + shown(near) + ": did you mean '" +
                                                   std::string(columns[i]) + "'? " + expected);
        }
        return reader_.wrong(1, "no column '" + std::string(columns[i]) + "' in the first line (" +
                                    shown(fields.front().text) + ", ...): " + expected);
    }
    return Done{};
}

Result<bool> CsvTable::next() {
    auto row = reader_.next();
    if (!row || !*row) return row;
    const auto fields = reader_.fields();
    if (fields.size() == width_) return true;
    return reader_.wrong(
        fields.back().column,
        std::to_string(fields.size()) + (fields.size() == 1 ? " field" : " fields") +
            ": as many as the first line has columns were expected, " + std::to_string(width_) +
            "; put a field that has a comma inside into quotes");
}

CsvField CsvTable::field(std::size_t column) const {
    const std::size_t at = at_[column];
    return at == kAbsent ? CsvField{} : reader_.fields()[at];
}

Error CsvTable::wrong(std::size_t column, const std::string& expected) const {
    const CsvField found = field(column);
    return reader_.wrong(found.column, std::string(columns_[column]) + " is " +
                                           (found.text.empty() ? "empty" : shown(found.text)) +
                                           ": " + expected);
}

Result<std::int64_t> CsvTable::number(std::size_t column, std::int64_t least, std::int64_t most,
                                      const std::int64_t* otherwise) const {
    const std::string_view text = field(column).text;
    if (text.empty() && otherwise != nullptr) return *otherwise;
    const auto value = parse_number<std::int64_t>(text);
    if (value && *value >= least && *value <= most) return *value;
    return wrong(column, "a whole number from " + std::to_string(least) + " to " +
                             std::to_string(most) + " was expected");
}

Result<std::int64_t> CsvTable::decimal(std::size_t column, std::int64_t scale,
                                       std::int64_t most) const {
    const std::string_view text = field(column).text;
    if (text.empty()) return 0;
    const std::size_t point = std::min(text.find('.'), text.size());
    const std::string_view whole = text.substr(0, point);
    const std::string_view part = point == text.size() ? "" : text.substr(point + 1);
    std::int64_t value = 0;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool digits = !(whole.empty() && part.empty()) && whole.size() <= 10 &&
                        part.size() <= 18 && std::all_of(whole.begin(), whole.end(), is_digit) &&
                        std::all_of(part.begin(), part.end(), is_digit);
    for (const char c : whole) value = digits ? value * 10 + (c - '0') : 0;
    value *= scale;
    std::int64_t unit = scale;
    for (std::size_t i = 0; digits && i < part.size() && unit > 0; ++i) {
        // The digit after the last one that counts rounds.
        if (unit == 1 && part[i] >= '5') ++value;
        unit /= 10;
        value += unit * (part[i] - '0');
    }
    if (digits && value <= most * scale) return value;
    return wrong(column,
                 "a number from 0 to " + std::to_string(most) + " was expected, such as 3.06");
}

Result<bool> CsvTable::flag(std::size_t column) const {
    const std::string_view text = field(column).text;
    if (text.empty() || text == "0" || same_letters(text, "false")) return false;
    if (text == "1" || same_letters(text, "true")) return true;
    return wrong(column, "0 or 1 was expected");
}

}  // namespace aliquot::sim::trace
