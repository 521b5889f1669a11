// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/form_values.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.h"
#include "base/text.h"
#include "k8s/quantity.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

constexpr double kNoEnd = 9.3e18;  // above every whole number of 64 bits

/// "1..8", "0..": a range of whole numbers.
std::optional<std::pair<double, double>> range_of(std::string_view word) {
    const auto dots = word.find("..");
    if (dots == std::string_view::npos) return std::nullopt;
    const auto first = parse_number<long>(word.substr(0, dots));
    if (!first) return std::nullopt;
    const std::string_view end = word.substr(dots + 2);
    const auto last = parse_number<long>(end);
    return std::pair{static_cast<double>(*first), last ? static_cast<double>(*last) : kNoEnd};
}

/// A field of a schedule: where its numbers end, and the names that it knows.
struct CronField {
    int first;
    int last;
    std::string_view names;  // of three letters each
};
constexpr std::array<CronField, 5> kCronFields{{{0, 59, ""},
                                                {0, 23, ""},
                                                {1, 31, ""},
                                                {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                                {0, 6, "sunmontuewedthufrisat"}}};

std::optional<int> cron_number(const CronField& field, std::string_view text) {
    if (text.size() == 3 && !field.names.empty()) {
        const auto at = field.names.find(lower(text));
        if (at != std::string_view::npos && at % 3 == 0) {
            return field.first + static_cast<int>(at / 3);
        }
    }
    const auto number = parse_number<int>(text);
    if (!number || *number < field.first || *number > field.last) return std::nullopt;
    return *number;
}

bool is_cron_part(const CronField& field, std::string_view part) {
    const auto slash = part.find('/');
    const std::string_view range = part.substr(0, slash);
    if (slash != std::string_view::npos) {
        const auto step = parse_number<int>(part.substr(slash + 1));
        if (!step || *step <= 0) return false;
    }
    if (range == "*" || range == "?") return true;
    const auto dash = range.find('-');
    const auto first = cron_number(field, range.substr(0, dash));
    if (!first || dash == std::string_view::npos) return first.has_value();
    const auto last = cron_number(field, range.substr(dash + 1));
    return last && *first <= *last;
}

std::vector<std::string_view> fields_of(std::string_view text) {
    std::vector<std::string_view> fields;
    for (const std::string_view word : split(text, ' ')) {
        if (!word.empty()) fields.push_back(word);
    }
    return fields;
}

bool is_whole_text(std::string_view text) { return parse_number<long>(text).has_value(); }

bool is_percent(std::string_view text) {
    return text.ends_with('%') ? is_whole_text(text.substr(0, text.size() - 1))
                               : is_whole_text(text);
}

/// "1d12h": units from years to milliseconds, the larger one first.
bool is_span(std::string_view text) {
    constexpr std::array<std::string_view, 7> kUnits{"y", "w", "d", "h", "m", "s", "ms"};
    if (text == "0") return true;
    std::size_t next = 0;
    while (!text.empty()) {
        const auto digits = text.find_first_not_of("0123456789");
        if (digits == 0 || digits == std::string_view::npos) return false;
        text.remove_prefix(digits);
        const auto end = std::min(text.find_first_of("0123456789"), text.size());
        const auto* const unit = std::find(kUnits.begin(), kUnits.end(), text.substr(0, end));
        const auto at = static_cast<std::size_t>(unit - kUnits.begin());
        if (unit == kUnits.end() || at < next) return false;
        next = at + 1;
        text.remove_prefix(end);
    }
    return next > 0;
}

bool is_bytes(std::string_view text) {
    const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
    if (end == 0 && text != "-1") return false;
    const std::string unit = lower(trim(text.substr(end)));
    constexpr std::array<std::string_view, 12> kUnits{"",  "b",  "k", "kb", "m", "mb",
                                                      "g", "gb", "t", "tb", "p", "pb"};
    constexpr std::array<std::string_view, 4> kBinary{"kib", "mib", "gib", "tib"};
    return text == "-1" || std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end() ||
           std::find(kBinary.begin(), kBinary.end(), unit) != kBinary.end();
}

/// One end of a mapping: "8080", or "8080-8090".
bool is_port_range(std::string_view text) {
    constexpr unsigned kLast = 65'535;
    const auto dash = text.find('-');
    const auto first = parse_number<unsigned>(text.substr(0, dash));
    if (!first || *first > kLast) return false;
    if (dash == std::string_view::npos) return true;
    const auto last = parse_number<unsigned>(text.substr(dash + 1));
    return last && *last >= *first && *last <= kLast;
}

/// [[ADDRESS:]HOST:]CONTAINER[/PROTOCOL] of docker.
bool are_ports(std::string_view text) {
    const auto slash = text.find('/');
    const std::string_view protocol =
        slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
    if (!protocol.empty() && protocol != "tcp" && protocol != "udp" && protocol != "sctp")
        return false;
    text = text.substr(0, slash);
    if (contains(text, "$") || text.starts_with('[')) return true;  // a variable, IPv6
    const auto parts = split(text, ':');
    if (parts.empty() || parts.size() > 3 || !is_port_range(parts.back())) return false;
    const std::string_view host = parts.size() > 1 ? parts[parts.size() - 2] : std::string_view();
    return host.empty() || is_port_range(host);
}

bool is_beyond_whole(std::string_view text) {
    constexpr long kWhole = 100;
    return text.ends_with('%') &&
           parse_number<long>(text.substr(0, text.size() - 1)).value_or(0) > kWhole;
}

/// What a value of the type is; empty: nothing is wrong.
std::string_view wrong_type(FormType type, const Value& value) {
    const std::string& text = value.scalar;
    const bool whole = value.kind == Value::Kind::kInteger;
    switch (type) {
        case FormType::kText:
            return value.is_string() ? "" : "a string: put it in quotes";
        case FormType::kWhole:
            return whole ? "" : "a whole number, without quotes";
        case FormType::kCount:
            return whole || is_whole_text(text) ? "" : "a whole number";
        case FormType::kNumber:
            return whole || value.kind == Value::Kind::kFloat ? "" : "a number, without quotes";
        case FormType::kFlag:
            return value.kind == Value::Kind::kBool ? "" : "true or false, without quotes";
        case FormType::kQuantity:
            return k8s::Quantity::parse_field(text) ? "" : "a quantity such as 8, 500m or 16Gi";
        case FormType::kDuration:
            return is_go_duration(text) ? "" : "a duration such as 30s, 5m or 1h30m";
        case FormType::kPercent:
            return is_percent(text) ? "" : "a whole number or a percentage such as 10%";
        case FormType::kSpan:
            return is_span(text) ? "" : "a duration of Prometheus such as 30s, 5m, 1h30m or 7d";
        case FormType::kBytes:
            return is_bytes(text) ? "" : "a number of bytes such as 512m or 8gb";
        case FormType::kPorts:
            return are_ports(text) ? "" : "HOST:CONTAINER, with ports from 1 to 65535";
        case FormType::kShare:
            return is_percent(text) && !is_beyond_whole(text)
                       ? ""
                       : "a whole number, or a percentage of at most 100%";
        case FormType::kCron:
            return is_cron_schedule(text) ? ""
                                          : "five fields: minute 0-59, hour 0-23, day 1-31, month "
                                            "1-12, weekday 0-6";
        case FormType::kPath:
            return text.starts_with('/') ? "" : "an absolute path";
        default:
            return "";
    }
}

std::string list_text(const std::vector<std::string_view>& values) {
    constexpr std::size_t kMost = 8;
    std::string text;
    for (std::size_t i = 0; i < values.size() && i < kMost; ++i) {
        std::string_view word = values[i];
        if (word.starts_with('=')) word.remove_prefix(1);
        if (!text.empty()) text += ", ";
        text += word;
    }
    return values.size() > kMost ? text + ", ..." : text;
}

/// "UTC+2": the database has only Etc/GMT-2, and GMT+0.
bool is_offset(std::string_view zone) {
    const auto sign = zone.find_first_of("+-");
    return sign != std::string_view::npos && sign + 1 < zone.size() && zone[sign + 1] >= '0' &&
           zone[sign + 1] <= '9' && !zone.starts_with("Etc/") && !zone.starts_with("GMT");
}

/// Against the words and ranges of the form.
std::optional<WrongValue> wrong_word(const FormNode& form, const Value& value) {
    std::vector<std::string_view> words;
    bool near_only = form.type == FormType::kZone;
    for (std::string_view word : form.values) {
        if (const auto range = range_of(word)) {
            const auto number = k8s::quantity_value(value.scalar);
            if (number && *number >= range->first && *number <= range->second) return std::nullopt;
            if (!number) continue;
            return WrongValue{false,
                              range->second == kNoEnd
                                  ? "at least " + std::string(word.substr(0, word.find("..")))
                                  : "a number of " + std::string(word),
                              {}};
        }
        if (word.starts_with('=')) {
            near_only = true;
            word.remove_prefix(1);
        }
        if (word == value.scalar) return std::nullopt;
        words.push_back(word);
    }
    if (words.empty()) return std::nullopt;
    const std::string meant(nearest_key(value.scalar, words));
    if (form.type == FormType::kZone && is_offset(value.scalar))
        return WrongValue{false, "a name such as Europe/Berlin, or Etc/GMT-1", meant};
    if (near_only && meant.empty()) return std::nullopt;
    return WrongValue{false, near_only ? meant : "one of " + list_text(words), meant};
}

}  // namespace

bool is_cron_schedule(std::string_view text) {
    text = trim(text);
    if (text.starts_with('@')) {
        constexpr std::array<std::string_view, 7> kNames{
            "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"};
        return std::find(kNames.begin(), kNames.end(), text) != kNames.end() ||
               (text.starts_with("@every ") && is_go_duration(trim(text.substr(7))));
    }
    if (text.starts_with("TZ=") || text.starts_with("CRON_TZ="))
        return true;  // CRON has no say here
    const std::vector<std::string_view> fields = fields_of(text);
    if (fields.size() != kCronFields.size()) return false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto parts = split(fields[i], ',');
        if (!std::all_of(parts.begin(), parts.end(), [i](std::string_view part) {
                return is_cron_part(kCronFields[i], part);
            })) {
            return false;
        }
    }
    return true;
}

bool is_go_duration(std::string_view text) {
    if (text == "0") return true;
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (text.empty()) return false;
    while (!text.empty()) {
        std::size_t digits = 0;
        while (digits < text.size() &&
               ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.')) {
            ++digits;
        }
        if (digits == 0) return false;
        text.remove_prefix(digits);
        const auto unit = std::min(text.find_first_of("0123456789."), text.size());
        constexpr std::array<std::string_view, 7> kUnits{"ns", "us", "\xc2\xb5s", "ms",
                                                         "s",  "m",  "h"};
        if (std::find(kUnits.begin(), kUnits.end(), text.substr(0, unit)) == kUnits.end()) {
            return false;
        }
        text.remove_prefix(unit);
    }
    return true;
}

std::optional<WrongValue> find_wrong_value(const FormNode& form, const Value& value) {
    if (value.kind == Value::Kind::kNull || is_placeholder(value.scalar)) return std::nullopt;
    if (value.scalar.empty() && form.type != FormType::kWhole) return std::nullopt;
    if (!form.values.empty() &&
        std::find(form.values.begin(), form.values.end(), value.scalar) != form.values.end()) {
        return std::nullopt;
    }
    const std::string_view expected = wrong_type(form.type, value);
    const bool words = form.type == FormType::kText || form.type == FormType::kWhole ||
                       form.type == FormType::kCount || form.type == FormType::kNumber ||
                       form.type == FormType::kFlag;
    if (!expected.empty()) return WrongValue{words, std::string(expected), {}};
    if (form.type == FormType::kDuration) return std::nullopt;  // the words are for what is none
    return wrong_word(form, value);
}

}  // namespace aliquot::lint
