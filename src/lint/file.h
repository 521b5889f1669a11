// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lint/image.h"
#include "lint/object.h"
#include "syntax/block.h"
#include "syntax/command.h"
#include "syntax/dockerfile.h"
#include "syntax/language.h"
#include "syntax/promql.h"

/// The linter: reads files into what rules look at (File), and holds them against the rules.
///
/// A rule reads File's lists, never bytes of its own: read.cpp has already dealt with fences,
/// indentation, templates, damaged encodings, and every mark is a place of the file as the user
/// sees it (line and column from 1, columns in bytes).
namespace aliquot::lint {

using syntax::Block;
using syntax::Command;
using syntax::Expression;
using syntax::FileKind;
using syntax::Heading;
using syntax::Instruction;
using syntax::Language;
using syntax::Setting;
using syntax::Stage;
using syntax::Statement;
using syntax::Table;
using syntax::Word;

/// One file (or the standard input) and all that was found in it. Not copied: objects, pods and
/// expressions point into `nodes`.
struct File {
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::string name;       // as the user named it: "docs/gpu.md", "<stdin>"
    std::string directory;  // of the name; "" for none
    FileKind kind = FileKind::kOther;
    bool aliquot = false;  // sharing configurations are read by our agent, with our extensions
    bool byte_order_mark =
        false;             // the bytes on disk begin with UTF-8's; it is no part of `original`
    std::string original;  // the other bytes as they are on disk: what edits are made in
    /// `original` with the same length and lines, bytes that are no UTF-8 and control characters
    /// replaced by '?', CR before LF by a blank.
    std::string text;

    std::vector<Heading> headings;
    std::vector<Block> blocks;
    std::vector<Statement> statements;  // in the file's order
    std::vector<Table> tables;
    std::vector<Object> objects;
    std::vector<PodSpec> pods;
    std::vector<Command> commands;
    std::vector<Image> images;
    std::vector<Instruction> instructions;
    std::vector<Stage> stages;
    std::vector<Expression> expressions;

    /// A document that could not be read as a whole: what was wrong, for DPC020 and API003 and for
    /// rules that must be silent when something is missing.
    struct Unreadable {
        int block = -1;
        Mark mark;
        std::string message;
    };
    std::vector<Unreadable> unreadable;

    std::deque<Value> nodes;               // owns what the pointers above point to
    std::vector<std::size_t> line_starts;  // offsets into text
    std::string folded;                    // `text` in lower-case ASCII, for mentions()
    mutable std::mutex mentioned_mutex;    // guards `mentioned`: what mentions() said of a word
    mutable std::map<std::string, bool, std::less<>> mentioned;

    /// A runbook: Markdown, AsciiDoc, RST, text. Its blocks are examples, one after the other.
    [[nodiscard]] bool is_prose() const;
    [[nodiscard]] std::string_view line(unsigned number) const;  // from 1; without the line end
    [[nodiscard]] std::size_t offset(Mark mark) const;           // into text and original
    [[nodiscard]] Mark mark(std::size_t offset) const;
    /// Whether the word stands anywhere in the file. `lower` is in lower case.
    [[nodiscard]] bool mentions(std::string_view lower) const;
    /// "Troubleshooting > CUDA out of memory": the headings above, in lower case; "" for none.
    [[nodiscard]] std::string heading_path(int heading) const;
    [[nodiscard]] const Object* object(const PodSpec& pod) const;

    /// The first object of this kind and name in this file; nullptr: none.
    [[nodiscard]] const Object* find_object(std::string_view kind, std::string_view name) const;
};

/// How large, and how many.
struct ReadLimits {
    std::size_t bytes = 10U << 20U;  // of a file; a larger one is not read
    std::size_t blocks = 5'000;      // of a file; the rest is left out
    std::size_t objects = 20'000;
    std::size_t commands = 100'000;
};

/// Reads one file. Never fails: any bytes give a File, if an empty one.
std::unique_ptr<File> read_file(std::string name, std::string bytes, const ReadLimits& limits = {});

}  // namespace aliquot::lint
