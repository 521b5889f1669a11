// SPDX-License-Identifier: Apache-2.0
#include "syntax/dockerfile.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "syntax/shell.h"
#include "syntax/words.h"

namespace aliquot::syntax {
namespace {

constexpr std::size_t kLongestArgument = 4096;  // a longer one is no part of an image's name

/// One Dockerfile, line by line.
class DockerfileReader {
public:
    DockerfileReader(const Block& block, int index) : index_(index), block_(block) {}

    Dockerfile read() {
        const std::string_view text = block_.text;
        for (std::size_t at = 0; at < text.size();) at = read_instruction(at);
        if (!result_.stages.empty()) result_.stages.back().last = true;
        return std::move(result_);
    }

private:
    std::size_t read_instruction(std::size_t at);
    std::size_t skip_heredoc(std::string_view joined, std::size_t at);
    void index_lines();
    void add(std::size_t at, const std::string& joined);
    void add_words(Instruction& instruction, std::string_view joined, std::size_t at,
                   std::size_t keyword_end);
    void begin_stage(const Instruction& instruction, int number);
    void read_run(Instruction& instruction, const std::string& joined, std::size_t at,
                  std::size_t begin);
    [[nodiscard]] std::string with_arguments(std::string_view text) const;

    int index_;
    const Block& block_;
    Dockerfile result_;
    std::map<std::string, std::size_t, std::less<>> stage_names_;
    std::map<std::string, std::string> arguments_;
    /// Where the lines of a text without its blanks end, in their order; filled when it is first asked for.
    std::unordered_map<std::string_view, std::vector<std::size_t>> line_ends_;
    char escape_ = '\\';
};

/// Joins continued lines. The joined text has the length of the raw one: each byte keeps its place.
std::size_t DockerfileReader::read_instruction(std::size_t at) {
    const std::string_view text = block_.text;
    std::string joined;
    std::size_t end = at;
    bool more = true;
    bool first = true;
    while (more && end < text.size()) {
        const std::size_t newline = std::min(text.find('\n', end), text.size());
        std::string line(text.substr(end, newline - end));
        const std::string_view words = trim(line);
        end = std::min(newline + 1, text.size());
        if (first && (words.empty() || words.front() == '#')) {
            if (contains(words, "escape=`")) escape_ = '`';
            return end;
        }
        more = false;
        if (!words.empty() && words.front() == '#') {  // a comment between continued lines
            std::fill(line.begin(), line.end(), ' ');
            more = true;
        } else if (words.empty() && !first) {
            more = true;
        } else if (words.back() == escape_) {
            line[line.find_last_of(escape_)] = ' ';
            more = true;
        }
        joined += line;
        joined += ' ';
        first = false;
    }
    add(at, joined);
    return skip_heredoc(joined, end);
}

/// RUN <<EOF and COPY <<EOF take lines of their own.
std::size_t DockerfileReader::skip_heredoc(std::string_view joined, std::size_t at) {
    const auto mark = joined.find("<<");
    if (mark == std::string_view::npos || joined.substr(mark, 3) == "<<<") return at;
    std::string_view word = joined.substr(mark + 2);
    while (!word.empty() && (word[0] == '-' || word[0] == '"' || word[0] == '\''))
        word.remove_prefix(1);
    word = word.substr(0, word.find_first_of(" \t\"'"));
    if (word.empty()) return at;
    if (line_ends_.empty()) index_lines();
    const auto lines = line_ends_.find(word);
    if (lines == line_ends_.end()) return at;
    const auto end = std::upper_bound(lines->second.begin(), lines->second.end(), at);
    return end == lines->second.end() ? at : *end;
}

/// Once, not for each heredoc: most of them might have no end.
void DockerfileReader::index_lines() {
    const std::string_view text = block_.text;
    for (std::size_t line = 0; line < text.size();) {
        const std::size_t newline = std::min(text.find('\n', line), text.size());
        const std::size_t next = std::min(newline + 1, text.size());
        line_ends_[trim(text.substr(line, newline - line))].push_back(next);
        line = next;
    }
}

void DockerfileReader::add(std::size_t at, const std::string& joined) {
    const std::size_t begin = joined.find_first_not_of(" \t");
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(joined.find_first_of(" \t", begin), joined.size());
    Instruction instruction;
    instruction.block = index_;
    instruction.mark = block_.place(at + begin);
    instruction.written_keyword = joined.substr(begin, end - begin);
    instruction.keyword = instruction.written_keyword;
    for (char& c : instruction.keyword) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    if (instruction.keyword.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos)
        return;
    instruction.text = std::string(trim(std::string_view(joined).substr(end)));
    add_words(instruction, joined, at, end);
    const auto number = static_cast<int>(result_.instructions.size());
    if (instruction.keyword == "FROM") begin_stage(instruction, number);
    if (instruction.keyword == "ARG" && !instruction.words.empty()) {
        const std::string& word = instruction.words.front().text;
        const auto equals = word.find('=');
        if (equals != std::string::npos && word.size() - equals <= kLongestArgument)
            arguments_[word.substr(0, equals)] = word.substr(equals + 1);
    }
    instruction.stage = static_cast<int>(result_.stages.size()) - 1;
    if (instruction.keyword == "RUN") read_run(instruction, joined, at, end);
    result_.instructions.push_back(std::move(instruction));
}

void DockerfileReader::add_words(Instruction& instruction, std::string_view joined, std::size_t at,
                                 std::size_t keyword_end) {
    for (std::size_t i = keyword_end; i < joined.size();) {
        if (joined[i] == ' ' || joined[i] == '\t') {
            ++i;
            continue;
        }
        Word word;
        word.mark = block_.place(at + i);
        char open = 0;
        for (; i < joined.size(); ++i) {
            const char c = joined[i];
            if (open == 0 && (c == ' ' || c == '\t')) break;
            if (open == 0 && (c == '"' || c == '\'')) {
                open = c;
                word.quoted = true;
            } else if (c == open) {
                open = 0;
            } else {
                word.text += c;
            }
        }
        if (word.text.starts_with("--")) {
            const auto equals = word.text.find('=');
            const std::string name =
                word.text.substr(2, equals == std::string::npos ? equals : equals - 2);
            instruction.flags.emplace_back(
                name, equals == std::string::npos ? "" : word.text.substr(equals + 1));
        }
        instruction.words.push_back(std::move(word));
    }
}

std::string DockerfileReader::with_arguments(std::string_view text) const {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '$' || i + 1 >= text.size()) {
            result += text[i];
            continue;
        }
        const bool braces = text[i + 1] == '{';
        const std::size_t begin = i + (braces ? 2 : 1);
        const std::size_t end =
            std::min(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                            "0123456789_",
                                            begin),
                     text.size());
        const auto known = arguments_.find(std::string(text.substr(begin, end - begin)));
        const bool closed = !braces || (end < text.size() && text[end] == '}');
        if (known == arguments_.end() || !closed || known->second.empty()) {
            result += text[i];
            continue;
        }
        result += known->second;
        i = braces ? end : end - 1;
    }
    return result;
}

void DockerfileReader::begin_stage(const Instruction& instruction, int number) {
    Stage stage;
    stage.block = index_;
    stage.from = number;
    stage.image_mark = instruction.mark;
    for (std::size_t i = 0; i < instruction.words.size(); ++i) {
        const Word& word = instruction.words[i];
        if (word.text.starts_with("--")) continue;
        if (stage.image.empty()) {
            stage.image = with_arguments(word.text);
            stage.image_mark = word.mark;
        } else if (lower(word.text) == "as" && i + 1 < instruction.words.size()) {
            stage.written_as = word.text;
            stage.name = lower(instruction.words[i + 1].text);
        }
    }
    if (const auto at = stage_names_.find(lower(stage.image)); at != stage_names_.end()) {
        stage.base_stage = static_cast<int>(at->second);
    }
    if (!stage.name.empty()) stage_names_[stage.name] = result_.stages.size();
    result_.stages.push_back(std::move(stage));
}

void DockerfileReader::read_run(Instruction& instruction, const std::string& joined, std::size_t at,
                                std::size_t begin) {
    while (true) {  // --mount=..., --network=...
        const auto next = joined.find_first_not_of(" \t", begin);
        if (next == std::string::npos || joined.compare(next, 2, "--") != 0) break;
        begin = std::min(joined.find_first_of(" \t", next), joined.size());
    }
    Block part;  // without the text of the whole, of which there may be much
    part.setting = block_.setting;
    part.line = block_.line;
    part.heading = block_.heading;
    part.begin = block_.begin;
    part.exact = block_.exact;
    if (!block_.shifts.empty()) part.shifts = {block_.shifts.front()};
    std::string shell(joined.size(), ' ');
    std::copy(joined.begin() + static_cast<std::ptrdiff_t>(begin), joined.end(),
              shell.begin() + static_cast<std::ptrdiff_t>(begin));
    part.language = Language::kShell;
    part.set_text(std::move(shell));
    Script script = read_script(part, index_);
    const int shift = static_cast<int>(result_.commands.size());
    const auto real = [this, at](Mark mark) {
        // In the joined text all is on one line: the column is the offset.
        return block_.place(at + mark.column - 1 -
                            (block_.shifts.empty() ? 0 : block_.shifts.front()));
    };
    for (Command& command : script.commands) {
        command.inside_dockerfile = true;
        command.mark = real(command.mark);
        for (Word& word : command.words) word.mark = real(word.mark);
        for (Word& word : command.assignments) word.mark = real(word.mark);
        for (Word& word : command.redirects) word.mark = real(word.mark);
        if (command.piped_from >= 0) command.piped_from += shift;
        if (command.piped_to >= 0) command.piped_to += shift;
        instruction.commands.push_back(static_cast<int>(result_.commands.size()));
        result_.commands.push_back(std::move(command));
    }
}

}  // namespace

Dockerfile read_dockerfile(const Block& block, int index) {
    return DockerfileReader(block, index).read();
}

}  // namespace aliquot::syntax
