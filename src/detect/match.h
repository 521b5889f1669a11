// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "detect/table.h"

namespace aliquot::detect {

using PatternId = std::uint16_t;
inline constexpr PatternId kNoPattern = 0xFFFF;

/// A phrase of the table found in the text.
struct Match {
    std::uint32_t begin = 0;  // bytes
    std::uint32_t end = 0;
    std::uint32_t first = 0;  // token numbers
    std::uint32_t last = 0;
    std::uint32_t sentence = 0;
    PatternId pattern = kNoPattern;
    bool comment = false;  // on a line that is commented out
    const Row* row = nullptr;
};

/// Is byte `end` in a question that the next words answer with no: "Needs a GPU? No."
bool answered_no(std::string_view text, std::size_t end);

/// Does the name that ends at `end` go on as that of a CPU build: "image:1.2-cpu", "torch-2.1+cpu"?
bool goes_on_as_cpu_build(std::string_view text, std::size_t end);

/// What a file does with the image in whose name byte `at` stands.
enum class Image : std::uint8_t {
    kNone,   // it is no such name
    kRuns,   // `image: x`, the last `FROM x`, or one that a later stage begins with
    kBuilds  // an earlier `FROM x`, of which files are copied at most
};
Image image_at(std::string_view text, std::size_t at);

/// What stands behind a switch.
struct Value {
    enum class Form : std::uint8_t { kNone, kOff, kOn, kNumber, kList };
    Form form = Form::kNone;
    unsigned number = 0;
};

/// What a value stands behind: `--gpus 2`, where a blank is enough, or `gpus: 2`.
enum class KeyKind : std::uint8_t { kFlag, kName };

/// Reads `: 2`, `=0`, ` "false"` behind byte `end`. A blank alone parts only a flag from its value.
Value value_behind(std::string_view text, std::size_t end, KeyKind kind);

/// What the value behind a match makes of it.
enum class Setting : std::uint8_t {
    kPlain,
    kOff,     // `use_gpu: false`, `CUDA_VISIBLE_DEVICES=`
    kNumber,  // `nvidia.com/gpu: 2`
    kKey      // a resource that is only named: `key: nvidia.com/gpu`
};
Setting setting_of(std::string_view text, const Match& match);

}  // namespace aliquot::detect
