// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "lint/reading.h"
#include "lint/words.h"
#include "syntax/dockerfile.h"
#include "syntax/prose_line.h"
#include "syntax/shell.h"

namespace aliquot::lint {
namespace {

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
        delimiter = syntax::heredoc_delimiter(line);
        if (!delimiter.empty()) continue;
        const bool begins = line == "resources:" || line == "spec:" || line == "env:" ||
                            line == "nodeSelector:" || line == "tolerations:" ||
                            line == "sharing:" || line == "containers:" || line == "metadata:" ||
                            line == "---" || line.starts_with("apiVersion: ");
        if (!begins ||
            (i > 0 && (trim(lines[i - 1]).ends_with("\\") || opens_quote(lines[i - 1])))) {
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
            if (next.front() != ' ' && !next.starts_with("- ") && !key && next != "---") break;
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

}  // namespace

int add_commands(File& file, std::vector<Command> commands, std::size_t most) {
    const int shift = static_cast<int>(file.commands.size());
    for (Command& command : commands) {
        if (file.commands.size() >= most) break;
        if (command.piped_from >= 0) command.piped_from += shift;
        if (command.piped_to >= 0) command.piped_to += shift;
        file.commands.push_back(std::move(command));
    }
    return shift;
}

void read_shell(File& file, int index, const ReadLimits& limits, int depth) {
    Block shell = split_yaml(file, index, limits, depth);
    syntax::join_powershell(shell.text);
    syntax::Script script = syntax::read_script(shell, index);
    const int shift = add_commands(file, std::move(script.commands), limits.commands);
    for (Statement& comment : script.comments) file.statements.push_back(std::move(comment));
    for (const syntax::Enclosed& enclosed : script.enclosed) {
        const int block =
            add_block(file, block_of_enclosed(shell, index, enclosed), limits, depth + 1);
        const auto command = static_cast<std::size_t>(enclosed.command + shift);
        const bool heredoc = enclosed.setting == Setting::kHeredoc;
        if (heredoc && enclosed.command >= 0 && command < file.commands.size()) {
            file.commands[command].document = block;
        }
    }
}

void read_dockerfile(File& file, int index) {
    syntax::Dockerfile read =
        syntax::read_dockerfile(file.blocks[static_cast<std::size_t>(index)], index);
    const int shift = add_commands(file, std::move(read.commands), std::string::npos);
    const int first_instruction = static_cast<int>(file.instructions.size());
    const int first_stage = static_cast<int>(file.stages.size());
    for (Instruction& instruction : read.instructions) {
        for (int& command : instruction.commands) command += shift;
        file.instructions.push_back(std::move(instruction));
    }
    for (Stage& stage : read.stages) {
        stage.from += first_instruction;
        if (stage.base_stage >= 0) {
            stage.base_stage += first_stage;
        } else {
            Image image = read_image(stage.image);
            image.source = Image::Source::kDockerfile;
            image.mark = stage.image_mark;
            image.instruction = stage.from;
            file.images.push_back(std::move(image));
        }
        file.stages.push_back(std::move(stage));
    }
}

}  // namespace aliquot::lint
