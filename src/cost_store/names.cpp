// SPDX-License-Identifier: Apache-2.0
// Names and owners that nothing refers to any more: where pods come and go they would be most of a store.
#include <algorithm>
#include <optional>
#include <set>

#include "base/number.h"
#include "base/text.h"
#include "cost_store/store.h"

namespace aliquot::cost_store {
namespace {

constexpr cost::TimeMs kBetweenDrops = cost::kDayMs;  // each one reads all that is kept
constexpr std::size_t kDroppedAtOnce = 500;
constexpr int kOwnerNames = 7;

using Ids = std::set<std::int64_t>;

struct OwnerIds {
    std::int64_t id = 0;
    std::vector<std::int64_t> names;
};

Result<Done> drop(Database& database, std::string_view table,
                  const std::vector<std::int64_t>& ids) {
    Result<Done> done = Done{};
    for (std::size_t i = 0; done && i < ids.size(); i += kDroppedAtOnce) {
        std::vector<std::string> some;
        for (std::size_t j = i; j < std::min(ids.size(), i + kDroppedAtOnce); ++j) {
            some.push_back(std::to_string(ids[j]));
        }
        done = database.script(concat({"DELETE FROM ", table, " WHERE id IN (", join(some), ")"}));
    }
    return done;
}

/// What the tables of costs refer to.
Result<Done> read_used(Database& database, Ids& owners, Ids& names) {
    const auto note = [&names](const Fields& row, int first, int count) {
        for (int i = first; i < first + count; ++i) names.insert(row.number(i));
    };
    Result<Done> done = Done{};
    for (const char* const table : {"cost_hours", "cost_days"}) {
        if (!done) return done;
        done = database.select(
            concat({"SELECT DISTINCT owner, node, device, part, model, price FROM ", table}), {},
            [&](const Fields& row) {
                owners.insert(row.number(0));
                note(row, 1, 5);
            });
    }
    if (done) {
        done = database.select("SELECT DISTINCT owner, node, device, part FROM cost_intervals", {},
                               [&](const Fields& row) {
                                   owners.insert(row.number(0));
                                   note(row, 1, 3);
                               });
    }
    if (done) {
        done = database.select("SELECT DISTINCT node, price FROM cost_bills", {},
                               [&](const Fields& row) { note(row, 0, 2); });
    }
    if (!done) return done;
    return database.select("SELECT DISTINCT node, model, price, devices FROM cost_spans", {},
                           [&](const Fields& row) {
                               note(row, 0, 3);
                               const std::string devices = row.text(3);
                               for (const auto one : split_list(std::string_view(devices))) {
                                   names.insert(parse_number<std::int64_t>(one).value_or(0));
                               }
                           });
}

}  // namespace

Result<Done> Store::forget_dropped() {
    std::int64_t drops = 0;
    auto done = database_->select("SELECT value FROM cost_state WHERE name = 'drops'", {},
                                  [&](const Fields& row) { drops = row.number(0); });
    if (!done || drops == drops_) return done;
    drops_ = drops;
    ids_.clear();
    owner_ids_.clear();
    return done;
}

Result<Done> Store::drop_unused(cost::TimeMs now) {
    std::optional<std::int64_t> last;
    auto done = database_->select("SELECT value FROM cost_state WHERE name = 'dropped'", {},
                                  [&](const Fields& row) { last = row.number(0); });
    if (!done || (last && now - *last < kBetweenDrops)) return done;
    Ids used_owners;
    Ids used_names;
    if (done = read_used(*database_, used_owners, used_names); !done) return done;
    std::vector<OwnerIds> owners;
    done = database_->select(
        "SELECT id, space, queue, account, job, pod, container, workflow FROM cost_owners "
        "ORDER BY id",
        {}, [&](const Fields& row) {
            owners.push_back({.id = row.number(0), .names = {}});
            for (int i = 1; i <= kOwnerNames; ++i) owners.back().names.push_back(row.number(i));
        });
    std::vector<std::int64_t> names;
    if (done) {
        done = database_->select("SELECT id FROM cost_names ORDER BY id", {},
                                 [&](const Fields& row) { names.push_back(row.number(0)); });
    }
    if (!done) return done;
    // The newest stays, so that its number is never another's.
    std::vector<std::int64_t> gone;
    for (const OwnerIds& one : owners) {
        if (used_owners.contains(one.id) || one.id == owners.back().id) {
            used_names.insert(one.names.begin(), one.names.end());
        } else {
            gone.push_back(one.id);
        }
    }
    if (done = drop(*database_, "cost_owners", gone); !done) return done;
    if (!names.empty()) used_names.insert(names.back());
    std::erase_if(names, [&](std::int64_t id) { return used_names.contains(id); });
    if (done = drop(*database_, "cost_names", names); !done) return done;
    // Whoever else writes knows numbers by heart: forget_dropped().
    return database_->script(
        concat({"INSERT INTO cost_state VALUES('dropped', ", std::to_string(now),
                ") ON CONFLICT(name) DO UPDATE SET value = excluded.value; "
                "INSERT INTO cost_state VALUES('drops', 1) ON CONFLICT(name) DO UPDATE SET value = "
                "cost_state.value + 1"}));
}

}  // namespace aliquot::cost_store
