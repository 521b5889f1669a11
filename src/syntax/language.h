// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "syntax/block.h"

/// What a file and each text in it are, by what is said of them and by their looks. Any thread.
namespace aliquot::syntax {

/// What the name and the first lines say a file is.
FileKind kind_of(std::string_view name, std::string_view text);

/// What a fence's word stands for; nullptr-like kText when it says nothing.
struct DeclaredLanguage {
    bool known = false;
    Language language = Language::kText;
};
DeclaredLanguage language_of_word(std::string_view word);

/// What a text is by its looks.
Language sniff(std::string_view text);
/// What it is, whatever the fence says of it.
Language language_of(std::string_view word, std::string_view text);

/// What a text inside YAML is, by its key and its looks.
DeclaredLanguage language_of_value(std::string_view key, std::string_view text);

}  // namespace aliquot::syntax
