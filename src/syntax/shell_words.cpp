// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "syntax/shell_line.h"
#include "syntax/shell_reader.h"

/// Words of a command: quotes, substitutions, redirections.
namespace aliquot::syntax {

void ShellReader::read_word(std::size_t end, int depth) {
    word_ = {};
    word_.mark = block_.place(at_);
    while (at_ < end) {
        const char c = text_[at_];
        if (is_blank(c) || is_shell_operator(c) || c == '>') return;
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

void ShellReader::read_quoted(std::size_t end, int depth) {
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
    if (quote == '"' && depth < kDeepestShell) {
        const std::string_view inside = text_.substr(begin, *close - begin);
        if (inside.find("$(") == std::string_view::npos) return;
        const std::size_t open = begin + inside.find("$(");
        const std::size_t shut = text_.rfind(')', *close);
        if (shut == std::string_view::npos || shut <= open) return;
        ShellReader inner(block_, index_);
        inner.read_range(open + 2, shut, depth + 1);
        for (Command& one : inner.script_.commands) script_.commands.push_back(std::move(one));
    }
}

/// $( ) and ` `: the text stays in the word, and what is inside is read as commands too.
void ShellReader::read_substitution(std::size_t end, int depth) {
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
    if (depth >= kDeepestShell) return;
    read_inside(open, close, false, depth);
}

void ShellReader::read_redirect(std::size_t end) {
    const bool heredoc = text_.substr(at_, 2) == "<<" && text_.substr(at_, 3) != "<<<";
    while (at_ < end && (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '-')) ++at_;
    if (at_ < end && text_[at_] == '&') {  // 2>&1
        while (at_ < end && !is_blank(text_[at_]) && text_[at_] != '\n' && text_[at_] != '|') ++at_;
        return;
    }
    while (at_ < end && is_blank(text_[at_])) ++at_;
    if (at_ >= end || is_shell_operator(text_[at_])) return;
    const std::size_t before = at_;
    read_word(end, kDeepestShell);
    if (at_ == before) ++at_;
    if (heredoc) {
        waiting_.push_back({word_.text, static_cast<int>(script_.commands.size())});
    } else {
        redirects_.push_back(std::move(word_));
    }
}

}  // namespace aliquot::syntax
