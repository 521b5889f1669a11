// SPDX-License-Identifier: Apache-2.0
#include "top/control.h"

#include <algorithm>

#include "top/actions.h"
#include "top/sorting.h"

namespace aliquot::top {
namespace {

constexpr std::size_t kLongestFilter = 80;
constexpr std::ptrdiff_t kScrolled = 3;  // rows for a step of the mouse's wheel

void move(UiState& ui, const Table& table, std::ptrdiff_t by) {
    if (table.rows.empty()) return;
    const auto last = static_cast<std::ptrdiff_t>(table.rows.size()) - 1;
    const auto to =
        std::clamp(static_cast<std::ptrdiff_t>(cursor_of(table, ui)) + by, std::ptrdiff_t{0}, last);
    ui.cursor = table.rows[static_cast<std::size_t>(to)].key;
}

void go(UiState& ui, View to) {
    if (ui.back.size() == UiState::kMostBack) ui.back.erase(ui.back.begin());
    ui.back.push_back(ui.view);
    to.filter = ui.view.filter;
    to.remainders = ui.view.remainders;
    ui.view = std::move(to);
    ui.cursor.clear();
    ui.top = 0;
}

/// To a view of everything; again to where one came from.
void toggle(UiState& ui, Kind kind) {
    if (ui.view.kind == kind && ui.view.scope.title.empty()) {
        if (ui.back.empty()) return;
        View before = std::move(ui.back.back());
        ui.back.pop_back();
        before.filter = ui.view.filter;
        ui.view = std::move(before);
        ui.top = 0;
        return;
    }
    go(ui, {.kind = kind});
}

/// The name of what a key of history.h stands for.
std::string title_of(const Row& row, const ClusterSnapshot& cluster, Kind kind) {
    const std::string node = shown(row.subject.node);
    switch (kind) {
        case Kind::kNodes:
            return shown(row.cells.front().text);
        case Kind::kGpus:
            return "GPU " + row.subject.gpu + (cluster.agents.size() > 1 ? " of " + node : "");
        default:
            return row.subject.pod_namespace.empty()
                       ? shown(row.subject.pod)
                       : shown(row.subject.pod_namespace + "/" + row.subject.pod);
    }
}

void open(UiState& ui, const Table& table, const ClusterSnapshot& cluster) {
    if (table.rows.empty()) return;
    const Row& row = table.rows[cursor_of(table, ui)];
    const std::string& key = row.key;
    // A row's key says what it is: n/ a node, g/UUID a GPU, longer ones a tenant.
    const auto slashes = std::ranges::count(key, '/');
    Scope scope;
    if (key.starts_with("n/")) {
        if (slashes > 1) return;  // trouble of the node
        scope = {.node = key, .title = title_of(row, cluster, Kind::kNodes)};
        return go(ui, {.kind = Kind::kGpus, .scope = scope});
    }
    if (!key.starts_with("g/")) return;
    const bool process = key.find("/pid ") != std::string::npos;
    if (process || key.ends_with("/rest")) return;
    if (slashes >= 3 && !row.subject.pod.empty()) {
        scope = {.tenant = key, .title = title_of(row, cluster, Kind::kPods)};
        // The strip above shows its GPU only.
        scope.gpu = key.substr(0, key.find('/', 2));
        return go(ui, {.kind = Kind::kProcesses, .scope = scope});
    }
    scope = {.gpu = key.substr(0, key.find('/', 2)), .title = title_of(row, cluster, Kind::kGpus)};
    go(ui, {.kind = Kind::kPods, .scope = scope});
}

void step_back(UiState& ui) {
    if (!ui.back.empty()) {
        View before = std::move(ui.back.back());
        ui.back.pop_back();
        // The filter is the user's, not the view's.
        before.filter = ui.view.filter;
        const Scope came_from = ui.view.scope;
        ui.view = std::move(before);
        ui.top = 0;
        ui.cursor = !came_from.tenant.empty() ? came_from.tenant
                    : !came_from.gpu.empty()  ? came_from.gpu
                                              : came_from.node;
        return;
    }
    View up{.filter = ui.view.filter, .remainders = ui.view.remainders};
    switch (ui.view.kind) {
        case Kind::kNodes:
            return;
        case Kind::kGpus:
            up.kind = Kind::kNodes;
            break;
        case Kind::kPods:
            up.kind = Kind::kGpus;
            break;
        default:
            up.kind = Kind::kPods;
            break;
    }
    ui.view = std::move(up);
    ui.cursor.clear();
    ui.top = 0;
}

void apply_filter(UiState& ui) {
    auto filter = Filter::parse(ui.filter_text);
    if (filter) {
        ui.view.filter = *std::move(filter);
    } else if (!ui.typing) {
        ui.message = filter.error().message;
    }
}

void type(UiState& ui, const Key& key) {
    switch (key.name) {
        case Named::kCharacter:
            if (ui.filter_text.size() < kLongestFilter) ui.filter_text += key.character;
            break;
        case Named::kBackspace:
            if (!ui.filter_text.empty()) ui.filter_text.pop_back();
            break;
        case Named::kDeleteLine:
            ui.filter_text.clear();
            break;
        case Named::kEscape:
            ui.filter_text.clear();
            ui.typing = false;
            break;
        case Named::kEnter:
            ui.typing = false;
            break;
        default:
            return;
    }
    apply_filter(ui);
}

void press_character(UiState& ui, char c, const Table& table, const ClusterSnapshot& cluster) {
    switch (c) {
        case 'q':
            ui.quit = true;
            break;
        case '+':
        case '-':
            return change_interval(ui, c == '+' ? Pace::kFaster : Pace::kSlower);
        case 'G':
            ui.graph = !ui.graph;
            break;
        case 'K':
        case 'L':
            return ask_for(ui, table, cluster, c == 'K' ? Wanted::kEnd : Wanted::kLog);
        case 's':
        case 'S':
            sort_by_next(ui, table, c == 's' ? Direction::kForward : Direction::kBackward);
            break;
        case 'r':
            ui.view.reverse = !ui.view.reverse;
            break;
        case '/':
            ui.typing = true;
            break;
        case 'i':
            ui.view.idle_only = !ui.view.idle_only;
            break;
        case 'a':
            ui.view.remainders =
                ui.view.remainders == Remainders::kShown ? Remainders::kHidden : Remainders::kShown;
            break;
        case 'n':
            return toggle(ui, Kind::kNodes);
        case 'g':
            return toggle(ui, Kind::kGpus);
        case 'p':
            return toggle(ui, Kind::kPods);
        case 'P':
            return toggle(ui, Kind::kProcesses);
        case 't':
            return toggle(ui, Kind::kTree);
        case 'w':
            return toggle(ui, Kind::kWaste);
        case 'x':
            return toggle(ui, Kind::kErrors);
        case ' ':
            ui.paused = !ui.paused;
            break;
        case '?':
        case 'h':
            ui.help = true;
            break;
        case 'k':
            return move(ui, table, -1);
        case 'j':
            return move(ui, table, 1);
        case 'l':
            return open(ui, table, cluster);
        default:
            return sort_by_letter(ui, table, c);
    }
}

/// A row: the cursor goes there, and a second time opens it. A title: sorts by its column.
void click(UiState& ui, const Key& at, const Table& table, const ClusterSnapshot& cluster,
           const Screen& screen) {
    if (screen.heading == at.line) {
        const auto title = std::ranges::find_if(screen.titles, [&](const Screen::Title& each) {
            return at.column >= each.begin && at.column < each.end;
        });
        if (title != screen.titles.end()) sort_by(ui, title->sort);
        return;
    }
    if (!screen.first || at.line < *screen.first || at.line >= *screen.first + screen.rows) return;
    const std::size_t row = ui.top + at.line - *screen.first;
    if (row >= table.rows.size()) return;
    if (ui.cursor == table.rows[row].key) return open(ui, table, cluster);
    ui.cursor = table.rows[row].key;
}

void press_cursor(UiState& ui, const Key& key, const Table& table, const ClusterSnapshot& cluster,
                  const Screen& screen) {
    const auto far = static_cast<std::ptrdiff_t>(std::max<std::size_t>(screen.rows, 1));
    const auto all = static_cast<std::ptrdiff_t>(table.rows.size());
    switch (key.name) {
        case Named::kUp:
            return move(ui, table, -1);
        case Named::kDown:
            return move(ui, table, 1);
        case Named::kScrollUp:
            return move(ui, table, -kScrolled);
        case Named::kScrollDown:
            return move(ui, table, kScrolled);
        case Named::kClick:
            return click(ui, key, table, cluster, screen);
        case Named::kPageUp:
            return move(ui, table, -far);
        case Named::kPageDown:
            return move(ui, table, far);
        case Named::kHome:
            return move(ui, table, -all);
        case Named::kEnd:
            return move(ui, table, all);
        case Named::kEnter:
        case Named::kRight:
            return open(ui, table, cluster);
        case Named::kEscape:
        case Named::kLeft:
            return step_back(ui);
        case Named::kCharacter:
            return press_character(ui, key.character, table, cluster);
        default:
            break;
    }
}

}  // namespace

void press(UiState& ui, const Key& key, const Table& table, const ClusterSnapshot& cluster,
           const Screen& screen) {
    ui.message.clear();
    if (key.name == Named::kInterrupt) {
        ui.quit = true;
    } else if (ui.asked) {
        answer(ui, key);
    } else if (ui.typing) {
        type(ui, key);
    } else if (ui.help) {
        ui.help = false;
    } else if (ui.reading) {
        page_through(ui, key, screen.rows);
    } else {
        press_cursor(ui, key, table, cluster, screen);
    }
}

}  // namespace aliquot::top
