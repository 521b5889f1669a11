// SPDX-License-Identifier: Apache-2.0
#include "exposition/counter_list.h"

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "base/text.h"

namespace aliquot::exposition {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U;
constexpr unsigned kMostLines = 4096;
constexpr std::size_t kMostWarnings = 64;
constexpr std::array<std::string_view, 2> kVersionLabels{"DCGM_FI_DRIVER_VERSION",
                                                         "DCGM_FI_SYSTEM_DRIVER_VERSION"};
constexpr std::array<std::string_view, 6> kTypes{"gauge",     "counter", "label",
                                                 "histogram", "summary", "untyped"};

/// One cell of a line and where it starts, from 1.
struct Cell {
    std::string text;
    unsigned column = 1;
};

template <class Words>
bool among(std::string_view word, const Words& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool takes_part(Group group) { return group == Group::kClassic || group == Group::kRenamed; }

/// All names that a list may hold, for "did you mean".
std::vector<std::string_view> known_names() {
    std::vector<std::string_view> names(kVersionLabels.begin(), kVersionLabels.end());
    for (const Family& family : families()) {
        if (!takes_part(family.group)) continue;
        names.push_back(family.name);
        if (!family.old.empty()) names.push_back(family.old);
    }
    for (const Withheld& one : withheld()) {
        names.push_back(one.name);
        if (!one.old.empty()) names.push_back(one.old);
    }
    return names;
}

const Family* family_of(std::string_view name) {
    for (const Family& family : families()) {
        if (takes_part(family.group) && (family.name == name || family.old == name)) return &family;
    }
    return nullptr;
}

const Withheld* withheld_of(std::string_view name) {
    for (const Withheld& one : withheld()) {
        if (one.name == name || (!name.empty() && one.old == name)) return &one;
    }
    return nullptr;
}

class Reader {
public:
    explicit Reader(std::string_view file) : file_(file) {}

    /// errors   kInvalidInput
    Result<Done> read(std::string_view line) {
        ++line_;
        if (line_ > kMostLines) {
            return refuse(1, "more than " + std::to_string(kMostLines) + " lines");
        }
        const auto start = std::find_if_not(line.begin(), line.end(), is_blank);
        if (start == line.end() || *start == '#') return Done{};
        auto cells = split(line);
        if (!cells) return std::move(cells).error();
        if (cells->size() != 3) {
            return refuse(1, std::to_string(cells->size()) +
                                 " columns, expected 3: FIELD, type, help (a help with commas "
                                 "stands in double quotes)");
        }
        return take((*cells)[0], (*cells)[1], (*cells)[2]);
    }

    CounterList finish() && { return std::move(list_); }

private:
    [[nodiscard]] std::string at(unsigned column) const {
        return std::string(file_) + ':' + std::to_string(line_) + ':' + std::to_string(column) +
               ": ";
    }
    [[nodiscard]] Error refuse(unsigned column, const std::string& message) const {
        return {ErrorCode::kInvalidInput, at(column) + message};
    }
    void warn(unsigned column, const std::string& message) {
        if (list_.warnings.size() < kMostWarnings) list_.warnings.push_back(at(column) + message);
    }

    /// Cells of one line; a cell in double quotes may hold commas, and "" for a quote.
    [[nodiscard]] Result<std::vector<Cell>> split(std::string_view line) const {
        std::vector<Cell> cells;
        std::size_t at_byte = 0;
        for (bool more = true; more;) {
            while (at_byte < line.size() && is_blank(line[at_byte])) ++at_byte;
            Cell cell{{}, static_cast<unsigned>(at_byte + 1)};
            if (at_byte < line.size() && line[at_byte] == '"') {
                bool closed = false;
                for (++at_byte; at_byte < line.size() && !closed; ++at_byte) {
                    if (line[at_byte] != '"') {
                        cell.text += line[at_byte];
                    } else if (at_byte + 1 < line.size() && line[at_byte + 1] == '"') {
                        cell.text += line[++at_byte];
                    } else {
                        closed = true;
                    }
                }
                if (!closed) return refuse(cell.column, "the quote is not closed");
            }
            const auto end = std::min(line.find(',', at_byte), line.size());
            cell.text += line.substr(at_byte, end - at_byte);
            cell.text = trim(cell.text);
            cells.push_back(std::move(cell));
            more = end < line.size();
            at_byte = end + 1;
        }
        return cells;
    }

    Result<Done> take(const Cell& field, const Cell& type, const Cell& help) {
        if (!among(type.text, kTypes)) {
            return refuse(type.column, field.text + ": type '" + type.text +
                                           "': expected gauge, counter, label, histogram, summary "
                                           "or untyped");
        }
        if (type.text == "label") return take_label(field);
        const Family* family = family_of(field.text);
        if (family == nullptr) return take_other(field);
        for (const Counter& counter : list_.counters) {
            if (counter.name == field.text) {
                warn(field.column, field.text + " stands twice: the first line counts");
                return Done{};
            }
        }
        list_.counters.push_back({family, field.text, type.text, help.text});
        return Done{};
    }

    Result<Done> take_label(const Cell& field) {
        if (!among(field.text, kVersionLabels)) {
            if (family_of(field.text) == nullptr) return take_other(field);
            warn(field.column, field.text + " has a number, not a text: it cannot be a label");
        } else if (!among(field.text, list_.labels)) {
            list_.labels.push_back(field.text);
        }
        return Done{};
    }

    Result<Done> take_other(const Cell& field) {
        if (const Withheld* known = withheld_of(field.text)) {
            warn(field.column, field.text + " has no rows here: " + std::string(known->why));
            return Done{};
        }
        if (among(field.text, kVersionLabels)) {
            warn(field.column, field.text + " is a text: it can only be of type label");
            return Done{};
        }
        const auto names = known_names();
        const std::string_view nearest = nearest_word(field.text, names);
        return refuse(
            field.column,
            "unknown field '" + field.text + '\'' +
                (nearest.empty() ? std::string() : ": did you mean " + std::string(nearest) + '?'));
    }

    std::string_view file_;
    unsigned line_ = 0;
    CounterList list_;
};

}  // namespace

Result<CounterList> parse_counters(std::string_view file, std::string_view text) {
    if (text.size() > kMostBytes) {
        return Error{ErrorCode::kInvalidInput,
                     std::string(file) + ": " + std::to_string(text.size()) +
                         " bytes, expected a list of counters of 1 MiB at most"};
    }
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    Reader reader(file);
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        auto done = reader.read(text.substr(0, end));
        if (!done) return std::move(done).error();
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(reader).finish();
}

}  // namespace aliquot::exposition
