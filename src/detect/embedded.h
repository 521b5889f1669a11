// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Texts of data/ that are compiled in.
namespace aliquot::detect {

extern const std::string_view kWordTable;    // data/detect_words.tsv
extern const std::string_view kWeightTable;  // data/detect_weights.tsv

}  // namespace aliquot::detect
