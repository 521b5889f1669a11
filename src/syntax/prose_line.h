// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/block.h"

/// What a line of a runbook is. Inside src/syntax only.
namespace aliquot::syntax {

struct Fence {
    std::string mark;  // "`", "~", "-", "<pre", "{{<", ...
    std::size_t length = 0;
    std::string word;  // the language, lower case
};
/// The opening line of a block; empty: it is none.
std::optional<Fence> fence_of(std::string_view line, FileKind kind);
bool closes(const Fence& fence, std::string_view line);

/// The language of `.. code-block:: yaml` and its kin ("" when it names none).
std::optional<std::string> code_directive(std::string_view line);

struct HeadingMark {
    unsigned level = 1;
    std::string_view words;
};
std::optional<HeadingMark> heading_mark(std::string_view line, FileKind kind);
/// Of a heading whose mark is the line below it.
std::optional<unsigned> underline_level(std::string_view line, std::string_view below,
                                        FileKind kind);

bool is_table_row(std::string_view line);
bool is_table_rule(std::string_view line);  // |---|---|
std::vector<Table::Cell> cells_of(std::string_view line, unsigned number);

std::size_t indent_of(std::string_view line);
/// Blanks and '>' before the words.
std::size_t quote_and_indent(std::string_view line);
/// Behind blanks, '>', and the mark of a list.
std::size_t begin_of_words(std::string_view line, Statement::Kind& kind);

/// Without ** and `.
std::string plain(std::string_view words);

/// A line that no sentence looks like: "helm install web ./web", "kubectl apply -f x.yaml".
bool is_surely_command(std::string_view line);

/// The word that ends the heredoc which begins on this line; "" when none does.
std::string heredoc_delimiter(std::string_view line);

/// PowerShell goes on with the next line behind a '`'; a '\\' takes its place.
void join_powershell(std::string& text);

/// `key:`, `- key: value`, `# ...`, `---` as YAML of this field begins.
bool begins_like_yaml(std::string_view line);

}  // namespace aliquot::syntax
