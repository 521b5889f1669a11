// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "document/value.h"

namespace aliquot::syntax {

using document::Mark;
using document::Value;

enum class Language : std::uint8_t {
    kYaml,
    kJson,
    kShell,   // a script, or a block of commands; `console` blocks too, prompts and output apart
    kOutput,  // what a program printed
    kDockerfile,
    kPromql,
    kPython,
    kHcl,
    kToml,
    kText,  // anything else
};
std::string_view to_text(Language language);

/// What a file is, by its name and its first lines.
enum class FileKind : std::uint8_t {
    kYaml,
    kJson,
    kMarkdown,  // .md, .markdown, .mdx, and .txt/none that has headings or fences
    kAsciidoc,
    kRst,
    kText,  // a plain text runbook
    kDockerfile,
    kShell,
    kPython,
    kHcl,
    kToml,
    kPromql,
    kUnit,   // of systemd, read as text: syntax/unit_file.h
    kOther,  // read as text
};

/// How a block stands in what is around it.
enum class Setting : std::uint8_t {
    kFile,      // it is the whole file
    kFence,     // ``` or ~~~ of Markdown, ---- of AsciiDoc, code-block of RST
    kIndented,  // set off by indentation alone, or (plain text) by nothing but its look
    kValue,     // a text inside YAML: `data` of a ConfigMap, a `script:`, a container's `args`
    kHeredoc,   // cat <<EOF | kubectl apply -f -
    kArgument,  // --overrides='{...}', -p '{...}'
};

/// A piece of a file in one language. A YAML file is one block; a Markdown file has one for each
/// fence; a ConfigMap value or heredoc is a block of its own besides the one that holds it.
struct Block {
    Language language = Language::kText;
    Setting setting = Setting::kFile;
    std::string word;         // what the fence declares, lower case: "yaml"; "" when nothing
    std::string text;         // without the indentation that all lines share; lines end in '\n'
    unsigned line = 1;        // of the file: where `text` begins
    unsigned fence_line = 0;  // of the opening fence; 0 when there is none
    /// Columns that each line of `text` lost; the last one counts for all further lines.
    std::vector<unsigned> shifts;
    int heading = -1;    // index into File::headings of the nearest one above; -1: none
    int parent = -1;     // index into File::blocks of the block that this one stands in; -1: none
    bool patch = false;  // a patch in a kustomization: its objects are parts
    bool exact = true;   // false: the lines of `text` are no lines of the file (a folded or quoted
                         // scalar); every mark is then that of its beginning
    Mark begin;          // of the file: the first byte of `text`
    std::vector<std::size_t> line_starts;  // offsets into `text`

    void set_text(std::string new_text);
    /// The place in the file of a place in `text` (both from 1).
    [[nodiscard]] Mark place(Mark inner) const;
    /// The same for a byte offset into `text`.
    [[nodiscard]] Mark place(std::size_t offset) const;
    /// The number of lines of the file that it takes.
    [[nodiscard]] unsigned lines() const;
};

/// A heading of a runbook.
struct Heading {
    unsigned line = 0;
    unsigned level = 1;  // 1: the largest
    std::string text;
    int parent = -1;  // index into File::headings
};

/// One line of prose (outside every fence) or of comment that a human wrote.
struct Statement {
    enum class Kind : std::uint8_t {
        kParagraph,
        kListItem,
        kHeading,
        kTableRow,
        kComment,  // `# ...` inside a shell, YAML, Dockerfile or PromQL block; without the '#'
    };
    Kind kind = Kind::kParagraph;
    std::string text;  // without the mark of the list, the '#', '>' or trailing blanks
    Mark mark;         // of the first byte of `text`
    int heading = -1;
    int block = -1;  // of a comment: the block
};

/// A table of Markdown (pipes) or RST/AsciiDoc as far as it is one line per row.
struct Table {
    struct Cell {
        std::string text;  // without blanks, ** and `
        Mark mark;
    };
    std::vector<std::vector<Cell>> rows;  // rows[0] is the head
    int heading = -1;
};

}  // namespace aliquot::syntax
