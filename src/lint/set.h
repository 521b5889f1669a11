// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lint/block.h"
#include "lint/command.h"
#include "lint/dockerfile.h"
#include "lint/image.h"
#include "lint/kustomize.h"
#include "lint/object.h"
#include "lint/promql.h"

/// The linter: reads files into what rules look at (File), and holds them against the rules.
///
/// A rule reads File's lists, never bytes of its own: read.cpp has already dealt with fences,
/// indentation, templates, damaged encodings, and every mark is a place of the file as the user
/// sees it (line and column from 1, columns in bytes).
namespace aliquot::lint {

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
    kPromql,
    kOther,  // read as text
};

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
    std::string original;  // the bytes as they are on disk: what edits are made in
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

    std::deque<Node> nodes;                // owns what the pointers above point to
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

/// All files of one run. Immutable once read; rules of several files look at it at the same time.
class Set {
public:
    Set() = default;
    explicit Set(std::vector<std::unique_ptr<File>> files);

    [[nodiscard]] std::span<const std::unique_ptr<File>> files() const { return files_; }

    /// The files that belong to the same thing as far as one can tell: those in the same directory,
    /// the file itself first; of a kustomization or chart those below it too. Use: what another file
    /// defines by NAME (a ConfigMap, a Deployment, a StorageClass) may silence a finding or make a
    /// contradiction. What another file merely does NOT have proves nothing. In a directory of more than
    /// 100 files each stands alone.
    [[nodiscard]] std::vector<const File*> neighbours(const File& file) const;

    /// Kind and name among the neighbours; the namespace must agree where both say one.
    struct Found {
        const File* file = nullptr;
        const Object* object = nullptr;
        explicit operator bool() const { return object != nullptr; }
    };
    [[nodiscard]] Found find_object(const File& near, std::string_view kind, std::string_view name,
                                    std::string_view name_space = {}) const;

    [[nodiscard]] const Kustomizations& kustomizations() const { return kustomizations_; }

    /// Whether Terraform or a machine's configuration anywhere in the run gives nodes a label of
    /// this name. Only names of one's own, with a dot or a slash in them, are looked for so far away.
    [[nodiscard]] bool defines_label(std::string_view key) const {
        return labels_.find(key) != labels_.end();
    }

    /// The Terraform files of the directories above a file: the module that it is a part of.
    [[nodiscard]] std::vector<const File*> terraform_above(const File& file) const;

private:
    std::vector<std::unique_ptr<File>> files_;
    std::map<std::string, std::vector<const File*>, std::less<>> directories_;
    std::set<std::string, std::less<>> roots_;  // directories of a kustomization or a chart
    Kustomizations kustomizations_;
    std::set<std::string, std::less<>> labels_;  // see defines_label()
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

/// What the name and the first lines say a file is.
FileKind kind_of(std::string_view name, std::string_view text);

}  // namespace aliquot::lint
