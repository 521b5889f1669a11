// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/shell.h"

/// How a shell text becomes commands. Inside the reader of shell texts only.
namespace aliquot::syntax {

inline constexpr int kDeepestShell = 4;  // of $( ) and bash -c inside each other

inline bool is_shell_operator(char c) {
    return c == '|' || c == '&' || c == ';' || c == '(' || c == ')' || c == '\n';
}

/// Reads the commands of one block. Linear; any bytes.
class ShellReader {
public:
    ShellReader(const Block& block, int index) : block_(block), index_(index), text_(block.text) {}

    Script read();

private:
    /// A delimiter of a heredoc that waits for the end of its line.
    struct Waiting {
        std::string delimiter;
        int command = -1;
    };

    void read_range(std::size_t begin, std::size_t end, int depth);
    void begin_line(std::size_t end);
    bool continue_construct(std::string_view line);
    void count_constructs();
    void read_comment(std::size_t end, bool own_line);
    void read_command(std::size_t end, int depth);
    void read_word(std::size_t end, int depth);
    void read_quoted(std::size_t end, int depth);
    void read_substitution(std::size_t end, int depth);
    void read_redirect(std::size_t end);
    void read_heredocs(std::size_t end);
    void finish_command(std::string separator, int depth);
    void enclose_argument(const Word& word, std::size_t begin, int command);
    void read_told(const std::string& program, int depth);
    void read_inside(std::size_t begin, std::size_t end, bool shown, int depth);
    bool skip_continuation(std::size_t end);

    const Block& block_;
    int index_;
    std::string_view text_;
    Script script_;
    std::size_t at_ = 0;
    bool console_ = false;
    int open_ = 0;             // loops and conditions of a console block that have no end yet
    unsigned open_lines_ = 0;  // how many lines without a prompt they took

    // The command that is being read.
    std::vector<Word> words_;
    std::vector<std::size_t> word_begins_;
    std::vector<std::size_t> word_ends_;
    std::vector<Word> redirects_;
    Word word_;
    std::size_t command_begin_ = 0;
    int piped_from_ = -1;
    std::vector<Waiting> waiting_;
    std::vector<std::size_t> of_line_;  // commands of the line, for its comment
    std::string comment_above_;
    unsigned comment_above_line_ = 0;
};

}  // namespace aliquot::syntax
