// SPDX-License-Identifier: Apache-2.0
#include "top/control.h"

#include <algorithm>

namespace aliquot::top {
namespace {

constexpr std::size_t kLongestFilter = 80;

void move(Desk& desk, const Table& table, std::ptrdiff_t by) {
    if (table.rows.empty()) return;
    const auto last = static_cast<std::ptrdiff_t>(table.rows.size()) - 1;
    const auto to = std::clamp(static_cast<std::ptrdiff_t>(cursor_of(table, desk)) + by,
                               std::ptrdiff_t{0}, last);
    desk.cursor = table.rows[static_cast<std::size_t>(to)].key;
}

void go(Desk& desk, View to) {
    if (desk.back.size() == Desk::kMostBack) desk.back.erase(desk.back.begin());
    desk.back.push_back(desk.view);
    to.filter = desk.view.filter;
    to.remainders = desk.view.remainders;
    desk.view = std::move(to);
    desk.cursor.clear();
    desk.top = 0;
}

/// To a view of everything; again to where one came from.
void toggle(Desk& desk, Kind kind) {
    if (desk.view.kind == kind && desk.view.scope.title.empty()) {
        if (desk.back.empty()) return;
        View before = std::move(desk.back.back());
        desk.back.pop_back();
        before.filter = desk.view.filter;
        desk.view = std::move(before);
        desk.top = 0;
        return;
    }
    go(desk, {.kind = kind});
}

/// The name of what a key of history.h stands for.
std::string title_of(const Row& row, const World& world, Kind kind) {
    const std::string node = shown(row.subject.node);
    switch (kind) {
        case Kind::kNodes:
            return shown(row.cells.front().text);
        case Kind::kGpus:
            return "GPU " + row.subject.gpu + (world.agents.size() > 1 ? " of " + node : "");
        default:
            return row.subject.pod_namespace.empty()
                       ? shown(row.subject.pod)
                       : shown(row.subject.pod_namespace + "/" + row.subject.pod);
    }
}

void open(Desk& desk, const Table& table, const World& world) {
    if (table.rows.empty()) return;
    const Row& row = table.rows[cursor_of(table, desk)];
    const std::string& key = row.key;
    // A row's key says what it is: n/ a node, g/UUID a GPU, longer ones a tenant.
    const auto slashes = std::ranges::count(key, '/');
    Scope scope;
    if (key.starts_with("n/")) {
        if (slashes > 1) return;  // trouble of the node
        scope = {.node = key, .title = title_of(row, world, Kind::kNodes)};
        return go(desk, {.kind = Kind::kGpus, .scope = scope});
    }
    if (!key.starts_with("g/")) return;
    const bool process = key.find("/pid ") != std::string::npos;
    if (process || key.ends_with("/rest")) return;
    if (slashes >= 3 && !row.subject.pod.empty()) {
        scope = {.tenant = key, .title = title_of(row, world, Kind::kPods)};
        // The strip above shows its GPU only.
        scope.gpu = key.substr(0, key.find('/', 2));
        return go(desk, {.kind = Kind::kProcesses, .scope = scope});
    }
    scope = {.gpu = key.substr(0, key.find('/', 2)), .title = title_of(row, world, Kind::kGpus)};
    go(desk, {.kind = Kind::kPods, .scope = scope});
}

void step_back(Desk& desk) {
    if (!desk.back.empty()) {
        View before = std::move(desk.back.back());
        desk.back.pop_back();
        // The filter is the user's, not the view's.
        before.filter = desk.view.filter;
        const Scope came_from = desk.view.scope;
        desk.view = std::move(before);
        desk.top = 0;
        desk.cursor = !came_from.tenant.empty() ? came_from.tenant
                      : !came_from.gpu.empty()  ? came_from.gpu
                                                : came_from.node;
        return;
    }
    View up{.filter = desk.view.filter, .remainders = desk.view.remainders};
    switch (desk.view.kind) {
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
    desk.view = std::move(up);
    desk.cursor.clear();
    desk.top = 0;
}

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

void sort_by_next(Desk& desk, const Table& table, bool forward) {
    const std::vector<Sort> sorts = sorts_of(table, desk.view.kind);
    if (sorts.empty()) return;
    const Sort now = desk.view.sort.value_or(usual_sort(desk.view.kind));
    const auto found = std::ranges::find(sorts, now);
    std::size_t place = 0;
    if (found != sorts.end()) {
        place = static_cast<std::size_t>(found - sorts.begin());
        place = (place + (forward ? 1 : sorts.size() - 1)) % sorts.size();
    }
    desk.view.sort = sorts[place];
    desk.view.reverse = false;
}

void apply_filter(Desk& desk) {
    auto filter = Filter::parse(desk.filter_text);
    if (filter) {
        desk.view.filter = *std::move(filter);
    } else if (!desk.typing) {
        desk.message = filter.error().message;
    }
}

void type(Desk& desk, const Key& key) {
    switch (key.name) {
        case Named::kCharacter:
            if (desk.filter_text.size() < kLongestFilter) desk.filter_text += key.character;
            break;
        case Named::kBackspace:
            if (!desk.filter_text.empty()) desk.filter_text.pop_back();
            break;
        case Named::kDeleteLine:
            desk.filter_text.clear();
            break;
        case Named::kEscape:
            desk.filter_text.clear();
            desk.typing = false;
            break;
        case Named::kEnter:
            desk.typing = false;
            break;
        default:
            return;
    }
    apply_filter(desk);
}

void press_character(Desk& desk, char c, const Table& table, const World& world) {
    switch (c) {
        case 'q':
            desk.quit = true;
            break;
        case 's':
        case 'S':
            sort_by_next(desk, table, c == 's');
            break;
        case 'r':
            desk.view.reverse = !desk.view.reverse;
            break;
        case '/':
            desk.typing = true;
            break;
        case 'i':
            desk.view.idle_only = !desk.view.idle_only;
            break;
        case 'a':
            desk.view.remainders = desk.view.remainders == Remainders::kShown ? Remainders::kHidden
                                                                              : Remainders::kShown;
            break;
        case 'n':
            return toggle(desk, Kind::kNodes);
        case 'g':
            return toggle(desk, Kind::kGpus);
        case 'p':
            return toggle(desk, Kind::kPods);
        case 'P':
            return toggle(desk, Kind::kProcesses);
        case 't':
            return toggle(desk, Kind::kTree);
        case 'w':
            return toggle(desk, Kind::kWaste);
        case 'x':
            return toggle(desk, Kind::kErrors);
        case ' ':
            desk.paused = !desk.paused;
            break;
        case '?':
        case 'h':
            desk.help = true;
            break;
        case 'k':
            return move(desk, table, -1);
        case 'j':
            return move(desk, table, 1);
        case 'l':
            return open(desk, table, world);
        default:
            break;
    }
}

}  // namespace

void press(Desk& desk, const Key& key, const Table& table, const World& world, std::size_t page) {
    desk.message.clear();
    if (key.name == Named::kInterrupt) {
        desk.quit = true;
        return;
    }
    if (desk.typing) return type(desk, key);
    if (desk.help) {
        desk.help = false;
        return;
    }
    const auto far = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page, 1));
    const auto all = static_cast<std::ptrdiff_t>(table.rows.size());
    switch (key.name) {
        case Named::kUp:
            return move(desk, table, -1);
        case Named::kDown:
            return move(desk, table, 1);
        case Named::kPageUp:
            return move(desk, table, -far);
        case Named::kPageDown:
            return move(desk, table, far);
        case Named::kHome:
            return move(desk, table, -all);
        case Named::kEnd:
            return move(desk, table, all);
        case Named::kEnter:
        case Named::kRight:
            return open(desk, table, world);
        case Named::kEscape:
        case Named::kLeft:
            return step_back(desk);
        case Named::kCharacter:
            return press_character(desk, key.character, table, world);
        default:
            break;
    }
}

}  // namespace aliquot::top
