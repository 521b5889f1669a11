// SPDX-License-Identifier: Apache-2.0
#include "detect/scope.h"

#include <algorithm>

#include "detect/wording.h"

namespace aliquot::detect {
namespace {

constexpr std::uint32_t kLongestReach = 8;   // tokens, of a negation
constexpr std::uint32_t kSubjectReach = 16;  // tokens, of "none of the steps ... uses"
constexpr float kBehindOnly = 1;             // weights of meta rows, see the table
constexpr float kMayBeData = 2;
constexpr std::uint32_t kPastReach = 5;   // tokens between "the old" and its verb
constexpr std::uint32_t kMetaReach = 20;  // tokens before the evidence
constexpr std::uint32_t kMetaBehind = 4;  // tokens behind it
constexpr std::uint32_t kCarryReach = 6;  // tokens, of a verb of moving
constexpr std::size_t kMostBack = 24;     // matches looked at for the head of a sentence

std::uint32_t distance(const Match& left, const Match& right) {
    return right.first > left.last ? right.first - left.last : 0;
}

bool has(const Match& match, std::uint32_t topics) { return (match.row->topics & topics) != 0; }

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

unsigned Surroundings::count(std::size_t at, std::uint32_t reach, std::uint32_t topics) const {
    const Match& match = matches_[at];
    unsigned found = 0;
    const auto is_near = [&](const Match& other, std::uint32_t tokens) {
        return other.sentence == match.sentence && tokens <= reach;
    };
    for (std::size_t i = at; i-- > 0 && is_near(matches_[i], distance(matches_[i], match));) {
        if (has(matches_[i], topics)) ++found;
    }
    for (std::size_t i = at + 1;
         i < matches_.size() && is_near(matches_[i], distance(match, matches_[i])); ++i) {
        if (has(matches_[i], topics)) ++found;
    }
    return found;
}

/// "Impossible without a GPU", "without a GPU it takes weeks", "do not start without CUDA".
bool Surroundings::slow_near(std::size_t cue, std::size_t at) const {
    const Match& word = matches_[cue];
    for (std::size_t i = cue; i-- > 0;) {
        if (matches_[i].sentence != word.sentence || distance(matches_[i], word) > 8) break;
        if (matches_[i].row->rule == Rule::kCut) break;
        if (has(matches_[i], kSlow)) return true;
        const bool listed = is_no(text_, matches_[i].begin) && is_no(text_, word.begin);
        if (matches_[i].row->rule != Rule::kNot || listed) continue;
        const std::string_view between =
            text_.substr(matches_[i].end, word.begin - matches_[i].end);
        if (between.find(',') == std::string_view::npos) return true;  // not "no CUDA, no ROCm"
    }
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        if (matches_[i].sentence != word.sentence || distance(matches_[at], matches_[i]) > 7) break;
        if (has(matches_[i], kSlow)) return true;
    }
    return false;
}

/// "None of the steps in this pipeline uses CUDA": the verb carries the denial on.
bool Surroundings::subject_denies(std::size_t cue, std::size_t at) const {
    const Match& word = matches_[cue];
    const std::string_view text = text_.substr(word.begin, word.end - word.begin);
    const std::string_view tail = text.substr(std::min<std::size_t>(text.size(), 1));
    if (tail != "one" && tail != "othing" && tail != "obody") return false;
    for (std::size_t i = at; --i > cue;) {
        if (distance(matches_[i], matches_[at]) > kLongestReach) return false;
        if (has(matches_[i], kNeedWord | kLink)) return true;
    }
    return false;
}

bool Surroundings::denies(std::size_t cue, std::size_t at, bool past_preposition,
                          bool& settled) const {
    const Match& word = matches_[cue];
    const Match& match = matches_[at];
    const auto reach = static_cast<std::uint32_t>(word.row->weight);
    if (distance(word, match) > reach && !subject_denies(cue, at)) return false;
    const bool flag = word.begin > 0 && text_[word.begin - 1] == '-';  // --no-cuda, --rm
    if (word.row->rule == Rule::kRemove) return !past_preposition && !flag;
    if (flag && distance(word, match) > 1) return false;
    const std::size_t gap = match.begin > word.end ? match.begin - word.end : 0;
    const std::string_view between = text_.substr(word.end, std::min<std::size_t>(gap, 80));
    if (begins_clause(between) || goes_on_with_need(between)) return false;
    if (word.end < text_.size() && text_[word.end] == ',') return false;  // "No, use the GPU"
    if (suffices(text_.substr(match.begin, 40)) && between.find(',') != std::string_view::npos) {
        return false;
    }
    const Match& next = matches_[cue + 1];
    if (cue + 1 < at && match.row->source != Source::kCpu && next.row->rule == Rule::kHollow &&
        next.first == word.last + 1)
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
    std::size_t denial = 0;  // the last one, begin
    for (std::size_t i = at; i-- > 0;) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(cue, match) > kSubjectReach) break;
        const Rule rule = cue.row->rule;
        if (rule == Rule::kCut) break;
        if (has(cue, kPrep)) past_preposition = true;
        if (rule != Rule::kNot && rule != Rule::kRemove) continue;
        if (is_nor(text_.substr(cue.begin, cue.end - cue.begin))) return true;
        bool settled = false;
        const bool denial_here = denies(i, at, past_preposition, settled);
        if (settled) return false;
        if (!denial_here) continue;
        const std::string_view between =
            denied ? text_.substr(cue.end, denial - cue.end) : std::string_view{};
        if (between.find(',') != std::string_view::npos) break;                // "no CUDA, no ROCm"
        if (denied && is_no(text_, cue.begin) && is_no(text_, denial)) break;  // "no ML no GPU"
        denied = !denied;
        denial = cue.begin;
    }
    return denied;
}

bool Surroundings::denied_behind(std::size_t at) const {
    constexpr float kPastCut = 8;  // "we have GPUs, but this does not need one"
    const Match& match = matches_[at];
    bool cut = false;
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(match, cue) > kSubjectReach) break;
        // "CUDA needed, a CPU fallback is not offered": it is the other that is denied.
        if (cue.row->source == Source::kCpu || cue.row->source == Source::kOptional) break;
        cut = cut || cue.row->rule == Rule::kCut;
        if (cue.row->rule != Rule::kNotBehind) continue;
        if (cut && cue.row->weight < kPastCut) break;
        const std::string_view between = text_.substr(match.end, cue.begin - match.end);
        if (between.find("CPU") != std::string_view::npos) break;
        auto reach = cue.end - cue.begin <= 4 ? 1U  // "off", "free": only at its side
                                              : static_cast<std::uint32_t>(cue.row->weight);
        // "A GPU, which many people would expect here, is not needed"
        if (between.starts_with(", which ") || between.starts_with(" (")) reach = kSubjectReach;
        return distance(match, cue) <= reach;
    }
    return false;
}

bool Surroundings::negated(std::size_t at) const {
    if (is_left_behind(text_, matches_[at])) return true;
    const bool behind = denied_behind(at) || answered_no(text_, matches_[at].end);
    return denied_before(at) != behind;
}

/// "The old detector ran", "it originally needed".
bool Surroundings::is_past(std::size_t verb) const {
    if (!has(matches_[verb], kPastVerb)) return false;
    for (std::size_t i = verb; i-- > 0;) {
        if (matches_[i].sentence != matches_[verb].sentence) return false;
        if (distance(matches_[i], matches_[verb]) > kPastReach) return false;
        if (has(matches_[i], kOldWord)) return true;
    }
    return false;
}

/// "If we ever add image generation we would need GPUs."
bool Surroundings::unreal(std::size_t at) const {
    const auto is_cue = [&](std::size_t i) { return matches_[i].row->rule == Rule::kUnreal; };
    const Match& match = matches_[at];
    bool past = true;  // until something is needed now
    for (std::size_t i = at; i-- > 0;) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(cue, match) > kMetaReach) break;
        if (cue.row->rule == Rule::kCut) break;
        if (is_cue(i) || (past && is_past(i))) return true;
        const bool joins = (text_[cue.begin] | 0x20) == 'o';  // "ran on an A100"
        past = past && (joins || !has(cue, kNeedWord));
    }
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(match, cue) > kMetaReach) break;
        if (cue.row->rule == Rule::kCut) break;
        if (is_cue(i)) return true;
    }
    return false;
}

/// "Download the Llama weights to the share"; but not "download the weights and fine-tune on them".
bool Surroundings::carried(std::size_t at) const {
    const Match& match = matches_[at];
    const std::string_view name = text_.substr(match.begin, match.end - match.begin);
    const bool action = has(match, kAction) && !name.ends_with("ed");  // "fine-tuned weights"
    if (match.row->source < Source::kFramework || action) return false;
    bool carried = false;
    for (std::size_t i = at; i-- > 0 && !carried;) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(cue, match) > kCarryReach) break;
        if (has(cue, kAction | kNeedWord) || cue.row->rule == Rule::kCut) break;
        carried = cue.row->rule == Rule::kCarry && begins_order(text_, cue.begin);
    }
    for (std::size_t i = at + 1; i < matches_.size() && carried; ++i) {
        const Match& cue = matches_[i];
        if (distance(match, cue) > kMetaReach) break;
        carried = !has(cue, kAction | kNeedWord | kGpuWord) || negated(i);
    }
    return carried;
}

bool Surroundings::headed_by_action(std::size_t at) const {
    std::size_t head = at;
    for (std::size_t back = 0; head > 0 && back < kMostBack; ++back, --head) {
        if (matches_[head - 1].sentence != matches_[at].sentence) break;
    }
    return has(matches_[head], kAction);
}

bool Surroundings::meta(std::size_t at) const {
    if (unreal(at) || carried(at)) return true;
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
        const bool behind_only = cue.row->weight == kBehindOnly;
        const bool data =
            cue.row->weight == kMayBeData && (is_data(i) || is_purpose(text_, cue.begin));
        const bool subject =
            !behind_only && !data && (!action || linked) && !is_counted(text_, cue.begin);
        if (cue.row->rule == Rule::kMeta && subject) return true;
    }
    if (action) return false;
    for (std::size_t i = at + 1; i < matches_.size(); ++i) {
        const Match& cue = matches_[i];
        if (cue.sentence != match.sentence || distance(match, cue) > kMetaBehind) break;
        if (has(cue, kPrep | kLink | kNeedWord) || cue.row->rule == Rule::kCut) break;
        const std::string_view between = text_.substr(match.end, cue.begin - match.end);
        if (between.find_first_of(",:(") != std::string_view::npos) break;
        if (goes_on_with_order(between)) break;
        if (between.find(" behind ") != std::string_view::npos) break;  // "behind a web form"
        const bool onward = between.find(" to ") != std::string_view::npos;
        if (onward && !is_added(text_, match)) break;  // "served to the developers"
        if (cue.row->rule == Rule::kMeta && !is_verb(i)) return true;
    }
    return false;
}

/// "An avatar that talks".
bool Surroundings::is_verb(std::size_t at) const {
    if (matches_[at].row->weight != kMayBeData || at == 0) return false;
    const Match& before = matches_[at - 1];
    const std::string_view word = text_.substr(before.begin, before.end - before.begin);
    return before.last + 1 == matches_[at].first && (word == "that" || word == "which");
}

/// "Live translation of lectures": what is worked on, not what the text is about.
bool Surroundings::is_data(std::size_t at) const {
    if (is_verb(at)) return true;
    for (std::size_t i = at; i-- > 0;) {
        const Match& cue = matches_[i];
        if (cue.sentence != matches_[at].sentence || distance(cue, matches_[at]) > 6) break;
        if (has(cue, kSound | kSight | kWords | kAction) && cue.row->rule != Rule::kMeta)
            return true;
    }
    return false;
}

bool Surroundings::starts_meta() const {
    for (const Match& match : matches_) {
        if (match.first > 6 || match.sentence != matches_.front().sentence) return false;
        if (has(match, kAction | kNeedWord) || match.row->source < Source::kContext) return false;
        const Rule rule = match.row->rule;
        if (rule == Rule::kNot || rule == Rule::kRemove || rule == Rule::kCut) return false;
        if (rule == Rule::kMeta && !is_counted(text_, match.begin)) {
            if (match.row->weight == kMayBeData &&
                (is_purpose(text_, match.begin) ||
                 is_data(static_cast<std::size_t>(&match - matches_.data())))) {
                continue;
            }
            return match.row->weight != kBehindOnly;
        }
    }
    return false;
}

}  // namespace aliquot::detect
