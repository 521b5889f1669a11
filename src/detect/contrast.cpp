// SPDX-License-Identifier: Apache-2.0
//
// What a text only speaks of: commands and manifests about GPUs, and what holds for somebody else.
#include <algorithm>

#include "detect/scope.h"

namespace aliquot::detect {
namespace {

/// "Others train models, we do not." What is before it holds for somebody else.
void mark_contrasted(std::string_view text, std::span<Match> matches, std::size_t at) {
    constexpr std::uint32_t kFarthest = 24;  // tokens
    const Match& cue = matches[at];
    const bool ends = cue.end >= text.size() ||
                      std::string_view(".,:;!\n").find(text[cue.end]) != std::string_view::npos;
    if (!ends || at == 0 || matches[at - 1].last + 1 == cue.first) return;
    for (std::size_t i = at; i-- > 0;) {
        if (matches[i].sentence + 1 < cue.sentence) break;
        if (cue.first > matches[i].last + kFarthest) break;
        matches[i].spoken_of = true;
    }
}

}  // namespace

void mark_spoken_of(std::string_view text, std::span<Match> matches,
                    std::span<const std::uint32_t> marked) {
    for (const std::uint32_t at : marked) {
        if ((matches[at].row->topics & kEllipsis) != 0) mark_contrasted(text, matches, at);
    }
    const auto speaks = [&](std::uint32_t at) { return matches[at].row->rule == Rule::kMetaAll; };
    if (std::none_of(marked.begin(), marked.end(), speaks)) return;
    bool manifest = false;
    bool command = false;
    std::uint32_t sentence = 0;
    for (Match& match : matches) {
        if (match.sentence != sentence) command = false;
        sentence = match.sentence;
        if ((match.row->topics & kKindWord) != 0) manifest = false;
        if (match.row->rule == Rule::kMetaAll) {
            const bool is_kind = text.substr(match.begin, 4) == "kind";
            (is_kind ? manifest : command) = true;
        }
        match.spoken_of = match.spoken_of || manifest || command;
    }
}

}  // namespace aliquot::detect
