// SPDX-License-Identifier: Apache-2.0
//
// From phrases, words and fitted weights to a verdict with its evidence.
#include <algorithm>
#include <array>
#include <cmath>

#include "detect/model.h"
#include "detect/need.h"
#include "detect/tokens.h"

namespace aliquot::detect {
namespace {

constexpr double kLeast = 0.02;  // log-odds: less is no evidence worth a line

/// What a thread reuses from text to text.
struct Buffers {
    std::vector<Match> matches;
    std::vector<Flag> flags;  // by match
    std::string words;
    Model::Reading reading;
};

Scope scope_of(Flag flag) {
    switch (flag) {
        case Flag::kNot:
        case Flag::kRemoved:
        case Flag::kDenied:
        case Flag::kCpuBuild:
            return Scope::kNegated;
        case Flag::kAbout:
        case Flag::kCarried:
        case Flag::kUnreal:
        case Flag::kQuoted:
        case Flag::kKey:
            return Scope::kMeta;
        case Flag::kComment:
            return Scope::kComment;
        case Flag::kOff:
            return Scope::kSwitchedOff;
        case Flag::kNone:
        case Flag::kNumber:
            break;
    }
    return Scope::kPlain;
}

/// The words of a match speak for it.
std::vector<Evidence> gather(const Buffers& buffers) {
    const Model::Reading& reading = buffers.reading;
    std::vector<Evidence> evidence;
    evidence.reserve(buffers.matches.size() + reading.words.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < buffers.matches.size(); ++i) {
        const Match& match = buffers.matches[i];
        double weight = reading.by_match[i];
        for (; next < reading.words.size() && reading.words[next].begin < match.end; ++next) {
            const TextWord& word = reading.words[next];
            if (word.begin >= match.begin) {
                weight += reading.by_word[next];
            } else if (reading.by_word[next] != 0) {
                evidence.push_back({word.begin, word.end, reading.by_word[next], Source::kWord,
                                    word.denied ? Scope::kNegated : Scope::kPlain});
            }
        }
        const Source source = source_of(match.row->what);
        if (weight == 0) continue;
        evidence.push_back({match.begin, match.end, weight,
                            source == Source::kContext ? Source::kWord : source,
                            scope_of(buffers.flags[i])});
    }
    for (; next < reading.words.size(); ++next) {
        const TextWord& word = reading.words[next];
        if (reading.by_word[next] == 0) continue;
        evidence.push_back({word.begin, word.end, reading.by_word[next], Source::kWord,
                            word.denied ? Scope::kNegated : Scope::kPlain});
    }
    return evidence;
}

/// Keeps the strongest; what is left out goes into `rest`.
void keep_strongest(std::vector<Evidence>& evidence, double& rest) {
    const auto stronger = [](const Evidence& one, const Evidence& other) {
        const double left = std::abs(one.weight);
        const double right = std::abs(other.weight);
        return left != right ? left > right : one.start < other.start;
    };
    const std::size_t kept = std::min(evidence.size(), kMostEvidence);
    const auto middle = evidence.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(evidence.begin(), middle, evidence.end(), stronger);
    for (auto one = middle; one != evidence.end(); ++one) rest += one->weight;
    evidence.erase(middle, evidence.end());
    while (!evidence.empty() && std::abs(evidence.back().weight) < kLeast) {
        rest += evidence.back().weight;
        evidence.pop_back();
    }
}

/// The phrases that may say something of the GPUs, whatever they weigh.
std::vector<Evidence> for_need(const Buffers& buffers) {
    std::vector<Evidence> all;
    for (std::size_t i = 0; i < buffers.matches.size() && all.size() < 4 * kMostEvidence; ++i) {
        const Match& match = buffers.matches[i];
        const Source source = source_of(match.row->what);
        if (source > Source::kScale) continue;
        const Scope scope = scope_of(buffers.flags[i]);
        const bool counts = scope == Scope::kPlain || scope == Scope::kMeta;
        all.push_back({match.begin, match.end, counts ? 1.0 : -1.0, source, scope});
    }
    return all;
}

}  // namespace

Verdict detect(std::string_view text, Kind kind) {
    static thread_local Buffers buffers;
    const Model& model = Model::instance();
    const std::size_t size = text.size();
    text = text.substr(0, kMostBytes);
    if (kind == Kind::kUnknown) kind = sniff_kind("", text);
    const Vocabulary& vocabulary = Vocabulary::instance();
    PhraseFinder phrases(vocabulary, buffers.matches);
    text = text.substr(0, scan(text, vocabulary, kind == Kind::kText, phrases));
    read_traits(text, kind, buffers.matches, buffers.reading.traits, buffers.flags);
    read_words(text, buffers.matches, buffers.words, buffers.reading.words);
    const Model::Score score = model.score(buffers.reading, buffers.matches.size());

    Verdict verdict;
    verdict.kind = kind;
    verdict.cut = text.size() < size;
    verdict.score = score.gpu;
    verdict.evidence = gather(buffers);
    verdict.bias = buffers.reading.of_text;
    keep_strongest(verdict.evidence, verdict.bias);
    const double p = model.probability(score.gpu);
    const double choice = model.probability(score.optional);
    verdict.label = choice > 0.5 ? Label::kOptional : score.gpu > 0 ? Label::kGpu : Label::kCpu;
    verdict.confidence = choice > 0.5 ? choice : std::max(p, 1 - p);
    if (verdict.label != Label::kCpu) verdict.need = read_need(text, for_need(buffers));
    return verdict;
}

std::vector<std::string> feature_names(std::string_view text, Kind kind) {
    Buffers buffers;
    if (kind == Kind::kUnknown) kind = sniff_kind("", text);
    PhraseFinder phrases(Vocabulary::instance(), buffers.matches);
    text = text.substr(0, scan(text, Vocabulary::instance(), kind == Kind::kText, phrases));
    read_traits(text, kind, buffers.matches, buffers.reading.traits, buffers.flags);
    read_words(text, buffers.matches, buffers.words, buffers.reading.words);
    std::vector<std::string> names;
    for (const Trait& trait : buffers.reading.traits) names.push_back(name_of(trait));
    const TextWord* before = nullptr;
    for (const TextWord& word : buffers.reading.words) {
        name_words(word, before, names);
        before = &word;
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

}  // namespace aliquot::detect
