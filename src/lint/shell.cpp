// SPDX-License-Identifier: Apache-2.0
#include "lint/shell.h"

#include <algorithm>
#include <array>
#include <optional>

#include "lint/shell_line.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

constexpr int kDeepest = 4;  // of $( ) and bash -c inside each other
constexpr std::size_t kMostCommands = 100'000;

bool is_operator(char c) {
    return c == '|' || c == '&' || c == ';' || c == '(' || c == ')' || c == '\n';
}

/// A delimiter of a heredoc that waits for the end of its line.
struct Waiting {
    std::string delimiter;
    int command = -1;
};

class Reader {
public:
    Reader(const Block& block, int index) : block_(block), index_(index), text_(block.text) {}

    Script read() {
        console_ = has_prompts(text_);
        read_range(0, text_.size(), 0);
        return std::move(script_);
    }

private:
    void read_range(std::size_t begin, std::size_t end, int depth);
    void begin_line(std::size_t end);
    void read_comment(std::size_t end, bool own_line);
    void read_command(std::size_t end, int depth);
    void read_word(std::size_t end, int depth);
    void read_quoted(std::size_t end, int depth);
    void read_substitution(std::size_t end, int depth);
    void read_redirect(std::size_t end);
    void read_heredocs(std::size_t end);
    void finish_command(std::string separator, int depth);
    void enclose_argument(const Word& word, std::size_t begin, int command);
    bool skip_continuation(std::size_t end);

    const Block& block_;
    int index_;
    std::string_view text_;
    Script script_;
    std::size_t at_ = 0;
    bool console_ = false;

    // The command that is being read.
    std::vector<Word> words_;
    std::vector<std::size_t> word_begins_;
    std::vector<Word> redirects_;
    Word word_;
    bool in_word_ = false;
    std::size_t command_begin_ = 0;
    int piped_from_ = -1;
    std::vector<Waiting> waiting_;
    std::vector<std::size_t> of_line_;  // commands of the line, for its comment
    std::string comment_above_;
    unsigned comment_above_line_ = 0;
};

void Reader::read_range(std::size_t begin, std::size_t end, int depth) {
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
        } else if (is_blank(c) || is_operator(c)) {
            ++at_;
        } else if (c == '#') {
            read_comment(end, false);
        } else {
            read_command(end, depth);
        }
    }
}

/// Takes prompts off; in a console block lines without one are output.
void Reader::begin_line(std::size_t end) {
    const std::size_t newline = std::min(text_.find('\n', at_), end);
    const std::string_view line = text_.substr(at_, newline - at_);
    const std::size_t prompt = prompt_length(line, console_);
    if (prompt > 0) {
        at_ += prompt;
        return;
    }
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] == '#') {
        at_ += first;
        read_comment(end, true);
        return;
    }
    if (console_) at_ = newline;
}

void Reader::read_comment(std::size_t end, bool own_line) {
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

bool Reader::skip_continuation(std::size_t end) {
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

void Reader::read_command(std::size_t end, int depth) {
    words_.clear();
    word_begins_.clear();
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
        } else if (is_operator(c)) {
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
        }
    }
    finish_command("", depth);
}

void Reader::read_word(std::size_t end, int depth) {
    word_ = {};
    word_.mark = block_.place(at_);
    while (at_ < end) {
        const char c = text_[at_];
        if (is_blank(c) || is_operator(c) || c == '>') return;
        if (c == '<') {
            const auto past = end_of_placeholder(text_, at_, end);
            if (!past) return;
            word_.text += text_.substr(at_, *past - at_);
            at_ = *past;
        } else if (c == '\'' || c == '"') {
            read_quoted(end, depth);
        } else if (c == '\\') {
            if (at_ + 1 >= end || text_[at_ + 1] == '\n') return;
            std::size_t next = at_ + 1;
            while (next < end && is_blank(text_[next])) ++next;
            if (next < end && text_[next] == '\n') return;  // blanks behind the backslash
            word_.text += text_[at_ + 1];
            at_ += 2;
        } else if (c == '`' || (c == '$' && at_ + 1 < end && text_[at_ + 1] == '(')) {
            read_substitution(end, depth);
        } else if (c == '$' && at_ + 1 < end && text_[at_ + 1] == '{') {
            const std::size_t limit = std::min(end, at_ + kLongestQuote);
            const std::size_t close = text_.substr(0, limit).find('}', at_);
            const std::size_t past = close == std::string_view::npos ? at_ + 2 : close + 1;
            word_.text += text_.substr(at_, past - at_);
            at_ = past;
        } else {
            word_.text += c;
            ++at_;
        }
    }
}

void Reader::read_quoted(std::size_t end, int depth) {
    const char quote = text_[at_];
    const auto close = closing_quote(text_, at_ + 1, end);
    if (!close) {  // an apostrophe
        word_.text += quote;
        ++at_;
        return;
    }
    word_.quoted = true;
    for (std::size_t i = at_ + 1; i < *close; ++i) {
        if (quote == '"' && text_[i] == '\\' && i + 1 < *close) {
            ++i;
            if (text_[i] == '\n') continue;
            constexpr std::string_view kEscaped = "\"\\$`";
            if (kEscaped.find(text_[i]) == std::string_view::npos) word_.text += '\\';
        }
        word_.text += text_[i];
    }
    const std::size_t begin = at_ + 1;
    at_ = *close + 1;
    if (quote == '"' && depth < kDeepest) {
        const std::string_view inside = text_.substr(begin, *close - begin);
        if (inside.find("$(") == std::string_view::npos) return;
        const std::size_t open = begin + inside.find("$(");
        const std::size_t shut = text_.rfind(')', *close);
        if (shut == std::string_view::npos || shut <= open) return;
        Reader inner(block_, index_);
        inner.read_range(open + 2, shut, depth + 1);
        for (Command& one : inner.script_.commands) script_.commands.push_back(std::move(one));
    }
}

/// $( ) and ` `: the text stays in the word, and what is inside is read as commands too.
void Reader::read_substitution(std::size_t end, int depth) {
    std::size_t open = at_ + 1;
    std::size_t close = std::string_view::npos;
    const std::size_t limit = std::min(end, at_ + kLongestQuote);
    if (text_[at_] == '`') {
        close = text_.substr(0, limit).find('`', open);
    } else {
        ++open;
        int level = 1;
        for (std::size_t i = open; i < limit; ++i) {
            if (text_[i] == '(') ++level;
            if (text_[i] == ')' && --level == 0) {
                close = i;
                break;
            }
        }
    }
    if (close == std::string_view::npos || close >= end) {
        word_.text += text_[at_++];
        return;
    }
    word_.text += text_.substr(at_, close + 1 - at_);
    at_ = close + 1;
    if (depth >= kDeepest) return;
    Reader inner(block_, index_);
    inner.read_range(open, close, depth + 1);
    const int shift = static_cast<int>(script_.commands.size());
    for (Command& one : inner.script_.commands) {
        if (one.piped_from >= 0) one.piped_from += shift;
        if (one.piped_to >= 0) one.piped_to += shift;
        script_.commands.push_back(std::move(one));
    }
}

void Reader::read_redirect(std::size_t end) {
    const bool heredoc = text_.substr(at_, 2) == "<<" && text_.substr(at_, 3) != "<<<";
    while (at_ < end && (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '-')) ++at_;
    if (at_ < end && text_[at_] == '&') {  // 2>&1
        while (at_ < end && !is_blank(text_[at_]) && text_[at_] != '\n' && text_[at_] != '|') ++at_;
        return;
    }
    while (at_ < end && is_blank(text_[at_])) ++at_;
    if (at_ >= end || is_operator(text_[at_])) return;
    const std::size_t before = at_;
    read_word(end, kDeepest);
    if (at_ == before) ++at_;
    if (heredoc) {
        waiting_.push_back({word_.text, static_cast<int>(script_.commands.size())});
    } else {
        redirects_.push_back(std::move(word_));
    }
}

void Reader::read_heredocs(std::size_t end) {
    for (const Waiting& one : waiting_) {
        const std::size_t begin = at_;
        std::size_t stop = end;
        while (at_ < end) {
            const std::size_t newline = std::min(text_.find('\n', at_), end);
            const std::string_view line = text_.substr(at_, newline - at_);
            const std::size_t line_begin = at_;
            at_ = std::min(newline + 1, end);
            if (trim(line) == one.delimiter) {
                stop = line_begin;
                break;
            }
        }
        stop = std::min(stop, end);
        if (stop <= begin) continue;
        script_.enclosed.push_back({one.command, Setting::kHeredoc,
                                    std::string(text_.substr(begin, stop - begin)), begin, true,
                                    false});
    }
    waiting_.clear();
}

void Reader::enclose_argument(const Word& word, std::size_t begin, int command) {
    std::string_view text = word.text;
    const auto brace = text.find('{');
    if (!word.quoted || brace == std::string_view::npos || text.size() < 4) return;
    const std::string_view before = text.substr(0, brace);
    if (!before.empty() && before.find('=') == std::string_view::npos && trim(before) != "[")
        return;
    if (!before.empty() && before.find("overrides") == std::string_view::npos &&
        before.find("patch") == std::string_view::npos) {
        return;
    }
    text = text.substr(brace);
    const std::size_t raw = text_.find('{', begin);
    if (raw == std::string_view::npos) return;
    const bool exact = text_.substr(raw, text.size()) == text;
    script_.enclosed.push_back({command, Setting::kArgument, std::string(text), raw, exact, true});
}

void Reader::finish_command(std::string separator, int depth) {
    const int from = piped_from_;
    piped_from_ = -1;
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
    const std::string* script = command_text(*command);
    script_.commands.push_back(*std::move(command));
    if (script != nullptr && depth < kDeepest) {
        const std::vector<Word> words = words_;
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (words[i].text != *script) continue;
            const std::size_t begin = word_begins_[i] + 1;
            if (text_.substr(begin, words[i].text.size()) != words[i].text) break;
            Reader inner(block_, index_);
            inner.read_range(begin, begin + words[i].text.size(), depth + 1);
            for (Command& one : inner.script_.commands) {
                one.piped_from = one.piped_to = -1;
                script_.commands.push_back(std::move(one));
            }
            break;
        }
    }
}

}  // namespace

Script read_script(const Block& block, int index) { return Reader(block, index).read(); }

}  // namespace aliquot::lint
