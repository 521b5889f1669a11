// SPDX-License-Identifier: Apache-2.0
#include "vision/detections.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace aliquot::vision {
namespace {

constexpr std::uint32_t kFinalColumns = 6;
constexpr std::uint32_t kMostFinalRows =
    1000;  // a YOLOv5 of one class has 6 columns too, and thousands of rows

struct Word {
    OutputLayout layout;
    std::string_view name;
};
constexpr auto kWords = std::to_array<Word>({{OutputLayout::kAuto, "auto"},
                                             {OutputLayout::kBoxRows, "box-rows"},
                                             {OutputLayout::kChannels, "channels"},
                                             {OutputLayout::kFinal, "final"}});

/// A box as the model sees it.
struct Candidate {
    std::array<float, 4> corners{};
    float score = 0;
    std::uint32_t label = 0;
    std::uint32_t index = 0;
};

bool better(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
}

std::array<float, 4> corners_of(float x, float y, float width, float height) {
    return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

/// The numbers of one box, wherever they lie.
class Box {
public:
    Box(const float* first, std::size_t step) : first_(first), step_(step) {}
    float operator[](std::size_t i) const { return first_[i * step_]; }

private:
    const float* first_;
    std::size_t step_;
};

void add_candidate(const Box& box, std::size_t classes_at, std::uint32_t classes, float factor,
                   std::uint32_t index, float least, std::vector<Candidate>& all) {
    float best = 0;
    std::uint32_t label = 0;
    for (std::uint32_t c = 0; c < classes; ++c) {
        const float score = box[classes_at + c] * factor;
        if (score > best) {
            best = score;
            label = c;
        }
    }
    if (!(best >= least) || !std::isfinite(best)) return;
    all.push_back({.corners = corners_of(box[0], box[1], box[2], box[3]),
                   .score = best,
                   .label = label,
                   .index = index});
}

std::vector<Candidate> candidates(std::span<const float> output, const OutputShape& shape,
                                  float least) {
    std::vector<Candidate> all;
    const float* const data = output.data();
    if (shape.layout == OutputLayout::kChannels) {
        for (std::uint32_t i = 0; i < shape.columns; ++i) {
            add_candidate(Box(data + i, shape.columns), 4, shape.classes, 1, i, least, all);
        }
        return all;
    }
    for (std::uint32_t i = 0; i < shape.rows; ++i) {
        const Box box(data + std::size_t{i} * shape.columns, 1);
        if (shape.layout == OutputLayout::kBoxRows) {
            if (!(box[4] >= least)) continue;
            add_candidate(box, 5, shape.classes, box[4], i, least, all);
        } else if (box[4] >= least && box[4] <= 1 && box[5] >= 0 && box[5] < 1e6F) {
            all.push_back({.corners = {box[0], box[1], box[2], box[3]},
                           .score = box[4],
                           .label = static_cast<std::uint32_t>(box[5]),
                           .index = i});
        }
    }
    return all;
}

float overlap_of(const std::array<float, 4>& a, const std::array<float, 4>& b) {
    const float width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
    const float height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
    if (width <= 0 || height <= 0) return 0;
    const float both = width * height;
    const float area = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
    return area > 0 ? both / area : 0;
}

/// The best of each heap of boxes; `all` is sorted.
std::vector<Candidate> without_doubles(const std::vector<Candidate>& all,
                                       const DetectionLimits& limits) {
    std::vector<Candidate> kept;
    for (const Candidate& one : all) {
        const bool doubled = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
            return other.label == one.label &&
                   overlap_of(other.corners, one.corners) > limits.overlap;
        });
        if (doubled) continue;
        kept.push_back(one);
        if (kept.size() >= limits.most) break;
    }
    return kept;
}

bool is_box(const Candidate& one) {
    return std::all_of(one.corners.begin(), one.corners.end(),
                       [](float at) { return std::isfinite(at); }) &&
           one.corners[2] > one.corners[0] && one.corners[3] > one.corners[1];
}

}  // namespace

std::string_view name_of(OutputLayout layout) {
    for (const Word& word : kWords) {
        if (word.layout == layout) return word.name;
    }
    return "";
}

std::optional<OutputLayout> parse_layout(std::string_view text) {
    for (const Word& word : kWords) {
        if (word.name == text) return word.layout;
    }
    return std::nullopt;
}

Result<OutputShape> read_output_shape(std::span<const std::int64_t> shape, OutputLayout layout,
                                      std::uint32_t classes) {
    constexpr std::int64_t kMostAxis = 1'000'000;
    std::vector<std::string> words;
    for (const std::int64_t axis : shape) words.push_back(std::to_string(axis));
    const std::string told = "the model's output is [" + join(words) + "]";
    const bool fits = shape.size() == 3 && shape[1] > 0 && shape[2] > 0 && shape[1] <= kMostAxis &&
                      shape[2] <= kMostAxis;
    if (!fits) {
        return Error{
            ErrorCode::kInvalidInput,
            told +
                "; expected a detector's: [batch, boxes, 5 + classes], [batch, 4 + classes, "
                "boxes] or [batch, boxes, 6]"};
    }
    OutputShape read{.rows = static_cast<std::uint32_t>(shape[1]),
                     .columns = static_cast<std::uint32_t>(shape[2]),
                     .layout = layout};
    if (layout == OutputLayout::kAuto) {
        const bool final =
            read.columns == kFinalColumns && read.rows <= kMostFinalRows && classes != 1;
        read.layout = final                      ? OutputLayout::kFinal
                      : read.rows < read.columns ? OutputLayout::kChannels
                                                 : OutputLayout::kBoxRows;
    }
    if (read.layout == OutputLayout::kFinal) {
        if (read.columns == kFinalColumns) return read;
        return Error{ErrorCode::kInvalidInput, told + "; expected 6 columns of layout final"};
    }
    const bool channels = read.layout == OutputLayout::kChannels;
    const std::uint32_t width = channels ? read.rows : read.columns;
    const std::uint32_t before = channels ? 4 : 5;
    if (width <= before) {
        return Error{ErrorCode::kInvalidInput, told + ", which leaves no class in layout " +
                                                   std::string(name_of(read.layout))};
    }
    read.classes = width - before;
    if (classes != 0 && classes != read.classes) {
        return Error{ErrorCode::kInvalidInput,
                     told + ", " + std::to_string(read.classes) + " classes in layout " +
                         std::string(name_of(read.layout)) + ", and there are " +
                         std::to_string(classes) + " labels; correct the labels or say the layout"};
    }
    return read;
}

std::vector<Detection> read_detections(std::span<const float> output, const OutputShape& shape,
                                       const Placement& placement, std::uint32_t file_width,
                                       std::uint32_t file_height, const DetectionLimits& limits) {
    std::vector<Candidate> all = candidates(output, shape, limits.confidence);
    std::erase_if(all, [](const Candidate& one) { return !is_box(one); });
    if (all.size() > limits.most_candidates) {
        std::nth_element(all.begin(), all.begin() + limits.most_candidates, all.end(), better);
        all.resize(limits.most_candidates);
    }
    std::sort(all.begin(), all.end(), better);
    if (shape.layout != OutputLayout::kFinal) {
        all = without_doubles(all, limits);
    } else if (all.size() > limits.most) {
        all.resize(limits.most);
    }
    std::vector<Detection> found;
    found.reserve(all.size());
    const auto x = [&](float at) {
        return static_cast<float>(std::clamp((at - placement.left) / placement.scale_x, 0.0,
                                             double{static_cast<double>(file_width)}));
    };
    const auto y = [&](float at) {
        return static_cast<float>(std::clamp((at - placement.top) / placement.scale_y, 0.0,
                                             double{static_cast<double>(file_height)}));
    };
    for (const Candidate& one : all) {
        const Detection detection{.left = x(one.corners[0]),
                                  .top = y(one.corners[1]),
                                  .right = x(one.corners[2]),
                                  .bottom = y(one.corners[3]),
                                  .score = one.score,
                                  .label = one.label};
        // What lies in the grey around the picture is nothing of it.
        if (detection.right > detection.left && detection.bottom > detection.top)
            found.push_back(detection);
    }
    return found;
}

}  // namespace aliquot::vision
