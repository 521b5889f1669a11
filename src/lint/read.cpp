// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "lint/hcl.h"
#include "lint/prose_line.h"
#include "lint/reading.h"
#include "lint/shell.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// Bytes of the UTF-8 character that begins at `at`; 0: there is none.
std::size_t character_length(std::string_view text, std::size_t at) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(at);
    if (first < 0x80U) return 1;
    const std::size_t length = first >= 0xf5U   ? 0
                               : first >= 0xf0U ? 4
                               : first >= 0xe0U ? 3
                               : first >= 0xc2U ? 2
                                                : 0;
    if (length == 0 || at + length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xc0U) != 0x80U) return 0;
    }
    // Overlong forms, surrogates, above U+10FFFF: their second byte tells.
    const unsigned char second = byte(at + 1);
    const bool bad = (first == 0xe0U && second < 0xa0U) || (first == 0xedU && second > 0x9fU) ||
                     (first == 0xf0U && second < 0x90U) || (first == 0xf4U && second > 0x8fU);
    return bad ? 0 : length;
}

/// The same length and lines, but valid UTF-8 without control characters.
std::string cleaned(std::string_view bytes) {
    std::string text(bytes);
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (starts_with(bytes, kByteOrderMark)) std::fill_n(text.begin(), 3, ' ');
    for (std::size_t i = 0; i < text.size();) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c == '\r') {
            text[i++] = ' ';
        } else if (c < 0x20U && c != '\n' && c != '\t') {
            text[i++] = '?';
        } else if (c == 0x7fU) {
            text[i++] = '?';
        } else if (const std::size_t length = character_length(text, i); length > 0) {
            // NEL, LINE SEPARATOR and the like are line breaks for YAML and for nobody else; C1
            // controls and the byte order mark are refused.
            const std::string_view character = std::string_view(text).substr(i, length);
            const bool control =
                length == 2 && c == 0xc2U && static_cast<unsigned char>(text[i + 1]) < 0xa0U;
            if (control || character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9" ||
                character == kByteOrderMark || character == "\xef\xbf\xbe" ||
                character == "\xef\xbf\xbf") {
                std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(i), length, '?');
            }
            i += length;
        } else {
            text[i++] = '?';
        }
    }
    return text;
}

std::string directory_of(const std::string& name) {
    const auto slash = name.rfind('/');
    return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

Language language_of_kind(FileKind kind, std::string_view text) {
    switch (kind) {
        case FileKind::kYaml:
            return Language::kYaml;
        case FileKind::kJson:
            return Language::kJson;
        case FileKind::kDockerfile:
            return Language::kDockerfile;
        case FileKind::kShell:
            return Language::kShell;
        case FileKind::kPython:
            return Language::kPython;
        case FileKind::kHcl:
            return Language::kHcl;
        case FileKind::kPromql:
            return Language::kPromql;
        default:
            return sniff(text);
    }
}

/// The block that is the whole file.
void read_whole(File& file, const ReadLimits& limits) {
    Block block;
    block.setting = Setting::kFile;
    block.language = language_of_kind(file.kind, file.text);
    block.begin = {1, 1};
    block.set_text(file.text);
    add_block(file, std::move(block), limits, 0);
}

/// Lines below a shell block's own height that are YAML: people paste both into one fence.
struct Run {
    unsigned first = 0;  // line of the block's text, from 1
    unsigned last = 0;
};

/// "kubectl patch deployment x --patch '": what follows is its argument.
bool opens_quote(std::string_view line) {
    const std::string_view text = trim(line);
    if (text.empty() || (text.back() != '\'' && text.back() != '"')) return false;
    return std::count(text.begin(), text.end(), text.back()) % 2 == 1;
}

std::vector<Run> yaml_runs(const std::vector<std::string_view>& lines) {
    std::vector<Run> runs;
    std::string delimiter;
    for (unsigned i = 0; i < lines.size(); ++i) {
        const std::string_view line = lines[i];
        if (!delimiter.empty()) {
            if (trim(line) == delimiter) delimiter.clear();
            continue;
        }
        delimiter = heredoc_delimiter(line);
        if (!delimiter.empty()) continue;
        const bool begins = line == "resources:" || line == "spec:" || line == "env:" ||
                            line == "nodeSelector:" || line == "tolerations:" ||
                            line == "sharing:" || line == "containers:" || line == "metadata:" ||
                            line == "---" || starts_with(line, "apiVersion: ");
        if (!begins ||
            (i > 0 && (ends_with(trim(lines[i - 1]), "\\") || opens_quote(lines[i - 1])))) {
            continue;
        }
        Run run{i + 1, i + 1};
        for (unsigned j = i + 1; j < lines.size(); ++j) {
            const std::string_view next = lines[j];
            if (trim(next).empty()) continue;
            const auto colon = next.find(':');
            const bool key = colon != std::string_view::npos &&
                             next.substr(0, colon).find(' ') == std::string_view::npos &&
                             (colon + 1 == next.size() || next[colon + 1] == ' ');
            if (next.front() != ' ' && !starts_with(next, "- ") && !key && next != "---") break;
            run.last = j + 1;
        }
        runs.push_back(run);
        i = run.last - 1;
    }
    return runs;
}

/// The block's text without its YAML, which gets blocks of its own.
Block split_yaml(File& file, int index, const ReadLimits& limits, int depth) {
    Block whole = file.blocks[static_cast<std::size_t>(index)];
    std::vector<std::string_view> lines;
    for (const std::string_view line : split(whole.text, '\n')) lines.push_back(line);
    const std::vector<Run> runs = yaml_runs(lines);
    if (runs.empty()) return whole;
    std::string shell = whole.text;
    std::vector<Block> parts;
    for (const Run& run : runs) {
        const std::size_t begin = whole.line_starts[run.first - 1];
        const std::size_t end =
            run.last < whole.line_starts.size() ? whole.line_starts[run.last] : shell.size();
        Block part;
        part.language = Language::kYaml;
        part.setting = Setting::kIndented;
        part.word = whole.word;
        part.parent = index;
        part.heading = whole.heading;
        part.begin = whole.place(Mark{run.first, 1});
        part.line = part.begin.line;
        for (unsigned line = run.first; line <= run.last; ++line) {
            part.shifts.push_back(whole.place(Mark{line, 1}).column - 1);
        }
        part.exact = whole.exact;
        part.set_text(whole.text.substr(begin, end - begin));
        parts.push_back(std::move(part));
        for (std::size_t i = begin; i < end; ++i) {
            if (shell[i] != '\n') shell[i] = ' ';
        }
    }
    whole.set_text(std::move(shell));
    for (Block& part : parts) add_block(file, std::move(part), limits, depth + 1);
    return whole;
}

Block block_of_enclosed(const Block& outer, int index, const Enclosed& enclosed) {
    Block block = block_of_part(outer, index, enclosed.offset, enclosed.text, enclosed.setting);
    block.exact = enclosed.exact && outer.exact;
    block.language = enclosed.yaml ? Language::kJson : sniff(block.text);
    return block;
}

void read_any(File& file, int index, const ReadLimits& limits, int depth) {
    switch (file.blocks[static_cast<std::size_t>(index)].language) {
        case Language::kYaml:
        case Language::kJson:
            read_comments(file, index);
            read_documents(file, index, limits, depth);
            return;
        case Language::kShell:
            read_shell(file, index, limits, depth);
            return;
        case Language::kDockerfile:
            read_comments(file, index);
            read_dockerfile(file, index);
            return;
        case Language::kPromql:
            read_comments(file, index);
            read_queries(file, index);
            return;
        case Language::kHcl: {
            const Block hcl = file.blocks[static_cast<std::size_t>(index)];
            for (const Enclosed& enclosed : read_hcl_texts(hcl)) {
                add_block(file, block_of_enclosed(hcl, index, enclosed), limits, depth + 1);
            }
            read_written(file, index, limits);
            read_literals(file, index, limits, depth);
            return;
        }
        case Language::kPython:
            read_written(file, index, limits);
            read_literals(file, index, limits, depth);
            return;
        default:
            if (file.blocks[static_cast<std::size_t>(index)].setting == Setting::kHeredoc) {
                read_told_lines(file, index, limits);
            }
            return;
    }
}

void sort_statements(File& file) {
    const auto key = [](const Statement& one) { return std::pair(one.mark.line, one.mark.column); };
    std::stable_sort(file.statements.begin(), file.statements.end(),
                     [key](const Statement& a, const Statement& b) { return key(a) < key(b); });
    // The inner block is read last: of two statements at one place it is the better one.
    const auto last =
        std::unique(file.statements.rbegin(), file.statements.rend(),
                    [key](const Statement& a, const Statement& b) { return key(a) == key(b); });
    file.statements.erase(file.statements.begin(), last.base());
}

}  // namespace

int add_block(File& file, Block block, const ReadLimits& limits, int depth) {
    constexpr int kDeepest = 5;
    if (file.blocks.size() >= limits.blocks || depth > kDeepest) return -1;
    const auto index = static_cast<int>(file.blocks.size());
    if (block.line_starts.empty()) block.set_text(std::move(block.text));
    file.blocks.push_back(std::move(block));
    read_any(file, index, limits, depth);
    return index;
}

Block block_of_part(const Block& outer, int index, std::size_t offset, std::string text,
                    Setting setting) {
    Block block;
    block.setting = setting;
    block.parent = index;
    block.heading = outer.heading;
    block.begin = outer.place(offset);
    block.line = block.begin.line;
    block.exact = outer.exact;
    block.set_text(std::move(text));
    const unsigned first = block.begin.column - 1;
    const bool from_start = setting == Setting::kHeredoc;
    const Mark next = outer.place(Mark{2, 1});
    block.shifts = {first, from_start ? first : next.column - 1};
    if (from_start && outer.shifts.size() > 1) {
        block.shifts.clear();
        const Mark inner = outer.exact ? Mark{block.line - outer.line + 1, 1} : Mark{1, 1};
        const unsigned lines = block.lines();
        for (unsigned i = 0; i <= lines; ++i) {
            block.shifts.push_back(outer.place(Mark{inner.line + i, 1}).column - 1);
        }
    }
    return block;
}

Block block_of_scalar(const File& file, int parent, const Node& scalar) {
    const Block& outer = file.blocks[static_cast<std::size_t>(parent)];
    Block block;
    block.setting = Setting::kValue;
    block.parent = parent;
    block.heading = outer.heading;
    block.begin = scalar.mark;
    block.line = scalar.mark.line;
    block.exact = false;
    block.set_text(scalar.scalar);
    if (!scalar.block || !outer.exact) return block;
    // The line of the `|`: a tag or an anchor may stand before it.
    constexpr unsigned kMostPropertyLines = 4;
    unsigned header = scalar.mark.line;
    std::string_view rest = file.line(header);
    rest.remove_prefix(std::min<std::size_t>(scalar.mark.column - 1, rest.size()));
    while (rest.find('|') == std::string_view::npos) {
        if (rest.find('>') != std::string_view::npos) return block;
        if (++header > scalar.mark.line + kMostPropertyLines) return block;
        rest = file.line(header);
    }
    const auto first = scalar.scalar.find_first_not_of('\n');
    if (first == std::string::npos) return block;
    const unsigned line = header + 1 + static_cast<unsigned>(first);
    const std::string_view decoded =
        std::string_view(scalar.scalar).substr(first, scalar.scalar.find('\n', first) - first);
    const std::string_view raw = file.line(line);
    if (raw.size() < decoded.size()) return block;
    const std::size_t shift = raw.size() - decoded.size();
    block.line = header + 1;
    block.shifts = {static_cast<unsigned>(shift)};
    block.exact = true;
    block.begin = block.place(Mark{1, 1});
    return block;
}

void read_shell(File& file, int index, const ReadLimits& limits, int depth) {
    Block shell = split_yaml(file, index, limits, depth);
    join_powershell(shell.text);
    Script script = read_script(shell, index);
    const int shift = static_cast<int>(file.commands.size());
    for (Command& command : script.commands) {
        if (file.commands.size() >= limits.commands) break;
        if (command.piped_from >= 0) command.piped_from += shift;
        if (command.piped_to >= 0) command.piped_to += shift;
        file.commands.push_back(std::move(command));
    }
    for (Statement& comment : script.comments) file.statements.push_back(std::move(comment));
    for (const Enclosed& enclosed : script.enclosed) {
        const int block =
            add_block(file, block_of_enclosed(shell, index, enclosed), limits, depth + 1);
        const auto command = static_cast<std::size_t>(enclosed.command + shift);
        const bool heredoc = enclosed.setting == Setting::kHeredoc;
        if (heredoc && enclosed.command >= 0 && command < file.commands.size()) {
            file.commands[command].document = block;
        }
    }
}

void read_comments(File& file, int index) {
    const Block block = file.blocks[static_cast<std::size_t>(index)];
    if (block.language == Language::kJson || !block.exact) return;
    std::size_t begin = 0;
    for (const std::string_view line : split(block.text, '\n')) {
        std::size_t at = line.find('#');
        while (at != std::string_view::npos && at > 0 && line[at - 1] != ' ' &&
               line[at - 1] != '\t') {
            at = line.find('#', at + 1);
        }
        if (at != std::string_view::npos) {
            const std::size_t words = line.find_first_not_of("# \t", at);
            if (words != std::string_view::npos) {
                Statement comment;
                comment.kind = Statement::Kind::kComment;
                comment.text = std::string(trim(line.substr(words)));
                comment.mark = block.place(begin + words);
                comment.heading = block.heading;
                comment.block = index;
                file.statements.push_back(std::move(comment));
            }
        }
        begin += line.size() + 1;
    }
}

bool is_binary(std::string_view bytes) {
    constexpr std::size_t kLook = 8'192;
    return bytes.substr(0, kLook).find('\0') != std::string_view::npos;
}

std::unique_ptr<File> read_file(std::string name, std::string bytes, const ReadLimits& limits) {
    auto file = std::make_unique<File>();
    file->directory = directory_of(name);
    file->name = std::move(name);
    if (bytes.size() > limits.bytes || is_binary(bytes)) bytes.clear();
    file->original = std::move(bytes);
    file->text = cleaned(file->original);
    file->folded = lower(file->text);
    for (std::size_t at = 0; at < file->text.size();) {
        file->line_starts.push_back(at);
        at = std::min(file->text.find('\n', at), file->text.size()) + 1;
    }
    if (file->line_starts.empty()) file->line_starts.push_back(0);
    file->kind = kind_of(file->name, file->text);
    if (file->is_prose()) {
        read_prose(*file, limits);
    } else {
        read_whole(*file, limits);
    }
    read_command_images(*file);
    sort_statements(*file);
    return file;
}

}  // namespace aliquot::lint
