// SPDX-License-Identifier: Apache-2.0
#include "detect/features.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace aliquot::detect {
namespace {

constexpr std::uint32_t kPairReach = 8;      // tokens
constexpr std::uint32_t kDenialReach = 8;    // tokens, of "no"
constexpr std::uint32_t kSubjectReach = 20;  // tokens, of "dashboard" and "if we ever"
constexpr std::size_t kMostNeighbours = 6;   // matches looked at to each side
constexpr unsigned kMostLooks = 40;          // matches of one class in one text
constexpr unsigned kDeniedWords = 6;         // behind a "no"

static_assert(kClasses <= 64);
constexpr bool is_evidence(Class what) { return what <= Class::kSmall; }

std::uint32_t tokens_between(const Match& left, const Match& right) {
    return right.first > left.last ? right.first - left.last : 0;
}

constexpr bool contains(std::uint32_t set, Flag flag) {
    return ((set >> static_cast<unsigned>(flag)) & 1U) != 0;
}
constexpr std::uint32_t bit(Flag flag) { return 1U << static_cast<unsigned>(flag); }

/// Reads the matches of one text.
class TraitReader {
public:
    TraitReader(std::string_view text, Kind kind, std::span<const Match> matches,
                std::vector<Trait>& traits, std::vector<Flag>& flags)
        : text_(text), kind_(kind), matches_(matches), traits_(traits), flags_(flags) {}

    void read() {
        traits_.clear();
        flags_.assign(matches_.size(), Flag::kNone);
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            note_quotes(matches_[i]);
            const auto what = static_cast<std::size_t>(matches_[i].row->what);
            there_ |= std::uint64_t{1} << what;
            if (looks_[what]++ >= kMostLooks) continue;
            read(i);
        }
        if (!matches_.empty()) {
            add(Form::kFirst, matches_.front().row->what, 0, 0);
            add(Form::kLast, matches_.back().row->what, 0, matches_.size() - 1);
        }
        for (std::uint64_t left = there_; left != 0; left &= left - 1) {
            const auto one = static_cast<Class>(std::countr_zero(left));
            for (std::uint64_t rest = left & (left - 1); rest != 0; rest &= rest - 1) {
                add(Form::kBoth, one, static_cast<std::size_t>(std::countr_zero(rest)), kNoMatch);
            }
        }
    }

private:
    static constexpr std::size_t kNoMatch = 0xFFFFFFFF;

    void add(Form form, Class first, std::size_t second, std::size_t match) {
        traits_.push_back({form, static_cast<std::uint8_t>(first),
                           static_cast<std::uint8_t>(second), static_cast<std::uint32_t>(match)});
    }

    /// A manifest whose kind is no workload, or a command that only asks, speaks of what is in it.
    void note_quotes(const Match& match) {
        if (match.sentence != sentence_) in_command_ = false;
        sentence_ = match.sentence;
        if (match.row->what == Class::kKind) in_manifest_ = false;
        if (match.row->what != Class::kAboutAll) return;
        const bool is_kind = text_.substr(match.begin, 4) == "kind";
        (is_kind ? in_manifest_ : in_command_) = true;
    }

    void read(std::size_t at) {
        const Match& match = matches_[at];
        const Class what = match.row->what;
        add(Form::kClass, what, 0, at);
        if (kind_ != Kind::kText) add(Form::kKind, what, static_cast<std::size_t>(kind_), at);
        const std::uint32_t flags = is_evidence(what) ? flags_of(at) : 0;
        if (flags == 0) add(Form::kPlain, what, 0, at);
        for (std::size_t flag = 1; flag < kFlags; ++flag) {
            if (((flags >> flag) & 1U) != 0) add(Form::kFlag, what, flag, at);
        }
        flags_[at] = strongest(flags);
        note_decision(match, flags, at);
        const std::size_t from = at > kMostNeighbours ? at - kMostNeighbours : 0;
        for (std::size_t i = at; i-- > from;) {
            if (matches_[i].sentence != match.sentence) break;
            if (tokens_between(matches_[i], match) > kPairReach) break;
            add(Form::kPair, matches_[i].row->what, static_cast<std::size_t>(what), at);
        }
    }

    /// What a text says outright, and nothing around takes back.
    void note_decision(const Match& match, std::uint32_t flags, std::size_t at) {
        const Class what = match.row->what;
        const auto decides = [&](Asked how) {
            add(Form::kAsked, what, static_cast<std::size_t>(how), at);
        };
        const bool is_file = kind_ != Kind::kText;
        if (what == Class::kAsk && flags == bit(Flag::kNumber)) {
            decides(is_file ? Asked::kNumber : Asked::kTold);
        } else if (what == Class::kAsk && flags == bit(Flag::kOff)) {
            decides(Asked::kOff);
        } else if (flags != 0 || !is_file) {
            return;
        } else if (what == Class::kCpu && match.row->reads == Reads::kSwitch) {
            decides(Asked::kOff);
        } else if (what == Class::kAsk && kind_ == Kind::kManifest &&
                   match.row->reads == Reads::kSwitch) {
            decides(Asked::kNamed);
        } else if (what == Class::kStack && image_at(text_, match.begin) == Image::kRuns) {
            decides(Asked::kRuns);
        }
    }

    /// The flag that says what became of a match, for what is shown and for the need.
    static Flag strongest(std::uint32_t flags) {
        for (const Flag flag : {Flag::kOff, Flag::kComment, Flag::kQuoted, Flag::kCpuBuild}) {
            if (contains(flags, flag)) return flag;
        }
        const bool before = contains(flags, Flag::kNot) || contains(flags, Flag::kRemoved);
        const bool behind = contains(flags, Flag::kDenied);
        if (before != behind) return Flag::kNot;  // "not that it is not needed"
        for (const Flag flag : {Flag::kKey, Flag::kUnreal, Flag::kCarried, Flag::kAbout}) {
            if (contains(flags, flag)) return flag;
        }
        return Flag::kNone;
    }

    [[nodiscard]] std::uint32_t flags_of(std::size_t at) const {
        const Match& match = matches_[at];
        std::uint32_t flags = flags_before(at) | flags_behind(at);
        if (match.comment) flags |= bit(Flag::kComment);
        if (in_manifest_ || in_command_) flags |= bit(Flag::kQuoted);
        if (answered_no(text_, match.end)) flags |= bit(Flag::kDenied);
        if (goes_on_as_cpu_build(text_, match.end)) flags |= bit(Flag::kCpuBuild);
        if (kind_ == Kind::kDockerfile && image_at(text_, match.begin) == Image::kBuilds)
            flags |= bit(Flag::kQuoted);
        switch (setting_of(text_, match)) {
            case Setting::kOff:
                flags |= bit(Flag::kOff);
                break;
            case Setting::kNumber:
                flags |= bit(Flag::kNumber);
                break;
            case Setting::kKey:
                flags |= bit(Flag::kKey);
                break;
            case Setting::kPlain:
                break;
        }
        return flags;
    }

    [[nodiscard]] std::uint32_t flags_before(std::size_t at) const {
        const Match& match = matches_[at];
        const std::size_t from = at > 2 * kMostNeighbours ? at - 2 * kMostNeighbours : 0;
        std::uint32_t flags = 0;
        bool past_preposition = false;
        std::size_t clause = match.begin;  // of what is denied or needed: where it begins
        bool parted = false;               // by a comma, from what was read before
        for (std::size_t i = at; i-- > from;) {
            const Match& cue = matches_[i];
            const std::uint32_t tokens = tokens_between(cue, match);
            if (cue.sentence != match.sentence || tokens > kSubjectReach) break;
            const Class what = cue.row->what;
            if (what == Class::kBut) break;
            if (what == Class::kWith) past_preposition = true;
            const bool denies = what == Class::kNot && tokens <= kDenialReach && !is_hollow(i);
            if (what == Class::kNeed || denies) {  // "no K80, it needs an A100"; "no CUDA, no ROCm"
                const std::string_view gap = text_.substr(cue.end, clause - cue.end);
                parted = clause != match.begin && gap.find(',') != std::string_view::npos;
                clause = cue.begin;
            }
            if (denies && parted) break;
            if (denies) flags ^= bit(Flag::kNot);
            const bool removes = what == Class::kRemove && !past_preposition;
            if (removes && tokens <= kDenialReach) flags |= bit(Flag::kRemoved);
            if (what == Class::kAbout) flags |= bit(Flag::kAbout);
            if (what == Class::kCarry && tokens <= kDenialReach) flags |= bit(Flag::kCarried);
            if (what == Class::kUnreal) flags |= bit(Flag::kUnreal);
        }
        return flags;
    }

    /// "Not only", and "No, use the GPU".
    [[nodiscard]] bool is_hollow(std::size_t cue) const {
        const Match& match = matches_[cue];
        if (match.end < text_.size() && text_[match.end] == ',') return true;
        return cue + 1 < matches_.size() && matches_[cue + 1].row->what == Class::kHollow &&
               matches_[cue + 1].first == match.last + 1;
    }

    [[nodiscard]] std::uint32_t flags_behind(std::size_t at) const {
        const Match& match = matches_[at];
        const std::size_t to = std::min(matches_.size(), at + 1 + kMostNeighbours);
        for (std::size_t i = at + 1; i < to; ++i) {
            const Match& cue = matches_[i];
            const std::uint32_t tokens = tokens_between(match, cue);
            if (cue.sentence != match.sentence || tokens > kDenialReach) break;
            const Class what = cue.row->what;
            if (what == Class::kBut || what == Class::kCpu || what == Class::kOptional) break;
            if (what == Class::kDenied) return bit(Flag::kDenied);
            if (what == Class::kUnreal) return bit(Flag::kUnreal);
        }
        return 0;
    }

    std::string_view text_;
    Kind kind_;
    std::span<const Match> matches_;
    std::vector<Trait>& traits_;
    std::vector<Flag>& flags_;
    std::array<unsigned, kClasses> looks_{};
    std::uint64_t there_ = 0;  // a bit for each class
    std::uint32_t sentence_ = 0;
    bool in_manifest_ = false;
    bool in_command_ = false;
};

constexpr bool is_numeral(unsigned char byte) { return byte >= '0' && byte <= '9'; }
constexpr unsigned char folded(unsigned char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<unsigned char>(byte + 32) : byte;
}
constexpr bool is_letter(unsigned char byte) {
    return byte >= 0x80 || (folded(byte) >= 'a' && folded(byte) <= 'z');
}
constexpr bool breaks_sentence(char byte) {
    return byte == '.' || byte == ';' || byte == ':' || byte == '!' || byte == '?' || byte == '\n';
}

/// The first byte of a letter of Chinese, Japanese or Korean, or of their punctuation.
constexpr bool is_wide(unsigned char byte) { return byte >= 0xE3 && byte < 0xF0; }

/// What a sign of three bytes at the beginning of `text` is.
enum class Wide : std::uint8_t { kLetter, kMark, kEnd };
Wide wide_at(std::string_view text) {
    const std::string_view sign = text.substr(0, 3);
    if (sign == "\u3002" || sign == "\uFF01" || sign == "\uFF1F") return Wide::kEnd;
    const bool mark = sign.starts_with("\xE3\x80") || sign == "\uFF0C" || sign == "\uFF1A" ||
                      sign == "\uFF1B" || sign == "\uFF08" || sign == "\uFF09";
    return mark ? Wide::kMark : Wide::kLetter;
}

/// Does the word go on at `at`? "GPUが" is two: letters of one kind make a word.
bool goes_on(std::string_view text, std::size_t at, bool wide) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (!is_letter(byte)) return false;
    const bool inside = byte >= 0x80 && byte < 0xC0;  // not the first byte of its letter
    if (inside) return true;
    return wide ? is_wide(byte) && wide_at(text.substr(at)) == Wide::kLetter : !is_wide(byte);
}

constexpr std::size_t kLongestKnown = 48;  // bytes; longer ones are data
constexpr std::array<std::string_view, 8> kNumbers = {"#",  "#1", "#2", "#3",
                                                      "#4", "#5", "#6", "#7"};

}  // namespace

void read_traits(std::string_view text, Kind kind, std::span<const Match> matches,
                 std::vector<Trait>& traits, std::vector<Flag>& flags) {
    TraitReader(text, kind, matches, traits, flags).read();
}

void read_words(std::string_view text, std::span<const Match> matches, std::string& buffer,
                std::vector<TextWord>& words) {
    words.clear();
    text = text.substr(0, kMostWordBytes);
    buffer.resize(text.size());
    std::size_t cue = 0;
    unsigned denied = 0;
    bool broken = true;
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool letter = is_letter(byte);
        const bool wide = is_wide(byte);
        const Wide sign = wide ? wide_at(text.substr(at)) : Wide::kLetter;
        if ((!letter && !is_numeral(byte)) || sign != Wide::kLetter) {
            if (sign == Wide::kEnd || breaks_sentence(text[at])) {
                broken = true;
                denied = 0;
            }
            at += wide ? 3 : 1;
            continue;
        }
        const std::size_t begin = at;
        TextWord word;
        if (letter) {
            while (at < text.size() && goes_on(text, at, wide)) {
                buffer[at] = static_cast<char>(folded(static_cast<unsigned char>(text[at])));
                ++at;
            }
            word.text = std::string_view(buffer).substr(begin, at - begin);
            word.hash = hash_of(word.text);
            if (at - begin > kLongestKnown) {
                // Text without blanks, such as Japanese, is long; its pieces are what counts.
                if (byte < 0x80) continue;
            }
        } else {
            while (at < text.size() && is_numeral(static_cast<unsigned char>(text[at]))) ++at;
            word.text = kNumbers[std::min<std::size_t>(at - begin, 7)];
            word.hash = hash_of(word.text);
            if (at + 1 < text.size() && text[at] == '.' &&
                is_numeral(static_cast<unsigned char>(text[at + 1]))) {
                ++at;
                while (at < text.size() && is_numeral(static_cast<unsigned char>(text[at]))) ++at;
            }
        }
        word.begin = static_cast<std::uint32_t>(begin);
        word.end = static_cast<std::uint32_t>(at);
        word.first = words.size() < 2;
        word.opens = broken && !words.empty();
        word.follows = !broken;
        broken = false;
        word.denied = denied > 0;
        if (denied > 0) --denied;
        for (; cue < matches.size() && matches[cue].end <= at; ++cue) {
            const Class what = matches[cue].row->what;
            if (what == Class::kNot || what == Class::kRemove) denied = kDeniedWords;
            if (what == Class::kBut || what == Class::kHollow) denied = 0;
        }
        words.push_back(word);
    }
}

std::string name_of(const Trait& trait) {
    constexpr std::array<std::string_view, kForms> kNames = {
        "class", "plain", "flag", "near", "both", "first", "last", "kind", "asked"};
    constexpr std::array<std::string_view, kFlags> kFlagNames = {
        "none",   "not",     "removed", "denied", "about", "carried",  "unreal",
        "quoted", "comment", "off",     "number", "key",   "cpu_build"};
    std::string name(kNames.at(static_cast<std::size_t>(trait.form)));
    name += ' ';
    name += name_of(static_cast<Class>(trait.first));
    if (trait.form == Form::kFlag) {
        name += ' ';
        name += kFlagNames.at(trait.second);
    } else if (trait.form == Form::kPair || trait.form == Form::kBoth) {
        name += ' ';
        name += name_of(static_cast<Class>(trait.second));
    } else if (trait.form == Form::kAsked) {
        constexpr std::array<std::string_view, kAskedForms> kAsks = {" number", " named", " told",
                                                                     " off", " runs"};
        name += kAsks.at(trait.second);
    } else if (trait.form == Form::kKind) {
        name += ' ';
        name += name_of(static_cast<Kind>(trait.second));
    }
    return name;
}

void name_words(const TextWord& word, const TextWord* before, std::vector<std::string>& names) {
    const std::string text(word.text);
    const bool whole = text.size() <= kLongestKnown;
    if (whole) names.push_back("w " + text);
    pieces_of(word.text, [&](char tag, std::string_view piece) {
        names.push_back(std::string(1, tag) + ' ' + std::string(piece));
    });
    if (!whole) return;
    if (word.denied) names.push_back("n " + text);
    if (word.first) names.push_back("h " + text);
    if (word.opens) names.push_back("o " + text);
    if (word.follows && before != nullptr) {
        names.push_back("b " + std::string(before->text) + ' ' + text);
    }
}

}  // namespace aliquot::detect
