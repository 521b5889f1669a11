// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "syntax/shell_line.h"
#include "syntax/shell_reader.h"
#include "syntax/words.h"

/// What stands inside of a command: heredocs, JSON and YAML in arguments, commands in quoted words.
namespace aliquot::syntax {

void ShellReader::read_heredocs(std::size_t end) {
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

void ShellReader::enclose_argument(const Word& word, std::size_t begin, int command) {
    std::string_view text = word.text;
    // --patch ' and YAML from the next line on.
    const auto line = text.find('\n');
    if (word.quoted && line != std::string_view::npos && text.find('{') > line &&
        (line == 0 || contains(text.substr(0, line), "patch="))) {
        const std::string_view body = text.substr(line + 1);
        const std::size_t raw = text_.find('\n', begin);
        if ((body.starts_with("spec:") || body.starts_with("- op:")) &&
            raw != std::string_view::npos) {
            const bool exact = text_.substr(raw + 1, body.size()) == body;
            script_.enclosed.push_back(
                {command, Setting::kArgument, std::string(body), raw + 1, exact, false});
            return;
        }
    }
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

/// The commands between two places, as if they stood alone.
void ShellReader::read_inside(std::size_t begin, std::size_t end, bool shown, int depth) {
    ShellReader inner(block_, index_);
    inner.read_range(begin, end, depth + 1);
    const int shift = static_cast<int>(script_.commands.size());
    for (Command& one : inner.script_.commands) {
        if (one.piped_from >= 0) one.piped_from += shift;
        if (one.piped_to >= 0) one.piped_to += shift;
        one.shown = one.shown || shown;
        script_.commands.push_back(std::move(one));
    }
}

/// CMD="helm install ...", ssh host 'kubectl ...', echo "Test it: kubectl run ...".
void ShellReader::read_told(const std::string& program, int depth) {
    constexpr std::array<std::string_view, 9> kOwnWords{
        "kubectl", "helm", "docker", "jq", "grep", "awk", "sed", "python", "python3"};
    if (std::find(kOwnWords.begin(), kOwnWords.end(), program) != kOwnWords.end()) return;
    for (std::size_t i = 0; i < words_.size() && i < word_ends_.size(); ++i) {
        if (!words_[i].quoted) continue;
        const std::string_view raw = text_.substr(word_begins_[i], word_ends_[i] - word_begins_[i]);
        const auto open = raw.find_first_of("\"'");
        const auto close = raw.find_last_of("\"'");
        if (open == std::string_view::npos || close <= open) continue;
        const std::string_view inside = raw.substr(open + 1, close - open - 1);
        if (inside.find("$(") != std::string_view::npos) continue;  // read already
        const auto at = told_command(inside);
        if (at == std::string_view::npos) continue;
        const std::size_t begin = word_begins_[i] + open + 1;
        read_inside(begin + at, begin + inside.size(), prints_words(program), depth);
    }
}

}  // namespace aliquot::syntax
