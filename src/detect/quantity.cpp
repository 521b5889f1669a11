// SPDX-License-Identifier: Apache-2.0
#include "detect/quantity.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kLongestUnit = 32;

/// Names of cards as we print them; "rtx" and "gtx" take the next word along.
constexpr auto kTypes = std::to_array<std::string_view>(
    {"a100",   "h100",   "h200",   "v100",   "p100",  "b200",  "b300",  "gh200", "gb200",  "l40s",
     "l40",    "l4",     "t4",     "a10g",   "a10",   "a40",   "a30",   "a16",   "a2",     "k80",
     "p40",    "p4",     "m60",    "h800",   "a800",  "a6000", "a5000", "a4000", "mi300x", "mi300",
     "mi325x", "mi350x", "mi355x", "mi250x", "mi250", "mi210", "h20",   "gb300", "p6000"});

/// Cards that are often named without the word before them.
constexpr auto kGeForce =
    word_list({"3070", "3080", "3090", "4070", "4080", "4090", "5080", "3090ti", "5090"});

constexpr auto kNumbers = std::to_array<std::pair<std::string_view, unsigned>>(
    {{"a", 1},    {"an", 1},     {"one", 1},    {"single", 1}, {"two", 2},     {"dual", 2},
     {"twin", 2}, {"pair", 2},   {"couple", 2}, {"both", 2},   {"three", 3},   {"triple", 3},
     {"four", 4}, {"quad", 4},   {"five", 5},   {"six", 6},    {"seven", 7},   {"eight", 8},
     {"octa", 8}, {"nine", 9},   {"ten", 10},   {"dozen", 12}, {"twelve", 12}, {"sixteen", 16},
     {"ein", 1},  {"eine", 1},   {"einer", 1},  {"un", 1},     {"une", 1},     {"una", 1},
     {"zwei", 2}, {"deux", 2},   {"dos", 2},    {"drei", 3},   {"trois", 3},   {"tres", 3},
     {"vier", 4}, {"quatre", 4}, {"cuatro", 4}, {"acht", 8}});

/// What is counted in billions without being parameters.
constexpr auto kCounted = word_list(
    {"rows",   "edges",  "tokens",    "records",      "documents", "images",   "vectors",
     "events", "lines",  "nodes",     "points",       "pairs",     "samples",  "users",
     "calls",  "items",  "files",     "requests",     "pages",     "messages", "articles",
     "paths",  "clicks", "reads",     "transactions", "triples",   "cells",    "particles",
     "atoms",  "hashes", "passwords", "impressions",  "euros",     "dollars"});

/// What has memory without being a card; behind the quantity, or up to two words before it.
constexpr auto kHostThings = word_list(
    {"ram",   "disk",   "disks",  "storage", "ssd",    "nvme",    "dataset", "datasets", "tables",
     "table", "data",   "csv",    "file",    "files",  "host",    "system",  "swap",     "scratch",
     "dump",  "images", "corpus", "archive", "volume", "volumes", "cpu",     "pvc"});

bool is_word_byte(char byte) { return is_letter(byte) || is_digit(byte) || byte == '.'; }

/// A number at the head of a word, and what is behind it.
struct Numeral {
    double number = 0;  // 0: none
    std::string_view rest;
};

Numeral numeral_of(std::string_view word) {
    Numeral numeral;
    if (word.empty() || !is_digit(word.front())) return numeral;
    // "8e2" is 8 and a word: no exponents here.
    const std::string_view digits = word.substr(0, word.find_first_not_of("0123456789."));
    std::string_view behind = digits;
    const auto number = take_number<double>(behind);
    if (!number) return {};
    numeral.number = *number;
    numeral.rest = word.substr(digits.size() - behind.size());
    return numeral;
}

/// How many GiB the unit has, 0 for another word.
double gibibytes_in(std::string_view unit) {
    for (const std::string_view known :
         {"gb", "gib", "gbs", "gig", "gigs", "gigabyte", "gigabytes", "gibibytes", "go"}) {
        if (unit == known) return 1;
    }
    for (const std::string_view known : {"mib", "mb", "mi", "megabytes"}) {
        if (unit == known) return 1.0 / 1024;
    }
    return unit == "tb" || unit == "tib" ? 1024 : 0;
}

/// "a100", "a100s", "4xa100", "h100x8" -> "a100"
std::string type_of(std::string_view word) {
    if (std::none_of(word.begin(), word.end(), is_digit)) return {};
    if (const std::size_t x = word.find('x');
        x != std::string_view::npos && x > 0 && word.find_first_not_of("0123456789") == x) {
        word.remove_prefix(x + 1);
    }
    for (const std::string_view type : kTypes) {
        if (!word.starts_with(type)) continue;
        const std::string_view rest = word.substr(type.size());
        const bool times = rest.size() > 1 && rest[0] == 'x' && count_of(rest) > 0;
        if (rest.empty() || rest == "s" || times) return std::string(type);
    }
    return {};
}

}  // namespace

std::vector<Word> words_of(std::string_view text, std::size_t from, std::size_t to) {
    std::vector<Word> words;
    words.reserve((to - from) / 4);
    // Begin at a whole word: "32GB" must not be read as "2GB".
    while (from > 0 && from < to && is_word_byte(text[from - 1]) && is_word_byte(text[from]))
        ++from;
    for (std::size_t at = from; at < to;) {
        if (!is_word_byte(text[at])) {
            ++at;
            continue;
        }
        Word word;
        word.begin = at;
        for (; at < text.size() && is_word_byte(text[at]) && word.text.size() < kLongestUnit;
             ++at) {
            const char byte = text[at];
            word.text += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
        }
        word.end = at;
        while (!word.text.empty() && word.text.back() == '.') {
            word.text.pop_back();
            --word.end;
        }
        if (!word.text.empty()) words.push_back(std::move(word));
    }
    return words;
}

std::string type_at(const std::vector<Word>& words, std::size_t at) {
    std::string_view word = words[at].text;
    const bool named = word == "rtx" || word == "gtx";
    if (!named && std::none_of(word.begin(), word.end(), is_digit)) return {};
    if ((word == "rtx" || word == "gtx") && at + 1 < words.size()) {
        std::string_view next = words[at + 1].text;
        const bool pro = next == "pro" && at + 2 < words.size();  // "RTX PRO 6000"
        if (pro) next = words[at + 2].text;
        if (std::none_of(next.begin(), next.end(), is_digit) || next.find('x') < 2) return {};
        return std::string(word) + (pro ? "-pro-" : "-") + std::string(next);
    }
    if (word.ends_with('s')) word.remove_suffix(1);
    if (among(word, kGeForce)) {
        const bool gtx = at > 0 && words[at - 1].text == "gtx";
        return (gtx ? "gtx-" : "rtx-") + std::string(word);
    }
    return type_of(words[at].text);
}

bool is_card_name(std::string_view word) {
    std::size_t letters = 0;
    while (letters < word.size() && word[letters] >= 'a' && word[letters] <= 'z') ++letters;
    std::size_t end = letters;
    while (end < word.size() && is_digit(word[end])) ++end;
    const std::size_t digits = end - letters;
    return letters >= 1 && letters <= 2 && digits >= 2 && digits <= 4 && word.size() - end <= 2;
}

bool is_gpu_word(std::string_view word) {
    static constexpr auto kKnown =
        word_list({"gpu",   "gpus",   "card",     "cards", "nvidia",    "tesla",        "geforce",
                   "rtx",   "gtx",    "mig",      "slice", "x",         "accelerators", "amd",
                   "intel", "radeon", "instinct", "rubin", "blackwell", "hopper",       "ampere",
                   "ada",   "volta",  "sxm",      "sxm5",  "pcie",      "nvl"});
    return among(word, kKnown);
}

unsigned count_of(std::string_view word) {
    for (const auto& [name, number] : kNumbers) {
        if (word == name) return number;
    }
    if (word.size() > 1 && word.front() == 'x') word.remove_prefix(1);
    const unsigned number = take_number<unsigned>(word).value_or(0);
    return number <= 1024 && (word.empty() || word == "x") ? number : 0;
}

double gibibytes_at(const std::vector<Word>& words, std::size_t at) {
    constexpr double kMost = 2000;
    const auto [number, rest] = numeral_of(words[at].text);
    if (number <= 0) return 0;
    double unit = 0;
    if (!rest.empty()) {
        unit = rest == "g" || rest == "gi" ? 1 : gibibytes_in(rest);
    } else if (at + 1 < words.size()) {
        unit = gibibytes_in(words[at + 1].text);
    }
    const double gib = number * unit;
    return gib <= kMost ? gib : 0;
}

double profile_gibibytes(std::string_view word) {
    const std::size_t point = word.find("g.");
    if (point != 1 || word[0] < '1' || word[0] > '7') return 0;
    const auto [number, rest] = numeral_of(word.substr(3));
    return number < 1000 && rest == "gb" ? number : 0;
}

bool is_host_memory(const std::vector<Word>& words, std::size_t at) {
    const bool unit_inside = !is_digit(words[at].text.back());
    std::size_t after = at + (unit_inside ? 1 : 2);
    if (after < words.size() && words[after].text == "of") ++after;
    if (after < words.size() && among(words[after].text, kHostThings)) return true;
    const auto before = [&](std::size_t back) -> std::string_view {
        return back <= at ? std::string_view(words[at - back].text) : std::string_view{};
    };
    for (const std::string_view word : {before(1), before(2)}) {
        if (word == "vram" || word == "gpu") return false;
    }
    if (among(before(1), kHostThings) || among(before(2), kHostThings)) return true;
    // "memory: 16Gi" is how the host's is written in manifests.
    const bool quantity = words[at].text.ends_with("gi") || words[at].text.ends_with("mi");
    return quantity && at > 0 && words[at - 1].text == "memory";
}

double billions_at(const std::vector<Word>& words, std::size_t at) {
    auto [number, rest] = numeral_of(words[at].text);
    if (number <= 0) return 0;
    if (rest.size() > 1 && rest[0] == 'x') {  // 8x7b: all experts are resident
        const auto each = numeral_of(rest.substr(1));
        if (each.number <= 0) return 0;
        number *= each.number;
        rest = each.rest;
    }
    std::size_t next = at + 1;
    const bool spelled = rest.empty() && next < words.size() && words[next].text == "billion";
    if (spelled) ++next;
    if (rest != "b" && rest != "bn" && !spelled) return 0;
    if (next < words.size() && among(words[next].text, kCounted)) return 0;
    return number > 0.01 && number < 5000 ? number : 0;
}

}  // namespace aliquot::detect
