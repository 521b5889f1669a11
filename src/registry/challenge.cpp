// SPDX-License-Identifier: Apache-2.0
#include "registry/challenge.h"

#include "base/text.h"

namespace aliquot::registry {
namespace {

bool is_token(char c) {
    return is_letter(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}

std::string_view take_name(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && is_token(text[end])) ++end;
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(end);
    return name;
}

void skip(std::string_view& text, std::string_view signs) {
    const auto first = text.find_first_not_of(signs);
    text.remove_prefix(first == std::string_view::npos ? text.size() : first);
}

/// A word, or a text in quotation marks with its escapes taken out.
std::string take_value(std::string_view& text) {
    if (!text.starts_with('"')) return std::string(take_name(text));
    std::string value;
    std::size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        value += text[i];
    }
    text.remove_prefix(std::min(i + 1, text.size()));
    return value;
}

std::string escaped(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string url;
    for (const char c : text) {
        if (is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
            url += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        url += '%';
        url += kDigits[byte >> 4U];
        url += kDigits[byte & 15U];
    }
    return url;
}

}  // namespace

std::optional<Challenge> read_challenge(std::string_view field) {
    std::optional<Challenge> found;
    for (;;) {
        skip(field, ", \t");
        const std::string_view scheme = take_name(field);
        if (scheme.empty()) return found;
        Challenge one{.is_bearer = equals_folded(scheme, "bearer")};
        // Parameters: "name=value" between commas; a word without "=" begins the next challenge.
        for (;;) {
            std::string_view rest = field;
            skip(rest, ", \t");
            const std::string_view name = take_name(rest);
            skip(rest, " \t");
            if (name.empty() || !rest.starts_with('=')) break;
            rest.remove_prefix(1);
            skip(rest, " \t");
            std::string value = take_value(rest);
            if (equals_folded(name, "realm"))
                one.realm = std::move(value);
            else if (equals_folded(name, "service"))
                one.service = std::move(value);
            else if (equals_folded(name, "scope"))
                one.scope = std::move(value);
            field = rest;
        }
        const bool known = one.is_bearer ? !one.realm.empty() : equals_folded(scheme, "basic");
        if (known && (!found || one.is_bearer)) found = std::move(one);
        if (found && found->is_bearer) return found;
        if (field.empty() || (!field.starts_with(',') && !is_blank(field.front()))) return found;
    }
}

std::string token_url(const Challenge& challenge, const std::string& scope) {
    std::string url = challenge.realm + (challenge.realm.contains('?') ? "&" : "?");
    if (!challenge.service.empty()) url += "service=" + escaped(challenge.service) + "&";
    return url + "scope=" + escaped(challenge.scope.empty() ? scope : challenge.scope);
}

}  // namespace aliquot::registry
