// SPDX-License-Identifier: Apache-2.0
//
// The lines of `aliquot detect --lines`: in, an escaped text; out, one JSON object.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "base/json_text.h"
#include "detect/detect.h"

namespace aliquot::detect {
namespace {

void append_count(std::string& out, std::size_t number) {
    std::array<char, 24> digits;  // NOLINT(*member-init): filled as far as it is read
    const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

/// As printf's %.10g of the number rounded to thousandths.
void append_number(std::string& out, double number) {
    const double thousandths = std::round(number * 1000);
    if (!(std::abs(thousandths) < 1e9)) {
        std::array<char, 32> digits{};
        std::snprintf(digits.data(), digits.size(), "%.10g", thousandths / 1000);
        out += digits.data();
        return;
    }
    if (thousandths < 0) out += '-';
    const auto all = static_cast<std::uint32_t>(std::abs(thousandths));
    append_count(out, all / 1000);
    const std::uint32_t rest = all % 1000;
    if (rest == 0) return;
    out += '.';
    out += static_cast<char>('0' + rest / 100);
    if (rest % 100 == 0) return;
    out += static_cast<char>('0' + rest / 10 % 10);
    if (rest % 10 != 0) out += static_cast<char>('0' + rest % 10);
}

void append_evidence(std::string& out, const Evidence& one, std::string_view text) {
    out += "{\"text\":";
    append_json_quoted(out, text.substr(one.start, one.end - one.start));
    out += ",\"start\":";
    append_count(out, one.start);
    out += ",\"end\":";
    append_count(out, one.end);
    out += ",\"weight\":";
    append_number(out, one.weight);
    out += ",\"source\":\"";
    out += name_of(one.source);
    out += "\",\"scope\":\"";
    out += name_of(one.scope);
    out += "\"}";
}

}  // namespace

std::string unescape_line(std::string_view line) {
    std::string text;
    text.reserve(line.size());
    while (!line.empty()) {
        const std::size_t plain = std::min(line.find('\\'), line.size());
        text.append(line.substr(0, plain));
        line.remove_prefix(plain);
        if (line.empty()) break;
        const char next = line.size() > 1 ? line[1] : '\0';
        const bool known = next == 't' || next == 'n' || next == 'r' || next == '\\';
        if (known) {
            text += next == 't' ? '\t' : next == 'n' ? '\n' : next == 'r' ? '\r' : '\\';
        } else {
            text += '\\';
        }
        line.remove_prefix(known ? 2 : 1);
    }
    return text;
}

std::string to_json_line(const Verdict& verdict, std::string_view text) {
    std::string out;
    out.reserve(160 + 112 * verdict.evidence.size());  // seldom more
    out += "{\"label\":\"";
    out += name_of(verdict.label);
    out += "\",\"gpu_count\":";
    if (verdict.need.count) {
        append_count(out, *verdict.need.count);
    } else {
        out += "null";
    }
    if (!verdict.need.count_reason.empty()) {
        out += ",\"gpu_count_reason\":";
        append_json_quoted(out, verdict.need.count_reason);
    }
    out += ",\"gpu_memory_gib\":";
    if (verdict.need.memory_gib) {
        append_number(out, *verdict.need.memory_gib);
    } else {
        out += "null";
    }
    out += ",\"gpu_type\":";
    if (verdict.need.type.empty()) {
        out += "null";
    } else {
        append_json_quoted(out, verdict.need.type);
    }
    out += ",\"confidence\":";
    append_number(out, verdict.confidence);
    out += ",\"kind\":\"";
    out += name_of(verdict.kind);
    out += "\",\"score\":";
    append_number(out, verdict.score);
    if (verdict.cut) out += ",\"truncated\":true";
    out += ",\"evidence\":[";
    for (const Evidence& one : verdict.evidence) {
        if (&one != &verdict.evidence.front()) out += ',';
        append_evidence(out, one, text);
    }
    out += "]}";
    return out;
}

std::string_view name_of(Label label) {
    constexpr std::array<std::string_view, 3> kNames = {"cpu", "gpu", "optional"};
    return kNames.at(static_cast<std::size_t>(label));
}

std::string_view name_of(Kind kind) {
    constexpr std::array<std::string_view, 7> kNames = {
        "unknown", "text", "requirements", "dockerfile", "manifest", "code", "command"};
    return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(Source source) {
    constexpr std::array<std::string_view, 15> kNames = {
        "ask",     "hardware", "stack",  "framework", "model", "task", "scale",  "cpu",
        "classic", "edge",     "remote", "optional",  "small", "word", "keyword"};
    return kNames.at(static_cast<std::size_t>(source));
}

std::string_view name_of(Scope scope) {
    constexpr std::array<std::string_view, 6> kNames = {"plain",     "negated", "meta",
                                                        "elsewhere", "comment", "switched off"};
    return kNames.at(static_cast<std::size_t>(scope));
}

}  // namespace aliquot::detect
