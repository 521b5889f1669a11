// SPDX-License-Identifier: Apache-2.0
//
// What stands right behind a piece of evidence: the value of a switch, an answer, the rest of a name.
#include <algorithm>
#include <array>
#include <string>

#include "base/number.h"
#include "detect/match.h"

namespace aliquot::detect {
namespace {

constexpr bool is_value_byte(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == ',' || byte == '.';
}

/// Behind the name of a variable in a manifest stands "value" with what it is: one past that word.
std::size_t end_of_value_key(std::string_view text, std::size_t end) {
    constexpr std::size_t kFarthest = 40;
    const std::string_view rest = text.substr(end, kFarthest);
    const std::size_t word = rest.find_first_not_of(" \t\r\n\"',");
    if (word == std::string_view::npos || word == 0) return end;
    if (!rest.substr(word).starts_with("value")) return end;
    return end + word + std::string_view("value").size();
}

/// The 4 of "a100:4" and "a100_80gb:4", from somewhere in the type on; 0: there is none.
unsigned count_behind_type(std::string_view text) {
    while (!text.empty() && (is_value_byte(text[0]) || text[0] == '_')) text.remove_prefix(1);
    if (text.size() < 2 || text[0] != ':') return 0;
    text.remove_prefix(1);
    const unsigned count = take_number<unsigned>(text).value_or(0);
    return count <= 1024 ? count : 0;  // "image:8080" is none
}

constexpr bool ends_sentence(char byte) {
    return byte == '?' || byte == '.' || byte == '!' || byte == ';' || byte == '\n';
}

}  // namespace

bool answered_no(std::string_view text, std::size_t end) {
    constexpr std::size_t kFarthest = 60;
    const std::string_view rest = text.substr(end, kFarthest);
    std::size_t stop = 0;
    while (stop < rest.size() && !ends_sentence(rest[stop])) ++stop;
    if (stop == rest.size() || rest[stop] != '?') return false;
    const std::size_t begin = rest.find_first_not_of(" \t\r\n*_-", stop + 1);
    if (begin == std::string_view::npos) return false;
    std::string_view answer = rest.substr(begin);
    if (answer.starts_with("A: ")) answer.remove_prefix(3);
    // "Definitely not.", "Of course not."
    const std::string_view whole = answer.substr(0, answer.find_first_of(".!,;\n"));
    if (whole.size() < 24 && whole.ends_with(" not")) return true;
    if (answer.size() < 2 || (answer[0] | 0x20) != 'n' || (answer[1] | 0x20) != 'o') return false;
    answer.remove_prefix(2);
    for (const std::string_view doubt : {"t sure", "t yet", "t only", "t just"}) {
        if (answer.starts_with(doubt)) return false;
    }
    for (const std::string_view more : {"pe", "t ", "ne"}) {
        if (answer.starts_with(more)) return true;
    }
    return answer.empty() || !is_value_byte(answer[0]) || answer[0] == ',' || answer[0] == '.';
}

bool goes_on_as_cpu_build(std::string_view text, std::size_t end) {
    constexpr std::size_t kFarthest = 48;
    const std::string_view rest = text.substr(end, kFarthest);
    for (std::size_t at = 0; at < rest.size(); ++at) {
        const char byte = rest[at];
        const bool joins = byte == ':' || byte == '-' || byte == '_' || byte == '+';
        if (!joins && !is_value_byte(byte) && byte != '/') return false;
        if (byte == ',') return false;
        const std::string_view name = rest.substr(at + 1);
        if (!joins || !name.starts_with("cpu")) continue;
        return name.size() == 3 || !is_value_byte(name[3]) || name[3] == '-' || name[3] == '.';
    }
    return false;
}

Image image_at(std::string_view text, std::size_t at) {
    constexpr std::size_t kFarthest = 200;
    std::string_view line = text.substr(0, at);
    if (line.size() > kFarthest) line.remove_prefix(line.size() - kFarthest);
    line.remove_prefix(line.rfind('\n') + 1);  // npos + 1 is 0
    if (!line.starts_with("FROM ")) {
        const std::size_t key = line.find_first_not_of(" \t-\"");
        const bool named = key != std::string_view::npos && line.substr(key).starts_with("image");
        return named ? Image::kRuns : Image::kNone;
    }
    const std::string_view rest = text.substr(at);
    if (rest.find("\nFROM ") == std::string_view::npos) return Image::kRuns;
    const std::string_view end = rest.substr(0, rest.find('\n'));
    for (const std::string_view as : {" AS ", " as "}) {
        const std::size_t alias = end.find(as);
        if (alias == std::string_view::npos) continue;
        const std::string stage = "\nFROM " + std::string(end.substr(alias + as.size()));
        if (rest.find(stage) != std::string_view::npos) return Image::kRuns;
    }
    return Image::kBuilds;
}

Value value_behind(std::string_view text, std::size_t end, KeyKind kind) {
    end = end_of_value_key(text, end);
    bool parted = false;
    bool quoted = false;
    std::size_t at = end;
    for (; at < text.size() && at < end + 10; ++at) {
        const char byte = text[at];
        if (byte == ':' || byte == '=') parted = true;
        if (byte == ']' && parted && text[at - 1] == '[') return {Value::Form::kOff, 0};
        if ((byte == '"' || byte == '\'') && parted) {
            if (quoted) return {Value::Form::kList, 0};  // ""
            quoted = true;
        }
        if (std::string_view(" \t:=\"'[]").find(byte) == std::string_view::npos) break;
    }
    if (!parted && !(kind == KeyKind::kFlag && at > end)) return {};
    std::size_t stop = at;
    while (stop < text.size() && stop < at + 16 && is_value_byte(text[stop])) ++stop;
    while (stop > at && (text[stop - 1] == ',' || text[stop - 1] == '.')) --stop;  // "4, x"
    if (stop == at) return {parted ? Value::Form::kList : Value::Form::kNone, 0};
    std::array<char, 16> low{};
    std::transform(text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(stop), low.begin(),
                   [](char byte) { return byte >= 'A' && byte <= 'Z' ? char(byte + 32) : byte; });
    const std::string_view word(low.data(), stop - at);
    for (const std::string_view off :
         {"0", "false", "off", "no", "none", "null", "void", "disabled", "disable", "-1", "cpu"}) {
        if (word == off) return {Value::Form::kOff, 0};
    }
    unsigned number = 0;
    std::size_t digits = 0;
    for (; digits < word.size() && word[digits] >= '0' && word[digits] <= '9'; ++digits) {
        if (number < 100000) number = number * 10 + static_cast<unsigned>(word[digits] - '0');
    }
    if (digits == word.size()) return {Value::Form::kNumber, number};
    if (digits > 0 && word[digits] == ',') {
        const bool thousands = word.size() == digits + 4;  // "4,000"
        if (thousands && word.find(',', digits + 1) == std::string_view::npos) {
            return {Value::Form::kOn, 0};
        }
        const auto commas = std::count(word.begin(), word.end(), ',');
        return {Value::Form::kList, static_cast<unsigned>(commas) + 1};
    }
    const unsigned count = count_behind_type(text.substr(stop, 24));
    return {count > 0 ? Value::Form::kNumber : Value::Form::kOn, count};
}

namespace {

bool is_flag(std::string_view text, const Match& match) {
    return match.begin > 0 && (text[match.begin - 1] == '-' || text[match.begin - 1] == '/');
}

/// "cuda:0" is the first device; "cuda: 0" is a switch.
bool is_device_index(std::string_view text, std::size_t end) {
    if (end < 4 || end + 1 >= text.size() || text[end] != ':') return false;
    const bool digit = text[end + 1] >= '0' && text[end + 1] <= '9';
    return digit && text.substr(end - 4, 4) == "cuda";
}

/// `--gpus '"device=0"'` names the first card, it asks for one; so does `--gpu 0`.
bool names_card(std::string_view text, const Match& match, const Value& value) {
    const std::string_view name = text.substr(match.begin, match.end - match.begin);
    if (name == "gpu" && is_flag(text, match) && value.form == Value::Form::kOff) {
        return text.substr(match.end, 3).find('0') != std::string_view::npos;
    }
    return name.starts_with("gpu") && name.ends_with("device") && text.substr(match.end, 1) == "=";
}

/// `CUDA_VISIBLE_DEVICES=`, `=""`, `=-1`
bool hides_all_devices(std::string_view text, std::size_t end, const Value& value) {
    const std::string_view rest = text.substr(end, 2);  // "DEVICES= run"
    if (rest == "=" || rest == "= " || rest == "=\n") return true;
    if (value.form == Value::Form::kList) return value.number == 0;
    return value.form == Value::Form::kOff &&
           text.substr(end, 4).find('0') == std::string_view::npos;
}

}  // namespace

Setting setting_of(std::string_view text, const Match& match) {
    const Reads reads = match.row->reads;
    if (reads == Reads::kNothing) return Setting::kPlain;
    const Value value =
        value_behind(text, match.end, is_flag(text, match) ? KeyKind::kFlag : KeyKind::kName);
    if (is_device_index(text, match.end) || names_card(text, match, value)) {
        return Setting::kNumber;
    }
    if (reads == Reads::kDevices) {
        return hides_all_devices(text, match.end, value) ? Setting::kOff : Setting::kNumber;
    }
    if (value.form == Value::Form::kOff) return Setting::kOff;
    const char last = match.end > 0 ? text[match.end - 1] : '\0';
    const bool counted = last >= '0' && last <= '9';  // "gpus 4"
    if (value.form == Value::Form::kNumber || counted) return Setting::kNumber;
    if (reads != Reads::kResource) return Setting::kPlain;
    const std::size_t from = match.begin > 12 ? match.begin - 12 : 0;
    const bool key = text.substr(from, match.begin - from).find("key") != std::string_view::npos;
    return key || value.form == Value::Form::kOn ? Setting::kKey : Setting::kPlain;
}

}  // namespace aliquot::detect
