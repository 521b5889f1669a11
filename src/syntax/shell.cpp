// SPDX-License-Identifier: Apache-2.0
#include "syntax/shell.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "syntax/shell_line.h"
#include "syntax/shell_reader.h"
#include "syntax/words.h"

/// Lines, comments and commands of a shell text.
namespace aliquot::syntax {
namespace {

constexpr std::size_t kMostCommands = 100'000;

}  // namespace

Script ShellReader::read() {
    console_ = has_prompts(text_);
    read_range(0, text_.size(), 0);
    return std::move(script_);
}

void ShellReader::read_range(std::size_t begin, std::size_t end, int depth) {
    at_ = begin;
    bool line_start = true;
    while (at_ < end && script_.commands.size() < kMostCommands) {
        if (line_start) {
            begin_line(end);
            line_start = false;
            continue;
        }
        const char c = text_[at_];
        if (c == '\n') {
            ++at_;
            of_line_.clear();
            read_heredocs(end);
            line_start = true;
        } else if (is_blank(c) || is_shell_operator(c)) {
            ++at_;
        } else if (c == '#') {
            read_comment(end, false);
        } else {
            read_command(end, depth);
        }
    }
}

/// Takes prompts off; in a console block lines without one are output.
void ShellReader::begin_line(std::size_t end) {
    const std::size_t newline = std::min(text_.find('\n', at_), end);
    const std::string_view line = text_.substr(at_, newline - at_);
    const std::size_t prompt = console_ ? console_prompt_length(line) : prompt_length(line);
    if (prompt > 0) {
        open_ = 0;
        open_lines_ = 0;
        at_ += prompt;
        return;
    }
    if (console_ && continue_construct(line)) return;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] == '#') {
        at_ += first;
        read_comment(end, true);
        return;
    }
    if (console_) at_ = newline;
}

/// A line of `$ for ...` above it: "> " or nothing before the command.
bool ShellReader::continue_construct(std::string_view line) {
    constexpr unsigned kMostLines = 50;  // then its end is not in the block
    if (open_ <= 0 || ++open_lines_ > kMostLines) return false;
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return true;
    const bool prompt = line[first] == '>' && (first + 1 >= line.size() || line[first + 1] == ' ');
    at_ += prompt ? first + 1 : first;
    return true;
}

/// The words that open and close a construct of several lines stand at the front of a command.
void ShellReader::count_constructs() {
    for (const Word& word : words_) {
        if (word.quoted) return;
        if (word.text == "for" || word.text == "while" || word.text == "until" ||
            word.text == "if" || word.text == "case") {
            ++open_;
        } else if (word.text == "done" || word.text == "fi" || word.text == "esac") {
            open_ = std::max(open_ - 1, 0);
        } else if (word.text != "do" && word.text != "then" && word.text != "else") {
            return;
        }
    }
}

void ShellReader::read_comment(std::size_t end, bool own_line) {
    const std::size_t newline = std::min(text_.find('\n', at_), end);
    std::size_t first = at_;
    while (first < newline && (text_[first] == '#' || is_blank(text_[first]))) ++first;
    const std::string_view words = trim(text_.substr(first, newline - first));
    at_ = newline;
    if (words.empty()) return;
    Statement comment;
    comment.kind = Statement::Kind::kComment;
    comment.text = std::string(words);
    comment.mark = block_.place(first);
    comment.heading = block_.heading;
    comment.block = index_;
    if (own_line) {
        comment_above_ = comment.text;
        comment_above_line_ = comment.mark.line;
    }
    for (const std::size_t one : of_line_) script_.commands[one].comment = comment.text;
    script_.comments.push_back(std::move(comment));
}

bool ShellReader::skip_continuation(std::size_t end) {
    if (text_[at_] != '\\') return false;
    std::size_t next = at_ + 1;
    while (next < end && is_blank(text_[next])) ++next;
    if (next < end && text_[next] != '\n') return false;
    if (next > at_ + 1 && next >= end) return false;
    at_ = std::min(next + 1, end);
    if (console_) {  // "> " before a continued line
        std::size_t first = at_;
        while (first < end && is_blank(text_[first])) ++first;
        if (first + 1 < end && text_[first] == '>' && is_blank(text_[first + 1])) at_ = first + 1;
    }
    return true;
}

void ShellReader::read_command(std::size_t end, int depth) {
    words_.clear();
    word_begins_.clear();
    word_ends_.clear();
    redirects_.clear();
    command_begin_ = at_;
    while (at_ < end) {
        const char c = text_[at_];
        if (skip_continuation(end)) continue;
        if (is_blank(c)) {
            ++at_;
        } else if (c == '\n') {
            return finish_command("", depth);
        } else if (c == '#') {
            finish_command("", depth);
            return read_comment(end, false);
        } else if (is_shell_operator(c)) {
            std::string separator(1, c);
            if (at_ + 1 < end && text_[at_ + 1] == c && c != '(' && c != ')') separator += c;
            if (separator == "|" && at_ + 1 < end && text_[at_ + 1] == '&') ++at_;
            at_ += separator.size();
            return finish_command(separator, depth);
        } else if (c == '>' || (c == '<' && !end_of_placeholder(text_, at_, end))) {
            read_redirect(end);
        } else {
            const std::size_t begin = at_;
            read_word(end, depth);
            const bool descriptor = at_ < end && (text_[at_] == '>' || text_[at_] == '<') &&
                                    word_.text.size() == 1 && word_.text[0] >= '0' &&
                                    word_.text[0] <= '9';
            if (descriptor) continue;
            constexpr std::size_t kMostWords = 20'000;  // of one command
            if (words_.size() < kMostWords) words_.push_back(std::move(word_));
            word_begins_.push_back(begin);
            word_ends_.push_back(at_);
        }
    }
    finish_command("", depth);
}

void ShellReader::finish_command(std::string separator, int depth) {
    const int from = piped_from_;
    piped_from_ = -1;
    if (console_) count_constructs();
    std::optional<Command> command = make_command(words_);
    const int number = static_cast<int>(script_.commands.size());
    if (!command) {
        if (separator == "|") piped_from_ = from;
        return;
    }
    command->block = index_;
    command->heading = block_.heading;
    command->redirects = redirects_;
    command->separator = std::move(separator);
    command->text = joined_lines(text_.substr(command_begin_, at_ - command_begin_));
    command->piped_from = from;
    if (from >= 0) script_.commands[static_cast<std::size_t>(from)].piped_to = number;
    if (comment_above_line_ != 0 && comment_above_line_ + 1 == command->mark.line) {
        command->comment = comment_above_;
    }
    if (command->separator == "|") piped_from_ = number;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        enclose_argument(words_[i], word_begins_[i], number);
    }
    of_line_.push_back(script_.commands.size());
    for (Waiting& one : waiting_) {
        if (one.command >= number) one.command = number;
    }
    const std::string program = command->program;
    const std::size_t inner = depth < kDeepestShell ? command_in_container(*command) : 0;
    const std::size_t inner_begin =
        inner == 0 ? 0 : word_begins_[words_.size() - command->words.size() + inner];
    const std::string* script = command_text(*command);
    const std::string script_text = script != nullptr ? *script : std::string();
    script_.commands.push_back(*std::move(command));
    if (depth >= kDeepestShell) return;
    if (inner != 0) return read_inside(inner_begin, at_, false, depth);
    if (script_text.empty()) return read_told(program, depth);
    const std::vector<Word> words = words_;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].text != script_text) continue;
        const std::size_t begin = word_begins_[i] + 1;
        if (text_.substr(begin, words[i].text.size()) != words[i].text) break;
        read_inside(begin, begin + words[i].text.size(), false, depth);
        break;
    }
}

Script read_script(const Block& block, int index) { return ShellReader(block, index).read(); }

std::vector<Command> read_command_line(std::string_view line, Mark mark) {
    Block block;
    block.language = Language::kShell;
    block.line = mark.line;
    block.shifts = {mark.column == 0 ? 0 : mark.column - 1};
    block.set_text(std::string(line));
    return read_script(block, -1).commands;
}

}  // namespace aliquot::syntax
