// SPDX-License-Identifier: Apache-2.0
#include "bundle/random_text.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace aliquot::bundle {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_hex(char c) { return hex_value(c) >= 0; }

struct Prefix {
    std::string_view text;
    std::size_t least;  // bytes of the whole word
};

/// How the keys of well-known services begin.
constexpr std::array<Prefix, 44> kPrefixes{{{"AKIA", 16},
                                            {"ASIA", 16},
                                            {"ABIA", 16},
                                            {"ACCA", 16},
                                            {"ghp_", 12},
                                            {"gho_", 12},
                                            {"ghu_", 12},
                                            {"ghs_", 12},
                                            {"ghr_", 12},
                                            {"github_pat_", 16},
                                            {"glpat-", 12},
                                            {"gldt-", 12},
                                            {"glrt-", 12},
                                            {"glptt-", 12},
                                            {"glcbt-", 12},
                                            {"xoxb-", 10},
                                            {"xoxp-", 10},
                                            {"xoxa-", 10},
                                            {"xoxr-", 10},
                                            {"xoxs-", 10},
                                            {"xapp-", 10},
                                            {"hf_", 16},
                                            {"sk-", 16},
                                            {"sk_live_", 14},
                                            {"sk_test_", 14},
                                            {"rk_live_", 14},
                                            {"pk_live_", 14},
                                            {"nvapi-", 12},
                                            {"AIza", 20},
                                            {"ya29.", 16},
                                            {"eyJ", 20},
                                            {"npm_", 16},
                                            {"pypi-", 16},
                                            {"dop_v1_", 16},
                                            {"shpat_", 16},
                                            {"SG.", 20},
                                            {"hvs.", 16},
                                            {"hvb.", 16},
                                            {"dckr_pat_", 14},
                                            {"whsec_", 14},
                                            {"AGE-SECRET-KEY-", 20},
                                            {"LTAI", 16},
                                            {"PMAK-", 16},
                                            {"lin_api_", 14}}};

bool has_known_prefix(std::string_view word) {
    return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](const Prefix& prefix) {
        return word.size() >= prefix.least && word.starts_with(prefix.text);
    });
}

/// "GPU-8a6b3c1d-0000-4000-8000-000000000000" and the like.
bool is_uuid(std::string_view word) {
    for (const std::string_view front : {"GPU-", "MIG-GPU-", "MIG-", "UUID="}) {
        if (word.starts_with(front)) {
            word.remove_prefix(front.size());
            break;
        }
    }
    constexpr std::size_t kLength = 36;
    if (word.size() < kLength) return false;
    for (std::size_t i = 0; i < kLength; ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? word[i] != '-' && word[i] != '_' : !is_hex(word[i])) return false;
    }
    return word.size() == kLength || !is_hex(word[kLength]);
}

/// Hexadecimal numbers that name an image, a container or a build.
bool names_what_it_stands_behind(std::string_view before) {
    constexpr std::array<std::string_view, 14> kFronts{
        "sha256:",     "sha256-", "sha512:", "containerd://", "docker://",    "cri-o://",
        "containerd-", "docker-", "crio-",   "libpod-",       "containerid=", "containerid:",
        "sandboxid=",  "0x"};
    std::string end =
        lower(before.substr(before.size() - std::min<std::size_t>(before.size(), 32)));
    while (!end.empty() &&
           (end.back() == ' ' || end.back() == '"' || end.back() == '\'' || end.back() == '\\')) {
        end.pop_back();
    }
    if (std::any_of(kFronts.begin(), kFronts.end(),
                    [&](std::string_view front) { return end.ends_with(front); })) {
        return true;
    }
    constexpr std::array<std::string_view, 7> kWords{
        "container", "sandbox", "podsandbox", "sha256/", "/pod", "kubepods", "task"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [&](std::string_view word) { return end.contains(word); });
}

struct Shape {
    std::size_t digits = 0;
    std::size_t letters = 0;
    std::size_t vowels = 0;
    std::size_t changes = 0;  // between digits and letters
    std::size_t humps = 0;    // from a small letter to a capital one
    bool capitals = false;
    bool small = false;
    bool hex = true;
};

Shape shape_of(std::string_view part) {
    Shape shape;
    for (std::size_t i = 0; i < part.size(); ++i) {
        const char c = part[i];
        shape.digits += is_digit(c) ? 1 : 0;
        shape.letters += is_letter(c) ? 1 : 0;
        shape.capitals = shape.capitals || is_upper(c);
        shape.small = shape.small || is_lower(c);
        shape.hex = shape.hex && is_hex(c);
        shape.vowels += std::string_view("aeiouyAEIOUY").contains(c) ? 1 : 0;
        if (i == 0) continue;
        shape.changes += is_digit(c) != is_digit(part[i - 1]) ? 1 : 0;
        shape.humps += is_lower(part[i - 1]) && is_upper(c) ? 1 : 0;
    }
    return shape;
}

/// What Kubernetes puts behind the names of pods: no vowels, so that it makes no words.
bool is_made_up_by_kubernetes(std::string_view part) {
    return part.size() <= 10 &&
           part.find_first_not_of("bcdfghjklmnpqrstvwxz0123456789") == std::string_view::npos;
}

bool is_time(std::string_view part) {
    const auto t = part.find('T');
    return t == 8 && std::all_of(part.begin(), part.begin() + 8, is_digit);
}

/// Whether nobody would write this by hand.
bool is_by_chance(std::string_view part, std::string_view before) {
    const Shape shape = shape_of(part);
    const std::size_t size = part.size();
    if (shape.letters == 0 || size < 10) return false;
    if (part.starts_with("0x") && shape_of(part.substr(2)).hex) return false;
    if (shape.hex && shape.digits > 0) {
        constexpr std::size_t kLongest = 20;
        return size >= kLongest && !names_what_it_stands_behind(before);
    }
    if (shape.digits == 0) {
        if (size < 16) return shape.humps * 3 >= size;
        if (shape.capitals && shape.small) return shape.humps * 5 >= size;
        return size >= 20 && shape.vowels * 5 < size;
    }
    if (is_made_up_by_kubernetes(part) || is_time(part)) return false;
    if (size >= 24 && shape.changes >= 2 && shape.capitals && shape.small) return true;
    if (shape.capitals && shape.small && shape.humps >= 2 && shape.changes >= 2 && size >= 12) {
        return true;
    }
    return shape.changes >= (size >= 16 ? 3U : 4U);
}

bool is_separator(char c) { return std::string_view("-_./:@+%~#*\\$!?^").contains(c); }

/// Bytes of the parts that look made by chance.
std::size_t chance_bytes(std::string_view word, std::string_view before) {
    std::size_t bytes = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= word.size(); ++i) {
        if (i < word.size() && !is_separator(word[i])) continue;
        const std::string_view part = word.substr(begin, i - begin);
        const std::string_view left = begin == 0 ? before : word.substr(0, begin);
        if (is_by_chance(part, left)) bytes += part.size();
        begin = i + 1;
    }
    return bytes;
}

bool is_number_like(std::string_view word) {
    return word.find_first_not_of("0123456789.:,/-+xXkKmMgGiIbBsSuUhH%TZ") ==
           std::string_view::npos;
}

/// A word that somebody may have made up for a password: "hunter2", "Tr0ub4dor&3", "correct!horse".
bool is_made_up(std::string_view word) {
    constexpr std::size_t kShortest = 6;
    if (word.size() < kShortest || is_number_like(word) || word.starts_with('/')) return false;
    const Shape shape = shape_of(word);
    const bool odd = word.find_first_of("!$%^*~?&#") != std::string_view::npos;
    const bool inner_capital = shape.humps > 0 && shape.digits > 0;
    const bool digits_within =
        shape.digits > 0 && shape.letters >= 3 && !word.contains('.') && !word.contains('/');
    return odd || inner_capital || digits_within || shape.humps >= 2;
}

}  // namespace

bool looks_secret(std::string_view word, std::string_view before, Suspicion suspicion) {
    while (!word.empty() && std::string_view(".:-!?").contains(word.back())) word.remove_suffix(1);
    if (has_known_prefix(word)) return true;
    if (is_uuid(word)) return false;
    constexpr std::size_t kEnough = 10;
    if (word.size() >= kEnough && chance_bytes(word, before) >= kEnough) return true;
    if (suspicion == Suspicion::kUsual) return false;
    return is_made_up(word);
}

}  // namespace aliquot::bundle
