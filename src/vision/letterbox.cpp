// SPDX-License-Identifier: Apache-2.0
#include "vision/letterbox.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace aliquot::vision {
namespace {

/// Between which two samples a target pixel lies, and how near the second.
struct Step {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    float second_part = 0;
};

/// Of `count` target pixels from `skip` on of a side that is resized from `from` to `to`. Centres of pixels meet.
std::vector<Step> steps(std::uint32_t from, std::uint32_t to, std::uint32_t skip,
                        std::uint32_t count) {
    std::vector<Step> all(count);
    const double ratio = static_cast<double>(from) / to;
    for (std::uint32_t i = 0; i < count; ++i) {
        const double at =
            std::clamp((i + skip + 0.5) * ratio - 0.5, 0.0, static_cast<double>(from - 1));
        const auto first = static_cast<std::uint32_t>(at);
        all[i] = {.first = first,
                  .second = std::min(first + 1, from - 1),
                  .second_part = static_cast<float>(at - first)};
    }
    return all;
}

/// The part of the target that the picture fills, and how the picture is resized for it.
struct Area {
    std::uint32_t resized_width = 0;
    std::uint32_t resized_height = 0;
    std::uint32_t skip_x = 0;  // of the resized picture, left out
    std::uint32_t skip_y = 0;
    std::uint32_t left = 0;  // of the target
    std::uint32_t top = 0;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
};

std::uint32_t rounded(double value) {
    return std::max(1U, static_cast<std::uint32_t>(std::lround(value)));
}

Area area_of(const Image& image, const InputForm& form) {
    Area area;
    if (form.fit == InputForm::Fit::kLetterbox) {
        const double scale = std::min(static_cast<double>(form.width) / image.width,
                                      static_cast<double>(form.height) / image.height);
        area.resized_width = std::min(rounded(image.width * scale), form.width);
        area.resized_height = std::min(rounded(image.height * scale), form.height);
        const double rest_x = (form.width - area.resized_width) / 2.0;
        const double rest_y = (form.height - area.resized_height) / 2.0;
        // A half pixel goes to the right and below.
        area.left = static_cast<std::uint32_t>(std::lround(rest_x - 0.1));
        area.top = static_cast<std::uint32_t>(std::lround(rest_y - 0.1));
    } else {
        const std::uint32_t side =
            form.resize != 0 ? form.resize : std::max(form.width, form.height);
        const double scale = static_cast<double>(side) / std::min(image.width, image.height);
        area.resized_width = std::max(rounded(image.width * scale), form.width);
        area.resized_height = std::max(rounded(image.height * scale), form.height);
        area.skip_x = (area.resized_width - form.width) / 2;
        area.skip_y = (area.resized_height - form.height) / 2;
    }
    area.width = std::min(area.resized_width - area.skip_x, form.width);
    area.height = std::min(area.resized_height - area.skip_y, form.height);
    return area;
}

/// A row of the picture resized to the target's width: one plane behind the other.
void resize_row(const Image& image, std::uint32_t row, const std::vector<Step>& across,
                float* planes) {
    const std::uint8_t* const pixels = image.pixels.data() + std::size_t{row} * image.width * 3;
    const std::size_t width = across.size();
    for (std::size_t x = 0; x < width; ++x) {
        const std::uint8_t* const a = pixels + std::size_t{across[x].first} * 3;
        const std::uint8_t* const b = pixels + std::size_t{across[x].second} * 3;
        const float part = across[x].second_part;
        for (std::size_t c = 0; c < 3; ++c) {
            const auto first = static_cast<float>(a[c]);
            planes[c * width + x] = first + (static_cast<float>(b[c]) - first) * part;
        }
    }
}

}  // namespace

std::size_t input_size(const InputForm& form) { return std::size_t{3} * form.width * form.height; }

Placement write_input(const Image& image, const InputForm& form, std::span<float> out) {
    const Area area = area_of(image, form);
    const std::size_t plane = std::size_t{form.width} * form.height;
    std::array<float, 3> factor{};
    std::array<float, 3> offset{};
    for (std::size_t c = 0; c < 3; ++c) {
        factor[c] = 1.0F / (255.0F * form.deviation[c]);
        offset[c] = -form.mean[c] / form.deviation[c];
        if (area.width != form.width || area.height != form.height) {
            std::fill_n(out.data() + c * plane, plane,
                        static_cast<float>(kPadding) * factor[c] + offset[c]);
        }
    }
    const auto across = steps(image.width, area.resized_width, area.skip_x, area.width);
    const auto down = steps(image.height, area.resized_height, area.skip_y, area.height);
    // Rows that were resized last: a picture that grows uses each several times.
    std::array<std::vector<float>, 2> rows{std::vector<float>(std::size_t{area.width} * 3),
                                           std::vector<float>(std::size_t{area.width} * 3)};
    std::array<std::int64_t, 2> held{-1, -1};
    const auto row = [&](std::uint32_t wanted, std::int64_t but) -> std::size_t {
        for (std::size_t i = 0; i < 2; ++i) {
            if (held[i] == wanted) return i;
        }
        const std::size_t slot = held[0] == but ? 1 : 0;
        resize_row(image, wanted, across, rows[slot].data());
        held[slot] = wanted;
        return slot;
    };
    for (std::uint32_t y = 0; y < area.height; ++y) {
        const std::size_t a = row(down[y].first, down[y].second);
        const std::size_t b = row(down[y].second, down[y].first);
        const float part = down[y].second_part;
        for (std::size_t c = 0; c < 3; ++c) {
            const float* const first = rows[a].data() + c * area.width;
            const float* const second = rows[b].data() + c * area.width;
            float* const target =
                out.data() + c * plane + std::size_t{area.top + y} * form.width + area.left;
            for (std::uint32_t x = 0; x < area.width; ++x) {
                target[x] = (first[x] + (second[x] - first[x]) * part) * factor[c] + offset[c];
            }
        }
    }
    const double file_width = image.file_width == 0 ? image.width : image.file_width;
    const double file_height = image.file_height == 0 ? image.height : image.file_height;
    return {.scale_x = area.resized_width / file_width,
            .scale_y = area.resized_height / file_height,
            .left = static_cast<double>(area.left) - area.skip_x,
            .top = static_cast<double>(area.top) - area.skip_y};
}

}  // namespace aliquot::vision
