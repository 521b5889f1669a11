// SPDX-License-Identifier: Apache-2.0
#include "top/sorting.h"

#include <algorithm>
#include <array>

namespace aliquot::top {
namespace {

struct Letter {
    char letter;
    Sort sort;
};
// Of a letter with several columns the first that the table has.
constexpr std::array<Letter, 12> kLetters{{{'N', Sort::kPod},
                                           {'N', Sort::kCommand},
                                           {'N', Sort::kModel},
                                           {'N', Sort::kNode},
                                           {'U', Sort::kUtilization},
                                           {'M', Sort::kMemory},
                                           {'W', Sort::kPower},
                                           {'I', Sort::kIdle},
                                           {'A', Sort::kAge},
                                           {'T', Sort::kTemperature},
                                           {'C', Sort::kCost},
                                           {'C', Sort::kCpu}}};

/// The columns that can be sorted by and are in the table.
std::vector<Sort> sorts_of(const Table& table, Kind kind) {
    if (kind == Kind::kTree)
        return {Sort::kPod,
                Sort::kNamespace,
                Sort::kShare,
                Sort::kUtilization,
                Sort::kShareUtilization,
                Sort::kMemory,
                Sort::kPower,
                Sort::kIdle,
                Sort::kAge};
    std::vector<Sort> sorts;
    for (const Column& column : table.columns) {
        if (column.sort != Sort::kNone) sorts.push_back(column.sort);
    }
    return sorts;
}

}  // namespace

void sort_by(UiState& ui, Sort sort) {
    if (ui.view.sort.value_or(usual_sort(ui.view.kind)) == sort) {
        ui.view.reverse = !ui.view.reverse;
        return;
    }
    ui.view.sort = sort;
    ui.view.reverse = false;
}

void sort_by_next(UiState& ui, const Table& table, Direction direction) {
    const bool forward = direction == Direction::kForward;
    const std::vector<Sort> sorts = sorts_of(table, ui.view.kind);
    if (sorts.empty()) return;
    const Sort now = ui.view.sort.value_or(usual_sort(ui.view.kind));
    const auto found = std::ranges::find(sorts, now);
    std::size_t place = 0;
    if (found != sorts.end()) {
        place = static_cast<std::size_t>(found - sorts.begin());
        place = (place + (forward ? 1 : sorts.size() - 1)) % sorts.size();
    }
    ui.view.sort = sorts[place];
    ui.view.reverse = false;
}

void sort_by_letter(UiState& ui, const Table& table, char letter) {
    const std::vector<Sort> sorts = sorts_of(table, ui.view.kind);
    for (const Letter& each : kLetters) {
        if (each.letter != letter || std::ranges::find(sorts, each.sort) == sorts.end()) continue;
        return sort_by(ui, each.sort);
    }
}

}  // namespace aliquot::top
