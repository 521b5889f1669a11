// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aliquot::top {

/// What a text means to the reader; a terminal with colours shows it.
enum class Tone : std::uint8_t { kPlain, kDim, kGood, kWarn, kBad, kTitle, kCursor };

/// What can be sorted by; a column has at most one.
enum class Sort : std::uint8_t {
    kPod,
    kNamespace,
    kNode,
    kGpu,
    kShare,
    kUtilization,
    kShareUtilization,
    kMemory,
    kThrottled,
    kPower,
    kIdle,
    kAge,
    kCost,
    kPid,
    kCommand,
    kModel,
    kTemperature,
    kCpu,
    kUser,
    kNone,
};
/// "pod", "ns", "node", "gpu", "share", "util", "share-util", "memory", "throttled", "power",
/// "idle", "age", "cost", "pid", "command", "model", "temperature", "cpu", "user".
std::string_view to_text(Sort sort);
std::optional<Sort> parse_sort(std::string_view text);
std::vector<std::string_view> sort_names();
/// Names go up, amounts go down unless the user turns it round.
bool descends(Sort sort);

/// Where a column appears.
enum class Shown : std::uint8_t {
    kAlways,   // table, wide, csv
    kWide,     // wide, csv
    kCsv,      // csv only
    kTable,    // table and wide, not csv: it repeats others for a person
    kNodes,    // as kAlways, but in a table only when there are several nodes
    kDynamic,  // only on a live screen
};

struct Column {
    std::string_view title;   // "MEM/LIMIT"
    std::string_view field;   // in csv, with its unit: "memory_used_bytes"
    Sort sort = Sort::kNone;  // what sorting by it is called
    Shown shown = Shown::kAlways;
    bool right = false;     // numbers stand at the right
    bool elastic = false;   // may be cut in the middle when the screen is narrow
    unsigned least = 12;    // what it keeps then
    unsigned priority = 0;  // who leaves first when the screen is narrow: the greatest

    // The same column with one thing more.
    [[nodiscard]] Column by(Sort order) && { return with(&Column::sort, order); }
    [[nodiscard]] Column only(Shown where) && { return with(&Column::shown, where); }
    [[nodiscard]] Column at_right() && { return with(&Column::right, true); }
    [[nodiscard]] Column leaving(unsigned place) && { return with(&Column::priority, place); }
    [[nodiscard]] Column shrinking(unsigned to = 12) && {
        elastic = true;
        return with(&Column::least, to);
    }

private:
    template <class T>
    Column with(T Column::*member, T value) {
        this->*member = value;
        return *this;
    }
};

struct Cell {
    Cell() = default;
    Cell(std::string words, Tone look = Tone::kPlain)  // NOLINT(google-explicit-constructor)
        : text(std::move(words)), tone(look) {}
    Cell(std::string words, std::optional<double> value, Tone look = Tone::kPlain)
        : text(std::move(words)), number(value), tone(look), numeric(true) {}

    std::string text;
    std::optional<double> number;  // what csv prints and sorting compares, in the field's unit
    Tone tone = Tone::kPlain;
    bool numeric = false;  // a number that is not known is an empty field in csv
};

/// What a row is about: what filters look at, and where Enter leads. Texts of several things that
/// the row stands for are joined by blanks.
struct Subject {
    std::string node;
    std::string gpu;   // index
    std::string uuid;  // of the GPU
    std::string model;
    std::string pod_namespace;
    std::string pod;
    std::string container;
    std::string resource;
    std::string command;
};

struct Row {
    std::string key;  // its identity over time
    Subject subject;
    std::vector<Cell> cells;  // one for each column
    unsigned depth = 0;       // in a tree
    bool idle = false;        // what `idle only` keeps
};

struct Table {
    std::vector<Column> columns;
    std::vector<Row> rows;
    std::string empty;  // what to say when there is no row
    std::string total;  // what the rows add up to, in words; may be empty
};

}  // namespace aliquot::top
