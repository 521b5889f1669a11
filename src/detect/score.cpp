// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "detect/need.h"
#include "detect/scope.h"
#include "detect/tokens.h"

namespace aliquot::detect {
namespace {

constexpr std::uint32_t kPartnerReach = 10;  // tokens
constexpr std::uint32_t kForeignReach = 12;
constexpr std::uint32_t kForeignSide = 3;
constexpr std::uint32_t kCardReach = 5;
constexpr std::uint32_t kRemoteReach = 600;  // tokens: a longer text is more than one remote call
constexpr unsigned kMostLooks = 40;          // evaluations of one row in one text
constexpr double kNotOnCpu = 2.1;            // log-odds
constexpr double kSharpness = 1.2;           // fitted once, see docs/guide/detect.md
constexpr std::array kRepetition = {1.0, 0.6, 0.35, 0.2};  // of evidence of one source

/// One judged match: its weight, and why it is not that of the table.
struct Judged {
    std::size_t match = 0;
    double weight = 0;
    Scope scope = Scope::kPlain;
};

/// What a thread reuses from text to text.
struct Buffers {
    Phrases phrases;
    std::vector<std::uint8_t> looks;  // by row
    std::vector<std::int32_t> kept;   // by row: index in `judged`, or -1
    std::vector<Judged> judged;
};

/// Marks what lies in a command or a manifest that only speaks of GPUs.
void mark_spoken_of(std::string_view text, Phrases& phrases) {
    const auto speaks = [&](std::uint32_t at) {
        return phrases.matches[at].row->rule == Rule::kMetaAll;
    };
    if (std::none_of(phrases.marked.begin(), phrases.marked.end(), speaks)) return;
    bool manifest = false;
    bool command = false;
    std::uint32_t sentence = 0;
    for (Match& match : phrases.matches) {
        if (match.sentence != sentence) command = false;
        sentence = match.sentence;
        if ((match.row->topics & kKindWord) != 0) manifest = false;
        if (match.row->rule == Rule::kMetaAll) {
            const bool is_kind = text.substr(match.begin, 4) == "kind";
            (is_kind ? manifest : command) = true;
        }
        match.spoken_of = manifest || command;
    }
}

class Judge {
public:
    Judge(std::string_view text, Kind kind, Buffers& buffers)
        : text_(text),
          kind_(kind),
          buffers_(buffers),
          matches_(buffers.phrases.matches),
          around_(text, buffers.phrases.matches) {}

    Verdict judge() {
        survey();
        collect();
        weigh_against_others();
        return sum_up();
    }

private:
    static bool is_evidence(const Match& match) { return match.row->source < Source::kContext; }

    /// What holds for the whole text.
    void survey() {
        bool local = false;
        for (const std::uint32_t i : buffers_.phrases.marked) {
            const Match& match = matches_[i];
            if ((match.row->topics & kLocal) != 0) local = true;
            if (match.row->source != Source::kRemote || remote_ || match.first > kRemoteReach) {
                continue;
            }
            if (partnered(i) && !around_.negated(i)) remote_ = true;
        }
        if (local) remote_ = false;
        local_ = local;
        about_ = kind_ == Kind::kText && around_.starts_meta();
    }

    [[nodiscard]] bool partnered(std::size_t at) const {
        const Row& row = *matches_[at].row;
        if (row.rule != Rule::kPartner) return true;
        return (around_.topics(at, kPartnerReach, false) & row.partners) != 0;
    }

    /// Does the rule of the row let the match count at all?
    [[nodiscard]] bool admitted(std::size_t at, double& weight) const {
        const Row& row = *matches_[at].row;
        if (row.boost != 0 && (around_.topics(at, kPartnerReach, true) & row.boost) != 0) {
            weight += kBoost;
        }
        const bool package = row.source == Source::kStack || row.source == Source::kFramework;
        if (package && kind_ != Kind::kText && kind_ != Kind::kManifest) return true;
        if (row.rule == Rule::kPartner) {
            if (!partnered(at)) return false;
            return (around_.topics(at, kForeignSide, true) & kForeign) == 0;
        }
        if (row.rule == Rule::kShy) {
            if ((around_.topics(at, kPartnerReach, false) & row.partners) != 0) return true;
            const bool card = row.source <= Source::kHardware;
            return (around_.topics(at, card ? kCardReach : kForeignReach, true) & kForeign) == 0;
        }
        return true;
    }

    [[nodiscard]] bool is_flag(const Match& match) const {
        return match.begin > 0 && (text_[match.begin - 1] == '-' || text_[match.begin - 1] == '/');
    }

    /// "cuda:0" is the first device; "cuda: 0" is a switch.
    [[nodiscard]] bool is_device_index(std::size_t end) const {
        if (end < 4 || end + 1 >= text_.size() || text_[end] != ':') return false;
        const bool digit = text_[end + 1] >= '0' && text_[end + 1] <= '9';
        return digit && text_.substr(end - 4, 4) == "cuda";
    }

    /// Switches, resource names, device lists.
    Scope read_value(const Match& match, double& weight) const {
        const Row& row = *match.row;
        if (is_device_index(match.end)) return Scope::kPlain;
        const Value value = value_behind(text_, match.end, is_flag(match));
        if (row.rule == Rule::kDevices) {
            const std::string_view rest = text_.substr(match.end, 2);  // "DEVICES= run"
            const bool empty = rest == "=" || rest == "= " || rest == "=\n";
            const bool none = value.form == Value::Form::kOff
                                  ? text_.substr(match.end, 4).find('0') == std::string_view::npos
                                  : value.form == Value::Form::kList && value.number == 0;
            if (!none && !empty) return Scope::kPlain;
            weight = -4.2;
            return Scope::kSwitchedOff;
        }
        if (value.form == Value::Form::kOff) {
            weight = -4.2;
            return Scope::kSwitchedOff;
        }
        if (row.rule == Rule::kResource) {
            if (value.form == Value::Form::kNumber) return Scope::kPlain;
            const std::size_t from = match.begin > 12 ? match.begin - 12 : 0;
            const bool key =
                text_.substr(from, match.begin - from).find("key") != std::string_view::npos;
            const bool label = match.end < text_.size() && text_[match.end] == '.';
            weight *= key || value.form == Value::Form::kOn ? 0.1 : label ? 0.5 : 0.7;
            return key ? Scope::kMeta : Scope::kPlain;
        }
        if (row.rule == Rule::kValue && value.form == Value::Form::kNone) weight *= 0.6;
        return Scope::kPlain;
    }

    /// The weight of denied evidence.
    static double turned(const Row& row, double weight) {
        if (row.source == Source::kCpu) return kNotOnCpu;  // "cannot run on a CPU"
        if (row.source == Source::kSmall) return 0;
        if (row.source == Source::kOptional) {  // "do not fall back to the CPU"
            return (row.topics & kGpuWord) != 0 ? kNotOnCpu : 0;
        }
        if (weight < 0) return weight * -0.5;
        return row.source <= Source::kHardware ? -weight : weight * -0.7;
    }

    /// The weight of one match in its place.
    Judged weigh(std::size_t at) const {
        const Match& match = matches_[at];
        const Row& row = *match.row;
        double weight = row.weight;
        if (!admitted(at, weight)) return {at, 0, Scope::kPlain};
        if (kind_ == Kind::kCode && row.source == Source::kHardware && match.first == match.last) {
            weight *= 0.5;  // a name in a string or an identifier
        }
        Scope scope = Scope::kPlain;
        const bool hardware = row.source == Source::kAsk || row.source == Source::kHardware;
        if (hardware && (row.topics & kGpuWord) != 0) scope = read_value(match, weight);
        if (scope == Scope::kSwitchedOff) {
            if (match.comment || match.spoken_of) weight *= 0.1;
            return {at, weight, scope};
        }
        if (match.comment) return {at, weight * 0.15, Scope::kComment};
        if (match.spoken_of) return {at, weight * 0.05, Scope::kMeta};
        if (row.source == Source::kCpu && (around_.topics(at, 8, true) & kSlow) != 0) {
            return {at, turned(row, weight), Scope::kNegated};  // "too slow on a CPU"
        }
        if (kind_ != Kind::kCode && around_.negated(at)) {  // "if not cuda: raise" is no denial
            return {at, turned(row, weight), Scope::kNegated};
        }
        const bool sure =
            (row.rule == Rule::kResource || row.rule == Rule::kValue) && weight >= row.weight;
        if (weight > 0 && !sure) {
            if (around_.meta(at)) return {at, weight * 0.1, Scope::kMeta};
            if (about_) return {at, weight * 0.25, Scope::kMeta};
        }
        const bool moves = row.source >= Source::kFramework && row.source <= Source::kScale;
        if (remote_ && moves) return {at, weight * 0.15, Scope::kElsewhere};
        if (local_ && row.source == Source::kRemote) return {at, 0, Scope::kElsewhere};
        return {at, weight, scope};
    }

    /// The strongest judgement of every row.
    void collect() {
        buffers_.judged.clear();
        const Vocabulary& vocabulary = Vocabulary::instance();
        const std::size_t rows = vocabulary.row_count();
        buffers_.looks.assign(rows, 0);
        buffers_.kept.assign(rows, -1);
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            const Match& match = matches_[i];
            if (!is_evidence(match)) continue;
            const std::uint16_t row = vocabulary.row_number(match.pattern);
            if (buffers_.looks[row] >= kMostLooks) continue;
            ++buffers_.looks[row];
            const Judged judged = weigh(i);
            if (judged.weight == 0) continue;
            if (buffers_.kept[row] < 0) {
                buffers_.kept[row] = static_cast<std::int32_t>(buffers_.judged.size());
                buffers_.judged.push_back(judged);
                continue;
            }
            Judged& best = buffers_.judged[static_cast<std::size_t>(buffers_.kept[row])];
            if (std::abs(judged.weight) > std::abs(best.weight)) best = judged;
        }
        std::stable_sort(buffers_.judged.begin(), buffers_.judged.end(),
                         [](const Judged& one, const Judged& other) {
                             return std::abs(one.weight) > std::abs(other.weight);
                         });
    }

    /// A card by its name, such as A100.
    static bool is_card(const Row& row) {
        return row.source == Source::kHardware && row.rule != Rule::kAlways && row.weight >= 3;
    }

    /// What other evidence makes of this one: "not on the T4s, take an A100" wants a GPU, and an
    /// algorithm of classic statistics says nothing beside a package that is for GPUs alone.
    void weigh_against_others() {
        bool card = false;
        bool package = false;
        for (const Judged& judged : buffers_.judged) {
            const Row& row = *matches_[judged.match].row;
            if (judged.weight < 3 || judged.scope != Scope::kPlain) continue;
            card = card || is_card(row);
            package = package || row.source == Source::kStack || row.source == Source::kAsk;
        }
        for (Judged& judged : buffers_.judged) {
            const Row& row = *matches_[judged.match].row;
            if (card && judged.scope == Scope::kNegated && is_card(row)) judged.weight = 0;
            if (package && row.source == Source::kClassic && judged.weight < 0) {
                judged.weight *= 0.3;
            }
        }
    }

    /// Sums up, with less for the second and third evidence of one source.
    Verdict sum_up() {
        Verdict verdict;
        verdict.kind = kind_;
        verdict.score = kBias;
        verdict.bias = kBias;
        std::array<std::array<std::size_t, 2>, 16> seen{};
        for (const Judged& judged : buffers_.judged) {
            const Match& match = matches_[judged.match];
            const auto source = static_cast<std::size_t>(match.row->source);
            double weight = judged.weight;
            std::size_t& count = seen[source][weight > 0 ? 1 : 0];
            weight *= kRepetition[std::min(count++, kRepetition.size() - 1)];
            if (match.row->source == Source::kOptional && judged.scope != Scope::kNegated) {
                optional_ += weight;
                weight = 0;
            } else if (match.row->source == Source::kSmall) {
                small_ += is_small(judged.match) ? weight : 0;
                weight = 0;
            }
            add_to_sums(match, weight);
            verdict.score += weight;
            if (verdict.evidence.size() < kMostEvidence) {
                verdict.evidence.push_back({match.begin, match.end, weight, match.row->weight,
                                            match.row->source, judged.scope});
            } else {
                rest_ += weight;
            }
        }
        verdict.bias += rest_;
        decide(verdict);
        return verdict;
    }

    void add_to_sums(const Match& match, double weight) {
        if (weight < 0) {
            against_ += weight;
            return;
        }
        if (match.row->source == Source::kAsk) asked_ += weight;
        if (match.row->source <= Source::kStack) hardware_ += weight;
        if ((match.row->topics & kAction) != 0 && match.row->source == Source::kTask) {
            training_ += weight;
        }
        in_favour_ += weight;
    }

    [[nodiscard]] bool is_small(std::size_t at) const {
        return (around_.topics(at, 5, true) & kLarge) == 0;
    }

    void decide(Verdict& verdict) const {
        const double p = 1 / (1 + std::exp(-kSharpness * verdict.score));
        verdict.label = verdict.score > 0 ? Label::kGpu : Label::kCpu;
        verdict.confidence = std::max(p, 1 - p);
        const bool said = optional_ >= 1.5 && asked_ < 3 && against_ > -5;
        const bool light = small_ >= 1 && verdict.score > -0.6 && hardware_ <= 0 &&
                           training_ < 1.4 && against_ > -2;
        const bool balanced = std::abs(verdict.score) < 0.25 && in_favour_ >= 2.5 && against_ <= -2;
        if (!said && !light && !balanced) return;
        verdict.label = Label::kOptional;
        verdict.confidence = said ? 0.75 : 0.6;
    }

    std::string_view text_;
    Kind kind_;
    Buffers& buffers_;
    const std::vector<Match>& matches_;
    Surroundings around_;
    bool remote_ = false;
    bool local_ = false;
    bool about_ = false;
    double optional_ = 0;
    double small_ = 0;
    double asked_ = 0;
    double hardware_ = 0;
    double training_ = 0;
    double in_favour_ = 0;
    double against_ = 0;
    double rest_ = 0;
};

}  // namespace

Verdict detect(std::string_view text, Kind kind) {
    static thread_local Buffers buffers;
    const bool cut = text.size() > kMostBytes;
    text = text.substr(0, kMostBytes);
    if (kind == Kind::kUnknown) kind = sniff_kind("", text);
    const Vocabulary& vocabulary = Vocabulary::instance();
    PhraseFinder phrases(vocabulary, buffers.phrases);
    scan(text, vocabulary, kind == Kind::kText, phrases);
    mark_spoken_of(text, buffers.phrases);
    Verdict verdict = Judge(text, kind, buffers).judge();
    verdict.cut = cut;
    if (verdict.label != Label::kCpu) verdict.need = read_need(text, verdict.evidence);
    return verdict;
}

}  // namespace aliquot::detect
