// SPDX-License-Identifier: Apache-2.0
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cel/functions.h"

namespace aliquot::cel {
namespace {

using Arguments = std::span<const Value>;

Error invalid(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

/// The arguments when all are texts.
template <std::size_t Count>
std::optional<std::array<const std::string*, Count>> texts(Arguments arguments) {
    std::array<const std::string*, Count> found{};
    for (std::size_t i = 0; i < Count; ++i) {
        found.at(i) = i < arguments.size() ? arguments[i].as<std::string>() : nullptr;
        if (found.at(i) == nullptr) return std::nullopt;
    }
    return found;
}

template <bool (*Test)(const std::string&, const std::string&)>
Result<Value> test_texts(std::string_view name, Arguments arguments) {
    const auto both = texts<2>(arguments);
    if (!both) return no_overload(name, arguments);
    return Value(Test(*(*both)[0], *(*both)[1]));
}

bool has_part(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
bool has_front(const std::string& text, const std::string& part) { return text.starts_with(part); }
bool has_back(const std::string& text, const std::string& part) { return text.ends_with(part); }

Result<Value> call_contains(Arguments arguments) {
    return test_texts<has_part>("contains", arguments);
}
Result<Value> call_starts_with(Arguments arguments) {
    return test_texts<has_front>("startsWith", arguments);
}
Result<Value> call_ends_with(Arguments arguments) {
    return test_texts<has_back>("endsWith", arguments);
}

Result<Value> call_matches(Arguments arguments) {
    const auto both = texts<2>(arguments);
    if (!both) return no_overload("matches", arguments);
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    const RE2 pattern(*(*both)[1], options);
    if (!pattern.ok()) return invalid("not a regular expression: " + pattern.error());
    return Value(RE2::PartialMatch(*(*both)[0], pattern));
}

std::string upper(const std::string& text) {
    std::string made = text;
    for (char& c : made) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return made;
}

Result<Value> call_lower(Arguments arguments) {
    const auto one = texts<1>(arguments);
    if (!one) return no_overload("lowerAscii", arguments);
    return Value(lower(*(*one)[0]));
}
Result<Value> call_upper(Arguments arguments) {
    const auto one = texts<1>(arguments);
    if (!one) return no_overload("upperAscii", arguments);
    return Value(upper(*(*one)[0]));
}
Result<Value> call_trim(Arguments arguments) {
    const auto one = texts<1>(arguments);
    if (!one) return no_overload("trim", arguments);
    return Value(trim(*(*one)[0]));
}

/// Bytes where the code points of a text begin, and its end.
std::vector<std::size_t> places_of(const std::string& text) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) places.push_back(i);
    }
    places.push_back(text.size());
    return places;
}

Result<Value> cut(std::string_view name, Arguments arguments, std::int64_t begin,
                  std::int64_t end) {
    const std::string& text = *arguments[0].as<std::string>();
    const auto places = places_of(text);
    const auto last = static_cast<std::int64_t>(places.size()) - 1;
    if (begin < 0 || begin > end || end > last) {
        return invalid(std::string(name) + "(): index out of range of " + arguments[0].text());
    }
    const std::size_t from = places[static_cast<std::size_t>(begin)];
    return Value(text.substr(from, places[static_cast<std::size_t>(end)] - from));
}

Result<Value> call_substring(Arguments arguments) {
    const auto* const begin = arguments[1].as<std::int64_t>();
    const auto* const end = arguments.size() > 2 ? arguments[2].as<std::int64_t>() : nullptr;
    if (!texts<1>(arguments) || begin == nullptr || (arguments.size() > 2 && end == nullptr)) {
        return no_overload("substring", arguments);
    }
    return cut("substring", arguments, *begin, end != nullptr ? *end : *arguments[0].size());
}

Result<Value> call_char_at(Arguments arguments) {
    const auto* const at = arguments[1].as<std::int64_t>();
    if (!texts<1>(arguments) || at == nullptr) return no_overload("charAt", arguments);
    if (*at == *arguments[0].size()) return Value("");
    if (*at < 0 || *at > *arguments[0].size()) return invalid("charAt(): index out of range");
    return cut("charAt", arguments, *at, *at + 1);
}

Result<Value> place_of_part(Arguments arguments, bool last) {
    const std::string_view name = last ? "lastIndexOf" : "indexOf";
    if (const auto* const list = arguments[0].as<List>()) {
        std::int64_t found = -1;
        for (std::size_t i = 0; i < list->size(); ++i) {
            if (!((*list)[i] == arguments[1])) continue;
            found = static_cast<std::int64_t>(i);
            if (!last) break;
        }
        return Value(found);
    }
    const auto both = texts<2>(arguments);
    if (!both) return no_overload(name, arguments);
    const std::string& text = *(*both)[0];
    const auto at = last ? text.rfind(*(*both)[1]) : text.find(*(*both)[1]);
    if (at == std::string::npos) return Value(std::int64_t{-1});
    return Value(*Value(text.substr(0, at)).size());
}
Result<Value> call_index_of(Arguments arguments) { return place_of_part(arguments, false); }
Result<Value> call_last_index_of(Arguments arguments) { return place_of_part(arguments, true); }

Result<Value> call_replace(Arguments arguments) {
    const auto three = texts<3>(arguments);
    const auto* const limit = arguments.size() > 3 ? arguments[3].as<std::int64_t>() : nullptr;
    if (!three || (arguments.size() > 3 && limit == nullptr)) {
        return no_overload("replace", arguments);
    }
    const std::string& text = *(*three)[0];
    const std::string& part = *(*three)[1];
    std::int64_t left = limit != nullptr && *limit >= 0 ? *limit : INT64_MAX;
    std::string made;
    std::size_t at = 0;
    while (left > 0 && !part.empty()) {
        const std::size_t found = text.find(part, at);
        if (found == std::string::npos) break;
        made.append(text, at, found - at).append(*(*three)[2]);
        at = found + part.size();
        --left;
        if (made.size() > kLongestText) return invalid("replace() makes too long a text");
    }
    made.append(text, at);
    if (made.size() > kLongestText) return invalid("replace() makes too long a text");
    return Value(std::move(made));
}

Result<Value> call_split(Arguments arguments) {
    const auto both = texts<2>(arguments);
    if (!both) return no_overload("split", arguments);
    const std::string& text = *(*both)[0];
    const std::string& mark = *(*both)[1];
    List parts;
    std::size_t at = 0;
    while (at < text.size() && parts.size() <= kLongestList) {
        std::size_t found = text.find(mark, at);
        if (mark.empty()) {  // after each code point
            found = at + std::max<std::size_t>(1, utf8_length(std::string_view(text).substr(at)));
            if (found >= text.size()) break;
        }
        if (found == std::string::npos) break;
        parts.emplace_back(text.substr(at, found - at));
        at = found + mark.size();
    }
    parts.emplace_back(text.substr(at));
    if (parts.size() > kLongestList) return invalid("split() makes too long a list");
    return Value(std::move(parts));
}

Result<Value> call_join(Arguments arguments) {
    const auto* const list = arguments[0].as<List>();
    const auto* const mark = arguments.size() > 1 ? arguments[1].as<std::string>() : nullptr;
    if (list == nullptr || (arguments.size() > 1 && mark == nullptr)) {
        return no_overload("join", arguments);
    }
    std::string text;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const auto* const part = (*list)[i].as<std::string>();
        if (part == nullptr) return no_overload("join", arguments);
        if (i > 0 && mark != nullptr) text += *mark;
        text += *part;
        if (text.size() > kLongestText) return invalid("join() makes too long a text");
    }
    return Value(std::move(text));
}

}  // namespace

std::span<const Function> text_functions() {
    using Form = Function::Form;
    static constexpr std::array<Function, 14> kFunctions{{
        {"charAt", Form::kMethod, 1, 1, call_char_at},
        {"contains", Form::kMethod, 1, 1, call_contains},
        {"endsWith", Form::kMethod, 1, 1, call_ends_with},
        {"indexOf", Form::kMethod, 1, 1, call_index_of},
        {"join", Form::kMethod, 0, 1, call_join},
        {"lastIndexOf", Form::kMethod, 1, 1, call_last_index_of},
        {"lowerAscii", Form::kMethod, 0, 0, call_lower},
        {"matches", Form::kBoth, 1, 1, call_matches},
        {"replace", Form::kMethod, 2, 3, call_replace},
        {"split", Form::kMethod, 1, 1, call_split},
        {"startsWith", Form::kMethod, 1, 1, call_starts_with},
        {"substring", Form::kMethod, 1, 2, call_substring},
        {"trim", Form::kMethod, 0, 0, call_trim},
        {"upperAscii", Form::kMethod, 0, 0, call_upper},
    }};
    return kFunctions;
}

}  // namespace aliquot::cel
