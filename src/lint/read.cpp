// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "lint/reading.h"
#include "lint/words.h"
#include "syntax/clean_text.h"
#include "syntax/hcl.h"

namespace aliquot::lint {
namespace {

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
        case FileKind::kToml:
            return Language::kToml;
        case FileKind::kPromql:
            return Language::kPromql;
        case FileKind::kUnit:
            return Language::kText;
        default:
            return syntax::sniff(text);
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

void read_any(File& file, int index, const ReadLimits& limits, int depth) {
    switch (file.blocks[static_cast<std::size_t>(index)].language) {
        case Language::kYaml:
        case Language::kJson:
            read_comments(file, index);
            read_documents(file, index, limits, depth);
            return;
        case Language::kToml:
            read_comments(file, index);
            read_toml(file, index, limits);
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
            for (const syntax::Enclosed& enclosed : syntax::read_hcl_texts(hcl)) {
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
    file->byte_order_mark = bytes.starts_with(syntax::kByteOrderMark);
    if (file->byte_order_mark) bytes.erase(0, syntax::kByteOrderMark.size());
    file->original = std::move(bytes);
    file->text = syntax::clean_text(file->original);
    file->folded = lower(file->text);
    for (std::size_t at = 0; at < file->text.size();) {
        file->line_starts.push_back(at);
        at = std::min(file->text.find('\n', at), file->text.size()) + 1;
    }
    if (file->line_starts.empty()) file->line_starts.push_back(0);
    file->kind = syntax::kind_of(file->name, file->text);
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
