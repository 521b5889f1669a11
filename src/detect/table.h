// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "detect/detect.h"

namespace aliquot::detect {

/// What a pattern tells its neighbours. A set of bits.
enum Topic : std::uint32_t {
    kNoTopic = 0,
    kMl = 1U << 0U,          // model, weights, epochs
    kSight = 1U << 1U,       // image, camera
    kSound = 1U << 2U,       // audio, speech
    kWords = 1U << 3U,       // sentences, documents
    kGpuWord = 1U << 4U,     // GPU, CUDA, VRAM
    kForeign = 1U << 5U,     // everyday fields in which the words of ours are homonyms
    kAction = 1U << 6U,      // train, transcribe: at the head of a sentence it is the task itself
    kLink = 1U << 7U,        // about, on, of
    kNeedWord = 1U << 8U,    // needs, requires
    kLocal = 1U << 9U,       // self-hosted, own
    kSlow = 1U << 10U,       // too slow, fails, impossible
    kPrep = 1U << 11U,       // with, using: ends what a verb of removal removes
    kDataWord = 1U << 12U,   // any of images, audio, text in numbers
    kPowers = 1U << 13U,     // memory and compute units: gb, vram
    kKindWord = 1U << 14U,   // "kind: Pod": a new manifest begins
    kLarge = 1U << 15U,      // million: what is near it is not small
    kModelName = 1U << 16U,  // Llama, Falcon: a number of billions beside it is its size
    kOldWord = 1U << 18U,    // old, previous, formerly
    kPastVerb = 1U << 19U,   // used, needed, ran
    kEllipsis = 1U << 20U,   // "does not": before a full stop it denies what was said before
    kQualified = 1U << 21U,  // "big GPU": whoever denies it does not deny all GPUs
    kFallback = 1U << 17U,   // "falls back to CPU": denied, it is a GPU that must be there
};

/// How a pattern's weight comes about.
enum class Rule : std::uint8_t {
    kAlways,    // counts wherever it stands
    kShy,       // not where foreign words stand near it and no partner does
    kPartner,   // only with a partner near it, and no foreign word at its side
    kValue,     // a switch: 0, false, off behind it turn it round
    kResource,  // nvidia.com/gpu: a number makes it an ask
    kDevices,   // CUDA_VISIBLE_DEVICES: empty or -1 is none
    // Cues: no evidence of their own, they set the scope of their neighbours.
    kNot,        // no, without; reaches six tokens to the right
    kRemove,     // drop, avoid; reaches four tokens to the right, not past a preposition
    kNotBehind,  // "not needed"; reaches six tokens to the left
    kHollow,     // behind "not": only, just, forget: it is no negation
    kCut,        // but, however: ends a negation
    kMeta,       // dashboard, article, terraform
    kCarry,      // download, copy, annotate: what is carried about is not run, nor trained
    kUnreal,     // "if we ever", "planned for": its whole sentence
    kMetaAll,    // the whole text is about something else
};

/// One row of the table. `patterns`: phrases parted by ';', words by ' ', alternatives by '|';
/// #n a number, #b 7b, #m 80m, #gb 24gb, #x 4x, and "yolov#" any token that begins so and goes on with a
/// digit; "*bert" any token of mixed case that ends so: SciBERT, not Robert. All lower case, as the tokenizer parts them: letters and digits only.
struct Row {
    std::string_view patterns;
    Source source = Source::kContext;
    float weight = 0;
    Rule rule = Rule::kAlways;
    std::uint32_t partners = kNoTopic;
    std::uint32_t topics = kNoTopic;
    std::uint32_t boost = kNoTopic;  // one of these near adds kBoost
};

inline constexpr float kBias = -1.8F;
inline constexpr float kBoost = 1.3F;

std::span<const Row> evidence_rows();
std::span<const Row> choice_rows();
std::span<const Row> model_rows();
std::span<const Row> task_rows();
std::span<const Row> stack_rows();
std::span<const Row> context_rows();
std::span<const Row> topic_rows();

}  // namespace aliquot::detect
