// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "detect/detect.h"

namespace aliquot::detect {

/// What a known phrase is. The names are those of the column `class` of data/detect_words.tsv.
enum class Class : std::uint8_t {
    // Evidence.
    kAsk,
    kHardware,
    kCard,
    kStack,
    kFramework,
    kModel,
    kTask,
    kScale,
    kCpu,
    kClassic,
    kEdge,
    kRemote,
    kOptional,
    kFallback,
    kSmall,
    // What changes the meaning of what is near.
    kNot,
    kRemove,
    kDenied,  // behind what it denies: "is not needed"
    kHollow,  // behind a "not" that is none: "not only"
    kBut,
    kAbout,
    kAboutAll,  // the manifest or command speaks of GPUs, it uses none
    kCarry,
    kUnreal,
    // What a text is about.
    kNeed,
    kSlow,
    kLocal,
    kLarge,
    kLearning,
    kSight,
    kSound,
    kLanguage,
    kForeign,
    kLink,
    kWith,
    kPower,
    kOld,
    kPast,
    kKind,
    kWord
};
inline constexpr std::size_t kClasses = static_cast<std::size_t>(Class::kWord) + 1;

/// How the text behind a phrase is read.
enum class Reads : std::uint8_t {
    kNothing,
    kSwitch,    // 0, false, off turn it round
    kValue,     // a switch that says something only with its value
    kResource,  // nvidia.com/gpu: a number asks
    kDevices    // CUDA_VISIBLE_DEVICES: empty or -1 is none
};

/// Phrases of one class; their grammar is told at the head of data/detect_words.tsv.
struct Row {
    std::string_view phrases;
    Class what = Class::kWord;
    Reads reads = Reads::kNothing;
};

/// The rows of data/detect_words.tsv, compiled in. Made at the first call; safe for threads.
const std::vector<Row>& word_rows();

std::string_view name_of(Class what);

/// The source that evidence of the class is shown under; kContext for a class that is none.
Source source_of(Class what);

}  // namespace aliquot::detect
