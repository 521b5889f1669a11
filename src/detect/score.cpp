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
constexpr std::uint32_t kForeignReach = 8;
constexpr std::uint32_t kForeignSide = 3;
constexpr std::uint32_t kPhraseReach = 2;
constexpr std::uint32_t kCardReach = 5;
constexpr std::uint32_t kRemoteReach = 600;  // tokens: a longer text is more than one remote call
constexpr unsigned kMostLooks = 40;          // evaluations of one row in one text
constexpr double kNotOnCpu = 2.1;            // log-odds
constexpr double kCpuBuild = -4.4;           // as that of the table for CPU wheels
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
            if (matches_[at].last > matches_[at].first) return true;  // words that go together
            return (around_.topics(at, kForeignSide, true) & kForeign) == 0 ||
                   around_.count(at, kPartnerReach, row.partners & (kSight | kSound)) > 1;
        }
        if (row.rule == Rule::kShy) {
            if ((around_.topics(at, kPartnerReach, false) & row.partners) != 0) return true;
            const bool card = row.source <= Source::kHardware;
            const bool words =
                matches_[at].last > matches_[at].first;  // seldom with another meaning
            const std::uint32_t reach = card ? kCardReach : words ? kPhraseReach : kForeignReach;
            return (around_.topics(at, reach, true) & kForeign) == 0;
        }
        return true;
    }

    [[nodiscard]] bool denied(std::size_t at) const {
        if (kind_ == Kind::kCode) return false;  // "if not cuda: raise" is no denial
        const Row& row = *matches_[at].row;
        const bool choice = row.source == Source::kOptional && (row.topics & kFallback) == 0;
        return choice ? around_.denied_before(at) : around_.negated(at);
    }

    /// The weight of denied evidence.
    static double turned(const Row& row, double weight) {
        if (row.source == Source::kCpu) return kNotOnCpu;  // "cannot run on a CPU"
        if (row.source == Source::kSmall) return 0;
        if (row.source == Source::kOptional) {  // "do not fall back to the CPU"
            return (row.topics & kFallback) != 0 ? kNotOnCpu : 0;
        }
        if (weight < 0) return weight * -0.5;
        if ((row.topics & kQualified) != 0) return 0;
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
        if (hardware && (row.topics & kGpuWord) != 0) {
            const Weighed read = weigh_value(text_, match, weight);
            scope = read.scope;
            weight = read.weight;
        }
        if (scope == Scope::kSwitchedOff) {
            if (match.comment || match.spoken_of) weight *= 0.1;
            return {at, weight, scope};
        }
        // "# optional, for GPUs": a remark on the packages below it.
        const bool remark = row.source == Source::kOptional && kind_ == Kind::kRequirements;
        if (match.comment && !remark) return {at, weight * 0.15, Scope::kComment};
        if (match.spoken_of) return {at, weight * 0.05, Scope::kMeta};
        if (row.source == Source::kCpu && (around_.topics(at, 8, true) & kSlow) != 0) {
            return {at, turned(row, weight), Scope::kNegated};  // "too slow on a CPU"
        }
        const bool image = row.source >= Source::kStack && row.source <= Source::kModel;
        if (image && goes_on_as_cpu_build(text_, match.end)) {
            return {at, kCpuBuild, Scope::kNegated};
        }
        if (denied(at)) {
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
            if (match.row->source == Source::kModel) model_ = model_ || may_run(i);
            if (judged.weight == 0) continue;
            if (buffers_.kept[row] < 0) {
                buffers_.kept[row] = static_cast<std::int32_t>(buffers_.judged.size());
                buffers_.judged.push_back(judged);
                continue;
            }
            Judged& best = buffers_.judged[static_cast<std::size_t>(buffers_.kept[row])];
            // "No V100, it needs an A100" asks for a card.
            const bool other_card = is_card(*match.row) && best.scope == Scope::kNegated &&
                                    judged.scope == Scope::kPlain;
            if (other_card || std::abs(judged.weight) > std::abs(best.weight)) best = judged;
        }
        sort_judged();
    }

    /// Strongest first, stable; one per row at most, most texts have a handful.
    void sort_judged() {
        constexpr std::size_t kFew = 16;
        std::vector<Judged>& judged = buffers_.judged;
        const auto stronger = [](const Judged& one, const Judged& other) {
            return std::abs(one.weight) > std::abs(other.weight);
        };
        if (judged.size() > kFew) return std::stable_sort(judged.begin(), judged.end(), stronger);
        for (std::size_t i = 1; i < judged.size(); ++i) {  // without the buffer of stable_sort
            for (std::size_t k = i; k > 0 && stronger(judged[k], judged[k - 1]); --k) {
                std::swap(judged[k], judged[k - 1]);
            }
        }
    }

    /// May the model named there run, as far as the words around it say?
    [[nodiscard]] bool may_run(std::size_t at) const {
        return (around_.topics(at, kForeignReach, true) & kForeign) == 0 && !denied(at) &&
               !around_.meta(at) && !about_ && !remote_;
    }

    /// A card by its name, such as A100.
    static bool is_card(const Row& row) {
        return row.source == Source::kHardware && row.rule != Rule::kAlways && row.weight >= 3;
    }

    /// What other evidence makes of this one: "not on the T4s, take an A100" wants a GPU, and an
    /// algorithm of classic statistics says nothing beside a package that is for GPUs alone.
    void weigh_against_others() {
        bool card = false;
        bool strong = false;
        bool any_card = false;  // "any GPU, just not the K80"
        bool package = false;
        bool off = false;  // a switch
        bool asked = false;
        for (const Judged& judged : buffers_.judged) {
            const Row& row = *matches_[judged.match].row;
            off = off || (judged.scope == Scope::kSwitchedOff && judged.weight < -3);
            if (judged.scope != Scope::kPlain) continue;
            asked = asked || (row.source <= Source::kStack && judged.weight >= 2);
            strong = strong || (row.source == Source::kHardware && judged.weight >= 3.2);
            any_card = any_card || (row.source == Source::kHardware && judged.weight > 2.5);
            if (judged.weight < 3) continue;
            card = card || is_card(row);
            package = package || row.source == Source::kStack || row.source == Source::kAsk;
        }
        for (Judged& judged : buffers_.judged) {
            const Row& row = *matches_[judged.match].row;
            // "-ngl 0": what is named beside it runs on the CPU.
            if (off && !asked && judged.weight > 0 && row.source >= Source::kFramework) {
                judged.weight *= 0.3;
            }
            if ((card || any_card) && judged.scope == Scope::kNegated && is_card(row))
                judged.weight = 0;
            if (package && row.source == Source::kClassic && judged.weight < 0) {
                judged.weight *= 0.3;
            }
            // "2 L40S for the renderer and a CPU box for the database"
            const bool beside = (row.source == Source::kCpu && row.weight > -3) ||
                                (row.source == Source::kRemote && row.weight > -2);
            if (strong && beside && judged.weight < 0) judged.weight *= 0.3;
        }
    }

    /// Sums up, with less for the second and third evidence of one source.
    Verdict sum_up() {
        Verdict verdict;
        verdict.kind = kind_;
        verdict.score = kBias;
        verdict.bias = kBias;
        verdict.evidence.reserve(std::min(buffers_.judged.size(), kMostEvidence));
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
                small_ += is_small(judged.match) ? weight + of_model(judged.match) : 0;
                if ((match.row->topics & kMl) != 0) model_ = true;
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
        const bool teaches = match.row->weight >= 1.4F && (match.row->partners & kGpuWord) != 0;
        if (teaches && (match.row->topics & kAction) != 0 && match.row->source == Source::kTask) {
            training_ += weight;
        }
        const bool work =
            match.row->source >= Source::kModel && match.row->source <= Source::kScale;
        if (work) work_ += weight;
        in_favour_ += weight;
    }

    [[nodiscard]] bool is_small(std::size_t at) const {
        return (around_.topics(at, 5, true) & kLarge) == 0;
    }

    /// "Small BERT": more than small numbers of something.
    [[nodiscard]] double of_model(std::size_t at) const {
        if (at + 1 >= matches_.size() || matches_[at + 1].first != matches_[at].last + 1) return 0;
        const Source source = matches_[at + 1].row->source;
        return source == Source::kModel || source == Source::kTask ? 0.6 : 0;
    }

    void decide(Verdict& verdict) const {
        const double p = 1 / (1 + std::exp(-kSharpness * verdict.score));
        verdict.label = verdict.score > 0 ? Label::kGpu : Label::kCpu;
        verdict.confidence = std::max(p, 1 - p);
        // In code "cuda if available" is a habit: only where nothing is trained it is a choice.
        const bool habit = kind_ == Kind::kCode && work_ > 0;
        const bool said = optional_ >= 1.5 && asked_ < 3 && against_ > -5 && !habit;
        const bool light = small_ >= 0.9 && (verdict.score > -0.6 || model_) && hardware_ <= 0 &&
                           training_ < 0.85 && against_ > -2;
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
    bool model_ = false;  // a model is named that may run here
    double work_ = 0;     // models, tasks, scale
    double in_favour_ = 0;
    double against_ = 0;
    double rest_ = 0;
};

}  // namespace

Verdict detect(std::string_view text, Kind kind) {
    static thread_local Buffers buffers;
    const std::size_t size = text.size();
    text = text.substr(0, kMostBytes);
    if (kind == Kind::kUnknown) kind = sniff_kind("", text);
    const Vocabulary& vocabulary = Vocabulary::instance();
    PhraseFinder phrases(vocabulary, buffers.phrases);
    text = text.substr(0, scan(text, vocabulary, kind == Kind::kText, phrases));
    mark_spoken_of(text, buffers.phrases.matches, buffers.phrases.marked);
    Verdict verdict = Judge(text, kind, buffers).judge();
    verdict.cut = text.size() < size;
    if (verdict.label != Label::kCpu) verdict.need = read_need(text, verdict.evidence);
    return verdict;
}

}  // namespace aliquot::detect
