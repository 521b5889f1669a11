// SPDX-License-Identifier: Apache-2.0
// What is hidden of a line is collected as ranges first: each rule sees the line as it is, and all of
// them together go over it a fixed number of times.
#include "bundle/redact_line.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bundle/random_text.h"
#include "bundle/secret_name.h"

namespace aliquot::bundle {
namespace {

constexpr std::string_view kLineMark = "***";
constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kUrlStops = " \t\"'<>`|";
constexpr std::size_t kLongestName = 80;
constexpr std::size_t kLongestLogin = 512;

/// One line, and what of it is hidden.
class Line {
public:
    explicit Line(std::string_view text) : text_(text) {}

    /// Whether its last key has no value: then what is further in beneath it is hidden as well.
    bool redact();
    [[nodiscard]] std::string result();

private:
    struct Separator {
        std::size_t at = 0;
        std::string_view name;
        bool quoted = false;  // the name
    };

    void hide(std::size_t begin, std::size_t end);
    [[nodiscard]] std::size_t end_of_word(std::size_t from, std::string_view stops) const;
    [[nodiscard]] std::size_t closing(std::size_t open) const;
    [[nodiscard]] std::size_t end_of_brackets(std::size_t open) const;
    [[nodiscard]] Separator separator_at(std::size_t at) const;
    [[nodiscard]] std::size_t end_of_value(const Separator& separator, std::size_t value) const;
    void note_quotes();
    void hide_urls();
    void hide_parameters(std::size_t begin, std::size_t end);
    void hide_logins();
    bool hide_assignments();
    void hide_options();
    void hide_option(std::size_t begin, std::size_t end);
    void hide_schemes();
    void hide_words();

    const std::string_view text_;
    std::vector<std::pair<std::size_t, std::size_t>> hidden_;
    std::vector<std::size_t>
        quoted_until_;  // for each byte: where the quotes around it close; 0: none
    bool speaks_of_secrets_ = false;
    bool runs_a_database_ = false;
};

bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./$@%[]").contains(c);
}

void Line::hide(std::size_t begin, std::size_t end) {
    if (begin < end) hidden_.emplace_back(begin, end);
}

std::size_t Line::end_of_word(std::size_t from, std::string_view stops) const {
    return std::min(text_.find_first_of(stops, from), text_.size());
}

/// Where the quotation that begins at `open` ends: at the same quote behind as many backslashes.
std::size_t Line::closing(std::size_t open) const {
    std::size_t slashes = 0;
    while (slashes < open && text_[open - slashes - 1] == '\\') ++slashes;
    constexpr std::size_t kLongest = 65536;
    const std::string_view seen = text_.substr(0, open + kLongest);
    for (std::size_t at = open + 1; (at = seen.find(seen[open], at)) != std::string_view::npos;
         ++at) {
        std::size_t before = 0;
        while (before < at - open - 1 && text_[at - before - 1] == '\\') ++before;
        if (before <= slashes) return at - before;
    }
    return text_.size();
}

void Line::note_quotes() {
    quoted_until_.assign(text_.size(), 0);
    std::size_t at = 0;
    while (at < text_.size()) {
        const char c = text_[at];
        // An apostrophe within a word is none.
        const bool apostrophe = c == '\'' && at > 0 && is_name_byte(text_[at - 1]) &&
                                text_[at - 1] != '=' && text_[at - 1] != '[';
        if ((c != '"' && c != '\'') || apostrophe) {
            ++at;
            continue;
        }
        const std::size_t end = closing(at);
        if (end >= text_.size()) {
            ++at;
            continue;
        }
        std::fill(quoted_until_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                  quoted_until_.begin() + static_cast<std::ptrdiff_t>(end), end);
        at = text_.find(c, end) + 1;
    }
}

std::size_t Line::end_of_brackets(std::size_t open) const {
    std::size_t depth = 0;
    for (std::size_t at = open; at < text_.size(); ++at) {
        if (text_[at] == '[' || text_[at] == '{') ++depth;
        if ((text_[at] == ']' || text_[at] == '}') && --depth == 0) return at + 1;
    }
    return text_.size();
}

/// The name before a ':', '=' or '>' at `at`: "token", "--password", "\"token\"", "<password>".
Line::Separator Line::separator_at(std::size_t at) const {
    Separator made{.at = at, .name = {}, .quoted = false};
    std::size_t end = at;
    while (end > 0 && kBlank.contains(text_[end - 1])) --end;
    if (end > 0 && (text_[end - 1] == '"' || text_[end - 1] == '\'')) {
        std::size_t close = end - 1;
        while (close > 0 && text_[close - 1] == '\\') --close;
        std::size_t open = close;
        while (open > 0 && close - open < kLongestName && text_[open - 1] != text_[end - 1]) --open;
        made.name = text_.substr(open, close - open);
        made.quoted = open > 0 && text_[open - 1] == text_[end - 1];
        if (!made.quoted) made.name = {};
        return made;
    }
    std::size_t begin = end;
    while (begin > 0 && end - begin < kLongestName && is_name_byte(text_[begin - 1])) --begin;
    made.name = text_.substr(begin, end - begin);
    return made;
}

std::size_t Line::end_of_value(const Separator& separator, std::size_t value) const {
    const std::size_t quoted = quoted_until_[separator.at];  // name and value within one quotation
    const std::size_t end = quoted != 0 ? quoted : text_.size();
    std::size_t open = value;
    while (open < text_.size() && text_[open] == '\\') ++open;
    if (open < text_.size() && (text_[open] == '"' || text_[open] == '\'') && open < end) {
        const std::size_t close = closing(open);
        // A quotation that goes on without a blank is one word of a shell.
        return std::max(close, std::min(end, end_of_word(close, " \t,;)]}\\")));
    }
    if (text_[value] == '[' || text_[value] == '{') return std::min(end, end_of_brackets(value));
    const std::string name = lower(separator.name);
    if (name.contains("authorization") || name.contains("cookie")) return end;
    if (text_[separator.at] == '>') return std::min(end, end_of_word(value, "<"));
    if (separator.quoted) return std::min(end, end_of_word(value, ",}] \t"));
    const bool blank = value > separator.at + 1;
    if (quoted != 0) return end;
    if (!blank) return std::min(end, end_of_word(value, " \t"));
    // Within "{a: b, c: d}".
    const auto brace = text_.rfind('{', separator.at);
    if (brace != std::string_view::npos) {
        const std::size_t close = end_of_brackets(brace);
        if (close > value && close <= text_.size() && text_[close - 1] == '}') return close - 1;
    }
    return end;
}

bool Line::hide_assignments() {
    for (std::size_t at = 0; at < text_.size();) {
        at = text_.find_first_of(":=>", at);
        if (at == std::string_view::npos) return false;
        const Separator separator = separator_at(at);
        // "://", "a=>b", ":=": the last of them separates.
        ++at;
        if (separator.name.empty() || text_.substr(at).starts_with("//")) continue;
        if (!is_secret_name(separator.name)) continue;
        speaks_of_secrets_ = true;
        while (at < text_.size() && (text_[at] == '=' || text_[at] == '>')) ++at;
        const std::size_t value = text_.find_first_not_of(kBlank, at);
        if (value == std::string_view::npos) return true;
        const bool block =
            (text_[value] == '|' || text_[value] == '>') && value + 3 >= text_.size();
        if (block || text_[value] == '#') return true;
        // In "--token --verbose" and "a: b: c" nothing stands between.
        const std::size_t end = end_of_value(separator, value);
        const bool quote = text_[value] == '"' || text_[value] == '\'' || text_[value] == '\\';
        std::size_t begin = value;
        while (quote && begin < end &&
               (text_[begin] == '\\' ||
                (begin < value + 4 && (text_[begin] == '"' || text_[begin] == '\'')))) {
            ++begin;
        }
        const bool bracket = text_[value] == '[' && end > value + 1;
        hide(bracket ? value + 1 : begin, bracket && text_[end - 1] == ']' ? end - 1 : end);
        at = std::max(end, at);
    }
    return false;
}

/// scheme://user:password@host/path?name=value
void Line::hide_urls() {
    for (auto scheme = text_.find("://"); scheme != std::string_view::npos;
         scheme = text_.find("://", std::max(scheme + 3, end_of_word(scheme + 3, kUrlStops)))) {
        const std::size_t begin = scheme + 3;
        const std::size_t end = end_of_word(begin, kUrlStops);
        const std::string_view rest = text_.substr(begin, end - begin);
        const auto at = rest.rfind('@');
        if (at != std::string_view::npos && !rest.substr(at).starts_with("@sha")) {
            const std::string_view login = rest.substr(0, at);
            if (login.contains(':') || !login.contains('/')) hide(begin, begin + at);
        }
        hide_parameters(begin, end);
    }
}

void Line::hide_parameters(std::size_t begin, std::size_t end) {
    std::size_t at = end_of_word(begin, "?#");
    while (at < end) {
        const std::size_t name = at + 1;
        const std::size_t next = std::min(end, end_of_word(name, "&;#"));
        const std::size_t equals = std::min(next, end_of_word(name, "="));
        if (equals < next && !is_harmless_parameter(text_.substr(name, equals - name))) {
            // What stands behind an '&' may belong to the value still: it is hidden or harmless, too.
            hide(equals + 1, next);
        } else if (equals == next && next > name && text_[at] != '#' && text_[at] != '?') {
            hide(name, next);
        }
        at = next;
    }
}

/// user:password@tcp(host), without a scheme.
void Line::hide_logins() {
    for (auto at = text_.find('@'); at != std::string_view::npos; at = text_.find('@', at + 1)) {
        std::size_t begin = at;
        while (begin > 0 && at - begin < kLongestLogin &&
               !std::string_view(" \t\"'=,<>()[]{}").contains(text_[begin - 1]))
            --begin;
        const std::string_view word = text_.substr(begin, at - begin);
        const auto colon = word.find(':');
        const bool login = colon != std::string_view::npos && colon > 0 &&
                           colon + 1 < word.size() && !word.contains("://") &&
                           at + 1 < text_.size() && !text_.substr(at + 1).starts_with("sha") &&
                           !word.contains('/');
        if (login) hide(begin + colon + 1, at);
    }
}

/// "--bootstrap-token abc", "-u admin:abc", "-p abc".
void Line::hide_options() {
    for (const char* const program : {"mysql", "mariadb", "redis-cli"}) {
        runs_a_database_ = runs_a_database_ || text_.contains(program);
    }
    for (std::size_t at = text_.find('-'); at != std::string_view::npos;
         at = text_.find('-', at + 1)) {
        const bool begins = at == 0 || std::string_view(" \t\"'[,").contains(text_[at - 1]);
        if (!begins) continue;
        const std::size_t end = end_of_word(at, " \t=\"',");
        hide_option(at, end);
        at = std::max(at, end == 0 ? 0 : end - 1);
        if (at >= text_.size()) return;
    }
}

void Line::hide_option(std::size_t begin, std::size_t end) {
    const std::string_view option = text_.substr(begin, end - begin);
    if (runs_a_database_ && option.starts_with("-p") && option.size() > 2)
        return hide(begin + 2, end);
    std::size_t value = text_.find_first_not_of(" \t\"',=", end);
    if (value == std::string_view::npos || text_[value] == '-') return;
    const std::size_t quoted = quoted_until_[value];
    const std::size_t stop = quoted != 0 ? quoted : end_of_word(value, " \t\"'");
    const std::string_view word = text_.substr(value, stop - value);
    if (is_secret_name(option)) {
        speaks_of_secrets_ = true;
        return hide(value, stop);
    }
    const bool number = word.find_first_not_of("0123456789.:/-") == std::string_view::npos;
    if (number || word.starts_with('/')) return;
    const bool login = option == "-u" || option == "-U" || option == "--user" ||
                       option == "--userpwd" || option == "--proxy-user" || option == "-user";
    const auto colon = word.find(':');
    if (login && colon != std::string_view::npos) return hide(value + colon + 1, stop);
    const bool password = option == "-p" || option == "-P" || option == "-w" || option == "-pass" ||
                          (option == "-a" && runs_a_database_);
    if (password && text_[end] != ',') hide(value, stop);
}

/// "Bearer abc", also far from any header.
void Line::hide_schemes() {
    enum Certainty : std::uint8_t { kAlways, kUnlessPlain, kByItsLooks };
    struct Scheme {
        std::string_view word;
        Certainty certainty;
    };
    constexpr Scheme kSchemes[] = {
        {"bearer ", kAlways},         {"basic ", kUnlessPlain},  {"digest ", kByItsLooks},
        {"negotiate ", kUnlessPlain}, {"apikey ", kUnlessPlain}, {"token ", kByItsLooks},
        {"password ", kByItsLooks},   {"secret ", kByItsLooks},  {"key ", kByItsLooks}};
    const std::string folded = lower(text_);
    for (const Scheme& scheme : kSchemes) {
        for (auto at = folded.find(scheme.word); at != std::string::npos;
             at = folded.find(scheme.word, at + 1)) {
            const std::size_t value =
                std::min(text_.find_first_not_of(" \t", at + scheme.word.size()), text_.size());
            const std::size_t end = end_of_word(value, " \t\"',;");
            const std::string_view word = text_.substr(value, end - value);
            const bool by_its_looks = looks_secret(word, text_.substr(0, value), Suspicion::kHigh);
            const bool plain =
                word.size() < 20 &&
                word.find_first_not_of("abcdefghijklmnopqrstuvwxyz.:") == std::string_view::npos;
            const bool prose = word == "token" || word == "tokens" || word == "auth" ||
                               word == "authentication" || word.empty();
            if (by_its_looks || (scheme.certainty == kAlways && !prose) ||
                (scheme.certainty == kUnlessPlain && !plain)) {
                hide(value, end);
            }
        }
    }
}

void Line::hide_words() {
    const std::string folded = lower(text_);
    for (const char* const word : {"password", "passwd", "secret", "token", "credential", "api key",
                                   "apikey", "passphrase"}) {
        speaks_of_secrets_ = speaks_of_secrets_ || folded.contains(word);
    }
    constexpr std::string_view kStops = " \t\r\"'`,;()[]{}<>=|&";
    for (std::size_t begin = text_.find_first_not_of(kStops); begin != std::string_view::npos;) {
        const std::size_t end = end_of_word(begin, kStops);
        const std::string_view word = text_.substr(begin, end - begin);
        const std::string_view before = text_.substr(0, begin);
        // What a variable in capitals is set to may be anything.
        const bool set = before.ends_with('=') && before.size() > 3 &&
                         ((before[before.size() - 2] >= 'A' && before[before.size() - 2] <= 'Z') ||
                          before[before.size() - 2] == '_');
        const bool high = speaks_of_secrets_ || set;
        if (looks_secret(word, before, high ? Suspicion::kHigh : Suspicion::kUsual))
            hide(begin, end);
        begin = text_.find_first_not_of(kStops, end);
    }
}

bool Line::redact() {
    note_quotes();
    hide_urls();
    hide_logins();
    const bool open = hide_assignments();
    hide_options();
    hide_schemes();
    hide_words();
    return open;
}

std::string Line::result() {
    if (hidden_.empty()) return std::string(text_);
    std::sort(hidden_.begin(), hidden_.end());
    std::string out;
    std::size_t done = 0;
    for (const auto& [begin, end] : hidden_) {
        if (end <= done) continue;
        if (begin > done || out.empty()) {
            out += text_.substr(done, std::max(begin, done) - done);
            out += kLineMark;
        }
        done = end;
    }
    return out += text_.substr(done);
}

}  // namespace

RedactedLine redacted_line(std::string_view text) {
    Line line(text);
    const bool open = line.redact();
    return {.text = line.result(), .open = open};
}

}  // namespace aliquot::bundle
