// SPDX-License-Identifier: Apache-2.0
//
// The lines of `aliquot detect --lines`: in, an escaped text; out, one JSON object.
#include <array>
#include <cmath>
#include <cstdio>

#include "detect/detect.h"

namespace aliquot::detect {
namespace {

/// Length of the UTF-8 sequence at the head of `text`; 0: it is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned head = byte(0);
    if (head < 0x80) return 1;
    const std::size_t length = head >= 0xF0 ? 4 : head >= 0xE0 ? 3 : 2;
    if (head < 0xC2 || head > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return 0;
    }
    const bool overlong = (head == 0xE0 && byte(1) < 0xA0) || (head == 0xF0 && byte(1) < 0x90);
    const bool beyond = (head == 0xED && byte(1) > 0x9F) || (head == 0xF4 && byte(1) > 0x8F);
    return overlong || beyond ? 0 : length;
}

void append_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const char byte = text.front();
        if (length == 0) {
            out += "\\ufffd";
        } else if (byte == '"' || byte == '\\') {
            out += '\\';
            out += byte;
        } else if (byte == '\n') {
            out += "\\n";
        } else if (byte == '\t') {
            out += "\\t";
        } else if (length == 1 && (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F)) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(byte));
            out += code.data();
        } else {
            out.append(text.substr(0, length));
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
}

void append_number(std::string& out, double number) {
    std::array<char, 32> digits{};
    const double rounded = std::round(number * 1000) / 1000;
    std::snprintf(digits.data(), digits.size(), "%.10g", rounded == 0 ? 0.0 : rounded);
    out += digits.data();
}

void append_field(std::string& out, std::string_view name) {
    out += ',';
    append_string(out, name);
    out += ':';
}

void append_evidence(std::string& out, const Evidence& one, std::string_view text) {
    out += "{\"text\":";
    append_string(out, text.substr(one.start, one.end - one.start));
    append_field(out, "start");
    out += std::to_string(one.start);
    append_field(out, "end");
    out += std::to_string(one.end);
    append_field(out, "weight");
    append_number(out, one.weight);
    append_field(out, "source");
    append_string(out, name_of(one.source));
    append_field(out, "scope");
    append_string(out, name_of(one.scope));
    out += '}';
}

}  // namespace

std::string unescape_line(std::string_view line) {
    std::string text;
    text.reserve(line.size());
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char next = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : '\0';
        if (next == 't' || next == 'n' || next == 'r' || next == '\\') {
            text += next == 't' ? '\t' : next == 'n' ? '\n' : next == 'r' ? '\r' : '\\';
            ++i;
        } else {
            text += line[i];
        }
    }
    return text;
}

std::string to_json_line(const Verdict& verdict, std::string_view text) {
    std::string out = "{\"label\":";
    append_string(out, name_of(verdict.label));
    append_field(out, "gpu_count");
    out += verdict.need.count ? std::to_string(*verdict.need.count) : "null";
    append_field(out, "gpu_memory_gib");
    if (verdict.need.memory_gib) {
        append_number(out, *verdict.need.memory_gib);
    } else {
        out += "null";
    }
    append_field(out, "gpu_type");
    if (verdict.need.type.empty()) {
        out += "null";
    } else {
        append_string(out, verdict.need.type);
    }
    append_field(out, "confidence");
    append_number(out, verdict.confidence);
    append_field(out, "kind");
    append_string(out, name_of(verdict.kind));
    append_field(out, "score");
    append_number(out, verdict.score);
    if (verdict.cut) {
        append_field(out, "truncated");
        out += "true";
    }
    append_field(out, "evidence");
    out += '[';
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
    constexpr std::array<std::string_view, 14> kNames = {
        "ask", "hardware", "stack", "framework", "model",    "task",  "scale",
        "cpu", "classic",  "edge",  "remote",    "optional", "small", "keyword"};
    return kNames.at(static_cast<std::size_t>(source));
}

std::string_view name_of(Scope scope) {
    constexpr std::array<std::string_view, 6> kNames = {"plain",     "negated", "meta",
                                                        "elsewhere", "comment", "switched off"};
    return kNames.at(static_cast<std::size_t>(scope));
}

}  // namespace aliquot::detect
