// SPDX-License-Identifier: Apache-2.0
#include "detect/scope.h"

#include <algorithm>
#include <array>

namespace aliquot::detect {
namespace {

constexpr std::uint32_t kLongestReach = 8;  // tokens, of a negation
constexpr std::uint32_t kMetaReach = 20;    // tokens before the evidence
constexpr std::uint32_t kMetaBehind = 4;    // tokens behind it
constexpr std::size_t kMostBack = 24;       // matches looked at for the head of a sentence

std::uint32_t distance(const Match& left, const Match& right) {
    return right.first > left.last ? right.first - left.last : 0;
}

/// "This is no toy: 2,000 GPU hours"; "that is no option, we have CUDA".
bool begins_clause(std::string_view between) {
    for (const std::string_view start :
         {": ", ", we ", ", it ", ", they ", ", this ", ", you ", ", so "}) {
        if (between.find(start) != std::string_view::npos) return true;
    }
    return false;
}

bool is_with(std::string_view word) { return word == "with" || word == "using" || word == "via"; }

bool has(const Match& match, std::uint32_t topics) { return (match.row->topics & topics) != 0; }

constexpr bool is_value_byte(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == ',' || byte == '.';
}

}  // namespace

std::uint32_t Surroundings::topics(std::size_t at, std::uint32_t reach, bool same_sentence) const {
    const Match& match = matches_[at];
    std::uint32_t found = 0;
    for (std::size_t i = at; i-- > 0;) {
        if (distance(matches_[i], match) > reach) break;
        if (same_sentence && matches_[i].sentence != match.sentence) break;
        found |= matches_[i].row->topics;
    }
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        if (distance(match, matches_[i]) > reach) break;
        if (same_sentence && matches_[i].sentence != match.sentence) break;
        found |= matches_[i].row->topics;
    }
    return found;
}

/// "Impossible without a GPU", "without a GPU it takes weeks", "do not start without CUDA".
bool Surroundings::slow_near(std::size_t cue, std::size_t at) const {
    const Match& word = matches_[cue];
    for (std::size_t i = cue; i-- > 0;) {
        if (matches_[i].sentence != word.sentence || distance(matches_[i], word) > 8) break;
        if (matches_[i].row->rule == Rule::kCut) break;
        if (has(matches_[i], kSlow) || matches_[i].row->rule == Rule::kNot) return true;
    }
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        if (matches_[i].sentence != word.sentence || distance(matches_[at], matches_[i]) > 7) break;
        if (has(matches_[i], kSlow)) return true;
    }
    return false;
}

bool Surroundings::denies(std::size_t cue, std::size_t at, bool past_preposition,
                          bool& settled) const {
    const Match& word = matches_[cue];
    const Match& match = matches_[at];
    const auto reach = static_cast<std::uint32_t>(word.row->weight);
    if (distance(word, match) > reach) return false;
    const bool flag = word.begin > 0 && text_[word.begin - 1] == '-';  // --no-cuda, --rm
    if (word.row->rule == Rule::kRemove) return !past_preposition && !flag;
    if (flag && distance(word, match) > 1) return false;
    const std::size_t gap = match.begin > word.end ? match.begin - word.end : 0;
    if (begins_clause(text_.substr(word.end, std::min<std::size_t>(gap, 80)))) return false;
    if (word.end < text_.size() && text_[word.end] == ',') return false;  // "No, use the GPU"
    const Match& next = matches_[cue + 1];
    if (cue + 1 < at && next.row->rule == Rule::kHollow && next.first == word.last + 1)
        return false;
    const std::string_view text = text_.substr(word.begin, word.end - word.begin);
    if ((text == "without" || text == "Without" || text == "no" || text == "No") &&
        slow_near(cue, at)) {
        settled = true;
        return false;
    }
    return true;
}

bool Surroundings::denied_before(std::size_t at) const {
    const Match& match = matches_[at];
    bool denied = false;
    bool past_preposition = false;
    for (std::size_t i = at; i-- > 0;) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(cue, match) > kLongestReach) break;
        const Rule rule = cue.row->rule;
        if (rule == Rule::kCut) break;
        if (has(cue, kPrep)) past_preposition = true;
        if (rule != Rule::kNot && rule != Rule::kRemove) continue;
        bool settled = false;
        if (denies(i, at, past_preposition, settled)) denied = !denied;
        if (settled) return false;
    }
    return denied;
}

bool Surroundings::denied_behind(std::size_t at) const {
    constexpr float kPastCut = 8;  // "we have GPUs, but this does not need one"
    const Match& match = matches_[at];
    bool cut = false;
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(match, cue) > kLongestReach) break;
        cut = cut || cue.row->rule == Rule::kCut;
        if (cue.row->rule != Rule::kNotBehind) continue;
        if (cut && cue.row->weight < kPastCut) break;
        const auto reach = cue.end - cue.begin <= 4 ? 1U  // "off", "free": only at its side
                                                    : static_cast<std::uint32_t>(cue.row->weight);
        return distance(match, cue) <= reach;
    }
    return false;
}

bool Surroundings::negated(std::size_t at) const { return denied_before(at) != denied_behind(at); }

bool Surroundings::headed_by_action(std::size_t at) const {
    std::size_t head = at;
    for (std::size_t back = 0; head > 0 && back < kMostBack; ++back, --head) {
        if (matches_[head - 1].sentence != matches_[at].sentence) break;
    }
    return has(matches_[head], kAction);
}

bool Surroundings::meta(std::size_t at) const {
    const Match& match = matches_[at];
    const bool action = headed_by_action(at);
    const Source source = match.row->source;
    const bool means = source == Source::kModel || source == Source::kTask ||
                       source == Source::kScale;  // "OCR of invoices with a transformer model"
    bool linked = false;
    for (std::size_t i = at; i-- > 0;) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(cue, match) > kMetaReach) break;
        if (has(cue, kNeedWord) || cue.row->rule == Rule::kCut) break;
        if (means && is_with(text_.substr(cue.begin, cue.end - cue.begin))) break;
        if (has(cue, kLink)) linked = true;
        const bool behind_only = cue.row->weight > 0;
        if (cue.row->rule == Rule::kMeta && !behind_only && (!action || linked)) return true;
    }
    if (action) return false;
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(match, cue) > kMetaBehind) break;
        if (has(cue, kPrep | kLink | kNeedWord)) break;
        const std::string_view between = text_.substr(match.end, cue.begin - match.end);
        if (between.find_first_of(",:(") != std::string_view::npos) break;
        if (cue.row->rule == Rule::kMeta) return true;
    }
    return false;
}

bool Surroundings::starts_meta() const {
    for (const Match& match : matches_) {
        if (match.first > 6 || match.sentence != matches_.front().sentence) return false;
        if (has(match, kAction | kNeedWord) || match.row->source < Source::kContext) return false;
        const Rule rule = match.row->rule;
        if (rule == Rule::kNot || rule == Rule::kRemove || rule == Rule::kCut) return false;
        if (rule == Rule::kMeta) return match.row->weight == 0;
    }
    return false;
}

namespace {

/// Behind the name of a variable in a manifest stands "value" with what it is: one past that word.
std::size_t end_of_value_key(std::string_view text, std::size_t end) {
    constexpr std::size_t kFarthest = 40;
    const std::string_view rest = text.substr(end, kFarthest);
    const std::size_t word = rest.find_first_not_of(" \t\r\n\"',");
    if (word == std::string_view::npos || word == 0) return end;
    if (!rest.substr(word).starts_with("value")) return end;
    return end + word + std::string_view("value").size();
}

}  // namespace

Value value_behind(std::string_view text, std::size_t end, bool is_flag) {
    end = end_of_value_key(text, end);
    bool parted = false;
    bool quoted = false;
    std::size_t at = end;
    for (; at < text.size() && at < end + 10; ++at) {
        const char byte = text[at];
        if (byte == ':' || byte == '=') parted = true;
        if ((byte == '"' || byte == '\'') && parted) {
            if (quoted) return {Value::Form::kList, 0};  // ""
            quoted = true;
        }
        if (std::string_view(" \t:=\"'[]").find(byte) == std::string_view::npos) break;
    }
    if (!parted && !(is_flag && at > end)) return {};
    std::size_t stop = at;
    while (stop < text.size() && stop < at + 16 && is_value_byte(text[stop])) ++stop;
    if (stop == at) return {parted ? Value::Form::kList : Value::Form::kNone, 0};
    std::array<char, 16> low{};
    std::transform(text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(stop), low.begin(),
                   [](char byte) { return byte >= 'A' && byte <= 'Z' ? char(byte + 32) : byte; });
    const std::string_view word(low.data(), stop - at);
    for (const std::string_view off :
         {"0", "false", "off", "no", "none", "null", "disabled", "disable", "-1", "cpu"}) {
        if (word == off) return {Value::Form::kOff, 0};
    }
    unsigned number = 0;
    std::size_t digits = 0;
    for (; digits < word.size() && word[digits] >= '0' && word[digits] <= '9'; ++digits) {
        if (number < 100000) number = number * 10 + static_cast<unsigned>(word[digits] - '0');
    }
    if (digits == word.size()) return {Value::Form::kNumber, number};
    if (digits > 0 && word[digits] == ',') {
        const auto commas = std::count(word.begin(), word.end(), ',');
        return {Value::Form::kList, static_cast<unsigned>(commas) + 1};
    }
    return {Value::Form::kOn, 0};
}

}  // namespace aliquot::detect
