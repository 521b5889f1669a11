// SPDX-License-Identifier: Apache-2.0
#include "plan/known_work.h"

namespace aliquot::plan {
namespace {

constexpr std::array<KnownWork, 2> kKnown{
    {{{"kokoro", "tts", "piper", "speech-synthesis"}, "10 s of speech made", 3, 5, 0.5, 1},
     {{"whisper", "stt", "speaches", "transcri"}, "1 min of speech read", 10, 20, 2, 4}}};

}  // namespace

const KnownWork* known_work(std::string_view name) {
    for (const KnownWork& known : kKnown) {
        for (const std::string_view word : known.words) {
            if (name.find(word) != std::string_view::npos) return &known;
        }
    }
    return nullptr;
}

}  // namespace aliquot::plan
