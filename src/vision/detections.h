// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vision/letterbox.h"

namespace aliquot::vision {

/// How the numbers of a detector are laid out, for one picture.
enum class OutputLayout : std::uint8_t {
    kAuto,      // by the shape
    kBoxRows,   // [boxes, 5 + classes]: centre, size, objectness, classes (YOLOv5)
    kChannels,  // [4 + classes, boxes]: centre, size, classes (YOLOv8, YOLO11)
    kFinal,  // [boxes, 6]: two corners, score, class; nothing is left to do (YOLOv10, YOLO26, nms=True)
};
std::string_view name_of(OutputLayout layout);  // "box-rows"
std::optional<OutputLayout> parse_layout(std::string_view word);

/// The output of a detector without its batch axis.
struct OutputShape {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    OutputLayout layout = OutputLayout::kAuto;
    std::uint32_t classes = 0;  // 0: of kFinal, which does not tell
};

/// What a shape means.
/// classes  how many labels there are; 0: not known
/// errors   kInvalidInput: no detector has this shape, or another number of classes
Result<OutputShape> read_output_shape(std::span<const std::int64_t> shape, OutputLayout layout,
                                      std::uint32_t classes);

struct Detection {
    float left = 0;  // in pixels of the file, inside of it
    float top = 0;
    float right = 0;
    float bottom = 0;
    float score = 0;
    std::uint32_t label = 0;
};

struct DetectionLimits {
    float confidence = 0.25F;  // less is left out
    float overlap = 0.45F;     // of two boxes of one class that overlap more, the better stays
    std::uint32_t most = 300;
    std::uint32_t most_candidates = 30'000;  // the best of them are looked at
};

/// The boxes of one picture, best first; of the same score, the first in the output. Pure. Numbers that are none (NaN,
/// infinite) are no box.
/// output       shape.rows * shape.columns numbers
/// file_width   of the picture that the boxes are cut to
std::vector<Detection> read_detections(std::span<const float> output, const OutputShape& shape,
                                       const Placement& placement, std::uint32_t file_width,
                                       std::uint32_t file_height, const DetectionLimits& limits);

}  // namespace aliquot::vision
