// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::vision {

struct ClassScore {
    std::uint32_t label = 0;
    float score = 0;  // 0..1
};

/// The likeliest classes of one picture, best first. Numbers that are already probabilities (none below 0, about 1 together)
/// are taken as they are; others go through softmax. Pure; what is no number counts as the least.
std::vector<ClassScore> read_classes(std::span<const float> output, std::size_t most);

/// The names of classes that a model carries: "{0: 'person', 1: 'bicycle'}", as exporters write them, or one name a line
/// of a file. At most 100,000; a class without a name is empty. Never fails: what cannot be read is left out.
std::vector<std::string> read_labels(std::string_view text);

}  // namespace aliquot::vision
