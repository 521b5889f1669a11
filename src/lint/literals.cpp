// SPDX-License-Identifier: Apache-2.0
// Texts that a program of another language keeps: strings of Python and HCL, usage in heredocs.
#include <algorithm>
#include <optional>

#include "lint/image.h"
#include "lint/reading.h"
#include "lint/words.h"
#include "syntax/promql.h"
#include "syntax/shell.h"
#include "syntax/shell_line.h"

namespace aliquot::lint {
namespace {

/// A text between quotes, or of a heredoc.
struct Literal {
    std::size_t begin = 0;  // of its first byte in the block's text
    std::size_t end = 0;
    std::size_t past = 0;  // behind the closing quote
    bool other = false;    // a heredoc of HCL, which hcl.h reads
};

class Reader {
public:
    Reader(File& file, int index, const ReadLimits& limits, int depth)
        : file_(file),
          index_(index),
          limits_(limits),
          depth_(depth),
          block_(file.blocks[static_cast<std::size_t>(index)]) {}

    void read() {
        const std::string_view text = block_.text;
        for (std::size_t at = 0; at < text.size();) {
            if (text[at] == '#') {
                at = std::min(text.find('\n', at), text.size());
                continue;
            }
            const auto literal = literal_at(at);
            if (!literal) {
                ++at;
                continue;
            }
            if (!literal->other && !take(*literal)) return;
            at = std::max(literal->past, at + 1);
        }
    }

private:
    [[nodiscard]] std::optional<Literal> literal_at(std::size_t at);
    [[nodiscard]] std::optional<Literal> heredoc_at(std::size_t at);
    [[nodiscard]] bool take(const Literal& literal);
    void add_query(std::string_view words, std::size_t begin);

    File& file_;
    int index_;
    const ReadLimits& limits_;
    int depth_;
    const Block block_;
    bool triples_end_ = false;
    int endless_ = 0;  // heredocs without an end
};

std::optional<Literal> Reader::literal_at(std::size_t at) {
    const std::string_view text = block_.text;
    const char quote = text[at];
    const bool python = block_.language == Language::kPython;
    if (!python && text.substr(at, 2) == "<<") return heredoc_at(at);
    if (quote != '"' && (quote != '\'' || !python)) return std::nullopt;
    const std::string triple(3, quote);
    if (python && !triples_end_ && text.substr(at, 3) == triple) {
        const auto close = text.find(triple, at + 3);
        triples_end_ = close == std::string_view::npos;
        if (!triples_end_) return Literal{at + 3, close, close + 3};
    }
    for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == quote) {
            return Literal{at + 1, i, i + 1};
        }
    }
    return std::nullopt;
}

/// <<EOT, <<-EOT of HCL up to a line with the word alone: to be passed over.
std::optional<Literal> Reader::heredoc_at(std::size_t at) {
    constexpr std::size_t kMostLines = 20'000;
    constexpr int kMostEndless = 16;
    const std::string_view text = block_.text;
    const auto newline = text.find('\n', at);
    if (newline == std::string_view::npos) return std::nullopt;
    std::string_view word = trim(text.substr(at + 2, newline - at - 2));
    if (word.starts_with("-")) word.remove_prefix(1);
    constexpr std::size_t kLongestWord = 40;
    if (word.empty() || word.size() > kLongestWord || word.find(' ') != std::string_view::npos ||
        endless_ > kMostEndless) {
        return std::nullopt;
    }
    std::size_t begin = newline + 1;
    for (std::size_t lines = 0; begin < text.size() && lines < kMostLines; ++lines) {
        const auto end = std::min(text.find('\n', begin), text.size());
        if (trim(text.substr(begin, end - begin)) == word)
            return Literal{newline + 1, begin, end, true};
        begin = end + 1;
    }
    ++endless_;
    return std::nullopt;
}

void Reader::add_query(std::string_view words, std::size_t begin) {
    constexpr std::size_t kMost = 20'000;
    if (file_.expressions.size() >= kMost) return;
    Expression expression = syntax::cut_query(
        words, Expression::Source::kInline,
        [this, begin](std::size_t offset) { return block_.place(begin + offset); });
    expression.mark = block_.place(begin);
    expression.block = index_;
    expression.heading = block_.heading;
    file_.expressions.push_back(std::move(expression));
}

/// False: no block is left to put it into.
bool Reader::take(const Literal& literal) {
    const std::string_view text = block_.text;
    const std::size_t begin = literal.begin + (text.substr(literal.begin, 1) == "\n" ? 1 : 0);
    if (begin >= literal.end) return true;
    const std::string_view words = text.substr(begin, literal.end - begin);
    if (words.size() < 8) return true;
    if (words.find('\n') == std::string_view::npos) {
        const bool cuda =
            words.starts_with("nvidia/cuda:") || words.starts_with("nvcr.io/nvidia/cuda:");
        if (cuda && words.find(' ') == std::string_view::npos) {
            Image image = read_image(words);
            image.source = Image::Source::kStatement;
            image.mark = block_.place(begin);
            file_.images.push_back(std::move(image));
            return true;
        }
        const bool metric = words.find("nvidia_gpu_") != std::string_view::npos ||
                            words.find("DCGM_FI_") != std::string_view::npos;
        if (metric && syntax::begins_query(words) &&
            words.find_first_of("{([*/>") != std::string_view::npos) {
            add_query(words, begin);
            return true;
        }
        if (syntax::told_command(words) != 0) return true;
    }
    const Language language =
        words.find('\n') == std::string_view::npos ? Language::kShell : syntax::sniff(words);
    const bool manifest =
        language == Language::kYaml && words.find("apiVersion:") != std::string_view::npos;
    if (language != Language::kShell && language != Language::kDockerfile && !manifest) return true;
    Block block = block_of_part(block_, index_, begin, std::string(words), Setting::kHeredoc);
    block.language = language;
    return add_block(file_, std::move(block), limits_, depth_ + 1) >= 0;
}

}  // namespace

void read_literals(File& file, int block, const ReadLimits& limits, int depth) {
    if (!file.mentions("nvidia") && !file.mentions("gpu")) return;
    Reader(file, block, limits, depth).read();
}

void read_told_lines(File& file, int block, const ReadLimits& limits) {
    Block told = file.blocks[static_cast<std::size_t>(block)];
    std::string text = told.text;
    bool any = false;
    bool continued = false;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = std::string_view(text).substr(begin, end - begin);
        const bool command =
            continued || syntax::told_command(line) == line.find_first_not_of(" \t");
        continued = command && trim(line).ends_with("\\");
        if (!command || trim(line).empty()) {
            std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
                      text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
        } else {
            any = true;
        }
        begin = end + 1;
    }
    if (!any) return;
    told.set_text(std::move(text));
    std::vector<Command> commands = syntax::read_script(told, block).commands;
    for (Command& command : commands) command.shown = true;
    add_commands(file, std::move(commands), limits.commands);
}

}  // namespace aliquot::lint
