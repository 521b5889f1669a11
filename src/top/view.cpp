// SPDX-License-Identifier: Apache-2.0
#include "top/view.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "top/kinds.h"

namespace aliquot::top {
namespace {

struct SortName {
    std::string_view name;
    Sort sort;
    bool descends;
};
constexpr std::array<SortName, 19> kSorts{{{"pod", Sort::kPod, false},
                                           {"ns", Sort::kNamespace, false},
                                           {"node", Sort::kNode, false},
                                           {"gpu", Sort::kGpu, false},
                                           {"share", Sort::kShare, true},
                                           {"util", Sort::kUtilization, true},
                                           {"share-util", Sort::kShareUtilization, true},
                                           {"memory", Sort::kMemory, true},
                                           {"throttled", Sort::kThrottled, true},
                                           {"power", Sort::kPower, true},
                                           {"idle", Sort::kIdle, true},
                                           {"age", Sort::kAge, true},
                                           {"cost", Sort::kCost, true},
                                           {"pid", Sort::kPid, false},
                                           {"command", Sort::kCommand, false},
                                           {"model", Sort::kModel, false},
                                           {"temperature", Sort::kTemperature, true},
                                           {"cpu", Sort::kCpu, true},
                                           {"user", Sort::kUser, false}}};

constexpr std::array<std::string_view, 7> kKinds{"nodes", "gpus",  "pods",  "processes",
                                                 "tree",  "waste", "errors"};

/// -1, 0, 1; texts that end in numbers by these: "0" < "2" < "10".
int compare(const Cell& a, const Cell& b) {
    if (a.numeric && b.numeric) {
        if (!a.number || !b.number) return 0;  // see sort_rows()
        return *a.number < *b.number ? -1 : *b.number < *a.number ? 1 : 0;
    }
    const bool digits = !a.text.empty() && !b.text.empty() && a.text.front() >= '0' &&
                        a.text.front() <= '9' && b.text.front() >= '0' && b.text.front() <= '9';
    if (digits && a.text.size() != b.text.size()) return a.text.size() < b.text.size() ? -1 : 1;
    const int order = a.text.compare(b.text);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

void keep_wanted(Table& table, const View& view) {
    const auto wanted = [&](const Row& row) {
        return view.filter.keeps(row.subject) && (!view.idle_only || row.idle);
    };
    if (view.kind != Kind::kTree) {
        std::erase_if(table.rows, [&](const Row& row) { return !wanted(row); });
        return;
    }
    // From below: a row stays for its own sake or for one beneath it.
    std::vector<Row> kept;
    unsigned needed = 0;  // rows of a smaller depth stay until this one is reached
    for (auto row = table.rows.rbegin(); row != table.rows.rend(); ++row) {
        const bool above = row->depth < needed;
        if (above || wanted(*row)) {
            needed = row->depth;
            kept.push_back(std::move(*row));
        }
    }
    std::ranges::reverse(kept);
    table.rows = std::move(kept);
}

Table all_rows(const ClusterSnapshot& cluster, const History& history, const View& view) {
    switch (view.kind) {
        case Kind::kNodes:
            return nodes_table(cluster);
        case Kind::kGpus:
            return gpus_table(cluster, view.scope);
        case Kind::kPods:
            return pods_table(cluster, history, view.scope, view.remainders);
        case Kind::kProcesses:
            return processes_table(cluster, history, view.scope);
        case Kind::kTree:
            return tree_table(cluster, view.sort.value_or(usual_sort(view.kind)), view.reverse);
        case Kind::kWaste:
            return waste_table(cluster);
        case Kind::kErrors:
            return errors_table(cluster);
    }
    return {};
}

}  // namespace

std::string_view to_text(Sort sort) {
    const auto* const found = std::ranges::find(kSorts, sort, &SortName::sort);
    return found == kSorts.end() ? "" : found->name;
}

std::optional<Sort> parse_sort(std::string_view text) {
    const auto* const found = std::ranges::find(kSorts, text, &SortName::name);
    if (found == kSorts.end()) return std::nullopt;
    return found->sort;
}

std::vector<std::string_view> sort_names() {
    std::vector<std::string_view> names;
    std::ranges::transform(kSorts, std::back_inserter(names), &SortName::name);
    return names;
}

bool descends(Sort sort) {
    const auto* const found = std::ranges::find(kSorts, sort, &SortName::sort);
    return found != kSorts.end() && found->descends;
}

std::string_view to_text(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<Kind> parse_kind(std::string_view text) {
    const auto* const found = std::ranges::find(kKinds, text);
    if (found == kKinds.end()) return std::nullopt;
    return static_cast<Kind>(found - kKinds.begin());
}

std::vector<std::string_view> kind_names() { return {kKinds.begin(), kKinds.end()}; }

Sort usual_sort(Kind kind) {
    switch (kind) {
        case Kind::kPods:
        case Kind::kProcesses:
        case Kind::kTree:
            return Sort::kUtilization;
        case Kind::kWaste:
            return Sort::kAge;
        case Kind::kNodes:
        case Kind::kGpus:
        case Kind::kErrors:
            break;
    }
    return Sort::kNone;  // the cluster's order
}

void sort_rows(Table& table, Sort sort, bool reverse) {
    const auto column = std::ranges::find(table.columns, sort, &Column::sort);
    if (sort == Sort::kNone || column == table.columns.end()) return;
    const auto place = static_cast<std::size_t>(column - table.columns.begin());
    const bool down = descends(sort) != reverse;
    std::ranges::stable_sort(table.rows, [&](const Row& a, const Row& b) {
        const Cell& one = a.cells[place];
        const Cell& other = b.cells[place];
        if (one.numeric && other.numeric && one.number.has_value() != other.number.has_value())
            return one.number.has_value();
        const int order = compare(one, other);
        return down ? order > 0 : order < 0;
    });
}

Table table_of(const ClusterSnapshot& cluster, const History& history, const View& view) {
    Table table = all_rows(cluster, history, view);
    const std::size_t all = table.rows.size();
    keep_wanted(table, view);
    if (table.rows.empty() && all > 0)
        table.empty = "none of " + std::to_string(all) + " rows is what the filter wants";
    if (view.kind != Kind::kTree)
        sort_rows(table, view.sort.value_or(usual_sort(view.kind)), view.reverse);
    return table;
}

}  // namespace aliquot::top
