// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "lint/reading.h"
#include "lint/words.h"
#include "syntax/prose_line.h"
#include "syntax/shell.h"
#include "syntax/shell_line.h"

namespace aliquot::lint {
namespace {

/// Walks the lines of a runbook once.
class Reader {
public:
    Reader(File& file, const ReadLimits& limits)
        : file_(file), limits_(limits), count_(static_cast<unsigned>(file.line_starts.size())) {}

    void read() {
        skip_front_matter();
        while (line_ <= count_ && file_.blocks.size() < limits_.blocks) {
            if (!read_fence() && !read_directive() && !read_heading() && !read_table() &&
                !read_indented() && !read_bare_commands()) {
                read_statement();
            }
        }
    }

private:
    [[nodiscard]] std::string_view text(unsigned line) const { return file_.line(line); }
    void skip_front_matter();
    bool read_fence();
    bool read_directive();
    bool read_heading();
    bool read_table();
    bool read_indented();
    bool read_bare_commands();
    void read_statement();
    void add(unsigned first, unsigned last, Setting setting, std::string_view word, unsigned fence);
    void add_heading(unsigned level, std::string_view words);
    void read_inline(const Statement& statement);
    void read_plain_image(const Statement& statement);
    [[nodiscard]] unsigned end_of_heredoc(unsigned line) const;
    [[nodiscard]] bool opens_document(unsigned line) const;
    [[nodiscard]] unsigned end_of_deeper(unsigned first, std::size_t indent) const;

    File& file_;
    const ReadLimits& limits_;
    unsigned count_;
    unsigned line_ = 1;
    int heading_ = -1;
    bool blank_above_ = true;
};

void Reader::skip_front_matter() {
    constexpr unsigned kLongest = 200;
    if (text(1) != "---") return;
    for (unsigned line = 2; line <= std::min(count_, kLongest); ++line) {
        if (text(line) == "---") {
            line_ = line + 1;
            return;
        }
    }
}

/// Adds lines `first` to `last` as a block, their common indentation taken off.
void Reader::add(unsigned first, unsigned last, Setting setting, std::string_view word,
                 unsigned fence) {
    while (first <= last && trim(text(first)).empty()) ++first;
    while (last >= first && trim(text(last)).empty()) --last;
    if (first > last) return;
    std::size_t indent = std::string_view::npos;
    for (unsigned line = first; line <= last; ++line) {
        if (!trim(text(line)).empty())
            indent = std::min(indent, syntax::quote_and_indent(text(line)));
    }
    Block block;
    block.setting = setting;
    block.word = std::string(word);
    block.line = first;
    block.fence_line = fence;
    block.heading = heading_;
    std::string content;
    for (unsigned line = first; line <= last; ++line) {
        const std::string_view whole = text(line);
        const std::size_t shift = std::min(indent, whole.size());
        content += whole.substr(shift);
        content += '\n';
        block.shifts.push_back(static_cast<unsigned>(shift));
    }
    block.set_text(std::move(content));
    block.begin = block.place(Mark{1, 1});
    block.language = syntax::language_of(word, block.text);
    add_block(file_, std::move(block), limits_, 0);
}

bool Reader::read_fence() {
    const auto fence = syntax::fence_of(text(line_), file_.kind);
    if (!fence) return false;
    const unsigned opened = line_;
    unsigned last = opened;
    bool closed = false;
    while (last < count_) {
        const std::string_view below = text(last + 1);
        if (syntax::closes(*fence, below)) {
            closed = true;
            break;
        }
        // Another fence that names a language: the end of this one was forgotten.
        const auto next = syntax::fence_of(below, file_.kind);
        if (next && next->mark == fence->mark && next->length == fence->length &&
            !next->word.empty() && syntax::language_of_word(next->word).known) {
            break;
        }
        ++last;
    }
    add(opened + 1, last, Setting::kFence, fence->word, opened);
    line_ = last + (closed ? 2 : 1);
    blank_above_ = true;
    return true;
}

/// The last line from `first` on that is indented deeper than `indent` (or blank).
unsigned Reader::end_of_deeper(unsigned first, std::size_t indent) const {
    unsigned last = first - 1;
    for (unsigned line = first; line <= count_; ++line) {
        const std::string_view one = text(line);
        if (trim(one).empty()) continue;
        if (syntax::indent_of(one) <= indent) break;
        last = line;
    }
    return last;
}

/// RST: `.. code-block:: yaml`, and a paragraph that ends in `::`.
bool Reader::read_directive() {
    if (file_.kind != FileKind::kRst) return false;
    const std::string_view whole = text(line_);
    const auto word = syntax::code_directive(whole);
    const bool literal = !word && trim(whole).ends_with("::") && !trim(whole).starts_with("..");
    if (!word && !literal) return false;
    if (literal) read_statement();
    const unsigned opened = literal ? line_ - 1 : line_;
    const std::size_t indent = syntax::indent_of(text(opened));
    unsigned first = opened + 1;
    while (first <= count_ && trim(text(first)).starts_with(":") &&
           syntax::indent_of(text(first)) > indent)
        ++first;
    const unsigned last = end_of_deeper(first, indent);
    if (last < first) {
        if (!literal) ++line_;
        return true;
    }
    add(first, last, Setting::kFence, word.value_or(""), opened);
    line_ = last + 1;
    blank_above_ = true;
    return true;
}

void Reader::add_heading(unsigned level, std::string_view words) {
    int parent = heading_;
    while (parent >= 0 && file_.headings[static_cast<std::size_t>(parent)].level >= level) {
        parent = file_.headings[static_cast<std::size_t>(parent)].parent;
    }
    heading_ = static_cast<int>(file_.headings.size());
    file_.headings.push_back({line_, level, std::string(syntax::plain(words)), parent});
    Statement statement;
    statement.kind = Statement::Kind::kHeading;
    statement.text = std::string(words);
    const std::string_view whole = text(line_);
    const auto at = whole.find(words.empty() ? whole : words);
    statement.mark = {line_, static_cast<unsigned>(at == std::string_view::npos ? 0 : at) + 1};
    statement.heading = heading_;
    file_.statements.push_back(std::move(statement));
}

bool Reader::read_heading() {
    const std::string_view whole = text(line_);
    const auto mark = syntax::heading_mark(whole, file_.kind);
    if (mark) {
        add_heading(mark->level, mark->words);
        ++line_;
        blank_above_ = true;
        return true;
    }
    if (line_ >= count_ || trim(whole).empty()) return false;
    const auto level = syntax::underline_level(whole, text(line_ + 1), file_.kind);
    if (!level) return false;
    add_heading(*level, trim(whole));
    line_ += 2;
    blank_above_ = true;
    return true;
}

bool Reader::read_table() {
    if (!syntax::is_table_row(text(line_)) || line_ >= count_ ||
        !syntax::is_table_rule(text(line_ + 1)))
        return false;
    Table table;
    table.heading = heading_;
    for (; line_ <= count_ && syntax::is_table_row(text(line_)); ++line_) {
        const std::string_view whole = text(line_);
        if (syntax::is_table_rule(whole)) continue;
        table.rows.push_back(syntax::cells_of(whole, line_));
        Statement statement;
        statement.kind = Statement::Kind::kTableRow;
        statement.text = std::string(trim(whole));
        statement.mark = {line_, static_cast<unsigned>(syntax::indent_of(whole)) + 1};
        statement.heading = heading_;
        read_inline(statement);
        file_.statements.push_back(std::move(statement));
    }
    file_.tables.push_back(std::move(table));
    return true;
}

/// The line that ends the heredoc which begins on this one; `line` itself when none does.
unsigned Reader::end_of_heredoc(unsigned line) const {
    constexpr unsigned kLongest = 500;
    const std::string delimiter = syntax::heredoc_delimiter(text(line));
    if (delimiter.empty()) return line;
    for (unsigned end = line + 1; end <= std::min(count_, line + kLongest); ++end) {
        if (trim(text(end)) == delimiter) return end;
        if (syntax::fence_of(text(end), file_.kind)) break;
    }
    return line;
}

/// cat <<EOF | kubectl apply -f -
bool Reader::opens_document(unsigned line) const {
    std::string_view words = trim(text(line));
    if (words.starts_with("sudo ")) words.remove_prefix(5);
    return (words.starts_with("cat <") || words.starts_with("cat >") ||
            words.starts_with("tee ")) &&
           end_of_heredoc(line) > line;
}

/// A block that nothing marks but its indentation or its look.
bool Reader::read_indented() {
    const std::string_view whole = text(line_);
    if (trim(whole).empty() || !blank_above_) return false;
    const std::size_t indent = syntax::indent_of(whole);
    const bool text_file = file_.kind == FileKind::kText;
    if (indent < 4 && !text_file && whole.front() != '\t') {
        if (syntax::prompt_length(whole) == 0 && !whole.starts_with("apiVersion:")) return false;
    }
    // distribution=$(. /etc/os-release; ...) \ of a longer command
    const auto substitution = trim(whole).find("=$(");
    const bool command = syntax::looks_like_command(whole) || syntax::prompt_length(whole) > 0 ||
                         (indent >= 4 && substitution != std::string_view::npos &&
                          substitution < trim(whole).find_first_of(" \t:\"'"));
    const bool object = syntax::begins_like_yaml(trim(whole));
    const bool query = indent >= 4 && syntax::is_query(trim(whole));
    if (!command && !object && !query) return false;
    unsigned last = command ? end_of_heredoc(line_) : line_;
    for (unsigned line = last + 1; line <= count_; ++line) {
        const std::string_view one = text(line);
        if (trim(one).empty()) {
            if (command || query) break;
            if (line < count_ && syntax::indent_of(text(line + 1)) <= indent &&
                !syntax::begins_like_yaml(trim(text(line + 1))))
                break;
            continue;
        }
        if (syntax::indent_of(one) < indent || syntax::fence_of(one, file_.kind)) break;
        if (object && syntax::indent_of(one) == indent && !syntax::begins_like_yaml(trim(one)))
            break;
        if (command) line = end_of_heredoc(line);
        last = line;
    }
    add(line_, last, Setting::kIndented, query && !command && !object ? "promql" : "", 0);
    line_ = last + 1;
    return true;
}

/// Commands that stand among the words, neither fenced nor indented.
bool Reader::read_bare_commands() {
    if (!syntax::is_surely_command(text(line_)) && !opens_document(line_)) return false;
    unsigned last = end_of_heredoc(line_);
    while (last < count_) {
        const std::string_view next = text(last + 1);
        if (trim(next).empty() || syntax::fence_of(next, file_.kind)) break;
        if (!trim(text(last)).ends_with("\\") && !syntax::is_surely_command(next) &&
            !opens_document(last + 1)) {
            break;
        }
        last = end_of_heredoc(last + 1);
    }
    add(line_, last, Setting::kIndented, "bash", 0);
    line_ = last + 1;
    return true;
}

/// Commands and the like between backticks.
void Reader::read_inline(const Statement& statement) {
    const std::string_view words = statement.text;
    for (std::size_t at = 0; (at = words.find('`', at)) != std::string_view::npos;) {
        std::size_t open = at;
        while (open < words.size() && words[open] == '`') ++open;
        const std::size_t ticks = open - at;
        const std::size_t close = words.find(words.substr(at, ticks), open);
        if (close == std::string_view::npos) return;
        const std::string_view code = words.substr(open, close - open);
        at = close + ticks;
        const Mark mark{statement.mark.line, statement.mark.column + static_cast<unsigned>(open)};
        if (syntax::looks_like_command(code) && file_.commands.size() < limits_.commands) {
            std::vector<Command> commands = syntax::read_command_line(code, mark);
            for (Command& command : commands) command.heading = statement.heading;
            add_commands(file_, std::move(commands), limits_.commands);
            continue;
        }
        constexpr std::size_t kMostQueries = 20'000;
        if (syntax::is_query(code) && file_.expressions.size() < kMostQueries) {
            const syntax::QueryPlace place = [mark](std::size_t offset) {
                return Mark{mark.line, mark.column + static_cast<unsigned>(offset)};
            };
            Expression expression = syntax::cut_query(code, Expression::Source::kInline, place);
            expression.mark = mark;
            expression.heading = statement.heading;
            file_.expressions.push_back(std::move(expression));
            continue;
        }
        const Image image = read_image(code);
        if (!image.repository.empty() && !image.tag.empty() &&
            image.repository.find('/') != std::string::npos && !contains(code, "://") &&
            !code.starts_with("/") && !code.starts_with(".")) {
            file_.images.push_back(image);
            file_.images.back().source = Image::Source::kStatement;
            file_.images.back().mark = mark;
        }
    }
}

/// `nvidia/cuda:12.0-base` as a line of its own, or between words, without backticks.
void Reader::read_plain_image(const Statement& statement) {
    constexpr std::string_view kName = "nvidia/cuda:";
    const std::string_view words = statement.text;
    if (words.find('`') != std::string_view::npos) return;
    const auto at = words.find(kName);
    if (at == std::string_view::npos) return;
    const std::size_t begin = words.substr(0, at).rfind(' ') + 1;  // 0 of npos
    const std::size_t end = std::min(words.find_first_of(" ,;()\"'|<>", begin), words.size());
    Image image = read_image(words.substr(begin, end - begin));
    if (image.repository != "nvidia/cuda" || image.tag.empty() || image.tag.ends_with(".")) return;
    image.source = Image::Source::kStatement;
    image.mark = {statement.mark.line, statement.mark.column + static_cast<unsigned>(begin)};
    file_.images.push_back(std::move(image));
}

void Reader::read_statement() {
    const std::string_view whole = text(line_);
    blank_above_ = trim(whole).empty();
    if (!blank_above_) {
        Statement statement;
        const std::size_t begin = syntax::begin_of_words(whole, statement.kind);
        statement.text = std::string(trim(whole.substr(begin)));
        statement.mark = {line_, static_cast<unsigned>(begin) + 1};
        statement.heading = heading_;
        read_inline(statement);
        read_plain_image(statement);
        if (!statement.text.empty()) file_.statements.push_back(std::move(statement));
    }
    ++line_;
}

}  // namespace

void read_prose(File& file, const ReadLimits& limits) { Reader(file, limits).read(); }

}  // namespace aliquot::lint
