// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/command.h"

/// What the words of one command line mean. Inside src/syntax only.
namespace aliquot::syntax {

/// Whether lines of the text begin with "$ ", "user@host:~# " and the like.
bool has_prompts(std::string_view text);
/// Bytes of the prompt that a line begins with; 0: none.
std::size_t prompt_length(std::string_view line);
/// In a block of a console a "# " before a program is one too.
std::size_t console_prompt_length(std::string_view line);

/// Takes assignments, keywords and wrappers (sudo, time, microk8s) off; empty when nothing is left.
std::optional<Command> make_command(const std::vector<Word>& words);

/// The text of `bash -c TEXT`; nullptr for any other command.
const std::string* command_text(const Command& command);

/// The word of nvidia-smi behind `kubectl exec POD --` and `docker exec NAME`; 0: none.
std::size_t command_in_container(const Command& command);
/// Where a command begins in a quoted word that is printed, kept or passed on; npos: nowhere.
std::size_t told_command(std::string_view words);
/// Whether a program prints its words: echo, log_info, print_step.
bool prints_words(std::string_view program);

/// A quote or bracket that is not closed within is none.
constexpr std::size_t kLongestQuote = 32'768;

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Where the quote that stands before `from` is closed.
std::optional<std::size_t> closing_quote(std::string_view text, std::size_t from, std::size_t end);

/// `<node-name>` of a manual, which begins at `at`: one past its end.
std::optional<std::size_t> end_of_placeholder(std::string_view text, std::size_t at,
                                              std::size_t end);

/// Continued lines joined by one blank.
std::string joined_lines(std::string_view text);

/// Whether a line begins with a program that runbooks of this field use.
bool looks_like_command(std::string_view line);

}  // namespace aliquot::syntax
