// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syntax/block.h"

/// YAML as it is found in the wild. Inside src/syntax only.
namespace aliquot::syntax {

/// One document of a block, its marks already places of the file.
struct YamlDocument {
    Value node;
    bool broken = false;     // lines that made it unreadable were left out
    bool templated = false;  // `{{ }}` stood in it
    bool gaps = false;       // whole lines were left out: template directives, "..."
    Mark error;              // of the first thing that could not be read
    std::string message;
};

/// Reads every document. One that cannot be read does not hide the others: the line that yaml-cpp
/// stops at is left out, and it is tried again, a few times.
std::vector<YamlDocument> read_yaml(const Block& block);

/// A text of the same length and lines without what templates put into YAML: lines that are nothing but
/// `{{ }}` or `{% %}` become comments, others get underscores.
struct CleanText {
    std::string text;
    bool templated = false;
    bool gaps = false;
};
CleanText clean_templates(std::string_view text);

/// Whether a text without any declared language is meant to be YAML: it begins with a key, a list or ---.
bool looks_like_yaml(std::string_view text);

/// Whether a text is nothing but YAML: no line at its edge that is neither key nor item nor comment.
bool is_whole_yaml(std::string_view text);

}  // namespace aliquot::syntax
