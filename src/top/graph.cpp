// SPDX-License-Identifier: Apache-2.0
#include "top/graph.h"

#include <algorithm>
#include <array>

#include "telemetry/snapshot.h"

namespace aliquot::top {
namespace {

constexpr std::size_t kScale = 5;  // "100% "

std::string_view cell(std::uint64_t eighths, Charset charset) {
    constexpr std::array<std::string_view, 9> kParts{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (charset == Charset::kUtf8) return kParts[eighths];
    return eighths >= 4 ? "#" : eighths > 0 ? "." : " ";
}

std::string scale_text(std::size_t line, std::size_t height) {
    if (line == 0) return "100% ";
    if (line + 1 == height) return "  0% ";
    if (height >= 5 && line == height / 2) return " 50% ";
    return std::string(kScale, ' ');
}

}  // namespace

std::vector<Line> graph(std::span<const std::optional<std::uint64_t>> ppm, std::size_t width,
                        std::size_t height, Charset charset) {
    const std::size_t room = width > kScale ? width - kScale : 0;
    const std::size_t count = std::min(room, ppm.size());
    const auto values = ppm.last(count);
    std::vector<Line> lines;
    for (std::size_t line = 0; line < height; ++line) {
        const std::uint64_t below = (height - 1 - line) * 8;  // eighths of a line
        std::string text(room - count, ' ');
        for (const auto& value : values) {
            const std::uint64_t part = std::min(value.value_or(0), telemetry::kMillion);
            std::uint64_t eighths = part * height * 8 / telemetry::kMillion;
            // What is known and not nothing is seen.
            if (value && part > 0) eighths = std::max<std::uint64_t>(eighths, 1);
            text +=
                cell(eighths <= below ? 0 : std::min<std::uint64_t>(eighths - below, 8), charset);
        }
        lines.push_back({{scale_text(line, height), Tone::kDim}, {std::move(text)}});
    }
    return lines;
}

}  // namespace aliquot::top
