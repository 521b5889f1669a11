// SPDX-License-Identifier: Apache-2.0
#include "cost_store/store.h"

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "cost_store/schema.h"

namespace aliquot::cost_store {
namespace {

using cost::TimeMs;

std::int64_t whole(std::uint64_t number) { return static_cast<std::int64_t>(number); }

std::uint32_t small(std::int64_t number) { return static_cast<std::uint32_t>(number); }

bool is_postgres(const std::string& where) {
    return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

/// For messages: an address may have a password.
std::string name_of(const std::string& where) {
    return is_postgres(where) ? "cost store in PostgreSQL" : "cost store " + where;
}

}  // namespace

Store::Store(std::unique_ptr<Database> database, Hook hook)
    : database_(std::move(database)), hook_(std::move(hook)) {}

Result<Store> Store::open(const std::string& where, Hook hook) {
    auto database = is_postgres(where) ? open_postgres(where) : open_sqlite(where);
    if (!database) return std::move(database).error();
    Store store(*std::move(database), std::move(hook));
    if (auto done = store.migrate(); !done) return std::move(done).error().during(name_of(where));
    return store;
}

Result<Store> Store::open_to_read(const std::string& where) {
    std::error_code problem;
    if (!is_postgres(where) && !std::filesystem::exists(where, problem)) {
        return Error{ErrorCode::kNotFound, where + ": no cost store is there"};
    }
    auto database = is_postgres(where) ? open_postgres(where) : open_sqlite(where);
    if (!database) return std::move(database).error();
    Store store(*std::move(database), {});
    auto version = store.read_version();
    if (!version) return std::move(version).error().during(name_of(where));
    if (*version > 0) return store;
    return Error{ErrorCode::kNotFound, name_of(where) + ": no cost store is there"};
}

Result<Done> Store::in_one(const std::function<Result<Done>()>& write) {
    auto done = database_->script(std::string(database_->dialect().begin));
    if (done) done = write();
    if (done && hook_) hook_();
    if (done) done = database_->script("COMMIT");
    if (!done) {
        (void)database_->script("ROLLBACK");
        ids_.clear();  // what was numbered in it is not there
        owner_ids_.clear();
        return done;
    }
    if (hook_) hook_();
    return done;
}

Result<std::int64_t> Store::read_version() {
    bool is_there = false;
    auto done = database_->select(std::string(database_->dialect().tables), {"cost_version"},
                                  [&](const Fields&) { is_there = true; });
    version_ = 0;
    if (done && is_there) {
        done = database_->select("SELECT value FROM cost_version", {},
                                 [&](const Fields& row) { version_ = row.number(0); });
    }
    if (!done) return std::move(done).error();
    const std::int64_t newest = whole(migrations(database_->dialect()).size());
    if (version_ <= newest) return version_;
    return Error{ErrorCode::kInvalidInput,
                 concat({"its tables are of version ", std::to_string(version_),
                         ", made by a newer program; this one knows ", std::to_string(newest),
                         ": take the newer program, or another store"})};
}

Result<Done> Store::migrate() {
    return in_one([this]() -> Result<Done> {
        const auto version = read_version();
        if (!version) return version.error();
        const auto steps = migrations(database_->dialect());
        if (*version == whole(steps.size())) return Done{};
        auto done = database_->script(
            "CREATE TABLE IF NOT EXISTS cost_version(one INTEGER PRIMARY KEY, value INTEGER)");
        for (auto i = static_cast<std::size_t>(*version); done && i < steps.size(); ++i) {
            done = database_->script(steps[i]);
        }
        if (!done) return done;
        const std::string now = std::to_string(steps.size());
        version_ = whole(steps.size());
        return database_->script(concat({"INSERT INTO cost_version VALUES(1, ", now,
                                         ") ON CONFLICT(one) DO UPDATE SET value = ", now}));
    });
}

Result<std::int64_t> Store::id_of(const std::string& text) {
    if (text.empty()) return std::int64_t{0};
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    const std::vector<Cell> value{text};
    auto done = database_->for_each(
        "INSERT INTO cost_names(text) VALUES($1) ON CONFLICT DO NOTHING", {&value, 1});
    std::int64_t id = 0;
    if (done) {
        done = database_->select("SELECT id FROM cost_names WHERE text = $1", value,
                                 [&](const Fields& row) { id = row.number(0); });
    }
    if (!done) return std::move(done).error();
    ids_.emplace(text, id);
    return id;
}

Result<std::int64_t> Store::owner_id_of(const cost::History& of, cost::OwnerId owner) {
    if (owner == 0) return std::int64_t{0};
    const cost::Owner& known = of.owners[owner];
    std::vector<std::int64_t> key;
    for (const cost::NameId name : {known.space, known.queue, known.user, known.job, known.pod,
                                    known.container, known.workflow}) {
        const auto id = id_of(of.names.text(name));
        if (!id) return id.error();
        key.push_back(*id);
    }
    key.push_back(known.attempt);
    if (const auto found = owner_ids_.find(key); found != owner_ids_.end()) return found->second;
    const std::vector<Cell> values(key.begin(), key.end());
    auto done = database_->for_each(
        "INSERT INTO cost_owners(space, queue, account, job, pod, container, workflow, attempt) "
        "VALUES($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        {&values, 1});
    std::int64_t id = 0;
    if (done) {
        done = database_->select(
            "SELECT id FROM cost_owners WHERE space = $1 AND queue = $2 AND account = $3 AND "
            "job = $4 AND pod = $5 AND container = $6 AND workflow = $7 AND attempt = $8",
            values, [&](const Fields& row) { id = row.number(0); });
    }
    if (!done) return std::move(done).error();
    owner_ids_.emplace(std::move(key), id);
    return id;
}

Result<Done> Store::write_all(const cost::History& history) {
    Result<Done> done = forget_dropped();
    if (!done) return done;
    const auto id = [&](cost::NameId name) -> std::int64_t {
        auto found = id_of(history.names.text(name));
        if (!found) done = std::move(found).error();
        return done ? *found : 0;
    };
    std::vector<std::vector<Cell>> spans;
    TimeMs earliest = INT64_MAX;
    for (const cost::Span& span : history.spans) {
        std::vector<std::string> devices;
        for (const auto device : span.devices) devices.push_back(std::to_string(id(device)));
        spans.push_back({id(span.node), span.begin, span.end, id(span.model), id(span.price),
                         span.rate, whole(span.cpu_milli), whole(span.memory_mib),
                         join(devices, ",")});
        earliest = std::min(earliest, span.begin);
    }
    std::vector<std::vector<Cell>> intervals;
    for (const cost::Interval& one : history.intervals) {
        const auto owner = owner_id_of(history, one.owner);
        if (!owner) return owner.error();
        intervals.push_back({id(one.node), one.begin, id(one.device), id(one.part), *owner, one.end,
                             whole(one.share), whole(one.cpu_milli), whole(one.memory_mib),
                             whole(one.gpu_memory_mib), whole(one.gpu_memory_peak_mib),
                             whole(one.busy_ppm), whole(one.energy_millijoules),
                             std::int64_t{static_cast<std::uint8_t>(one.state)},
                             std::int64_t{one.out_of_memory ? 1 : 0}});
        earliest = std::min(earliest, one.begin);
    }
    if (!done) return done;
    done = database_->for_each(
        "INSERT INTO cost_spans VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9) "
        "ON CONFLICT(node, begun) DO UPDATE SET ended = excluded.ended, model = excluded.model, "
        "price = excluded.price, rate = excluded.rate, cpu = excluded.cpu, "
        "memory = excluded.memory, devices = excluded.devices",
        spans);
    if (!done) return done;
    done = database_->for_each(
        "INSERT INTO cost_intervals VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, "
        "$13, $14, $15) ON CONFLICT(node, begun, device, part, owner) DO UPDATE SET "
        "ended = excluded.ended, share = excluded.share, cpu = excluded.cpu, "
        "memory = excluded.memory, gpu_memory = excluded.gpu_memory, peak = excluded.peak, "
        "busy = excluded.busy, energy = excluded.energy, state = excluded.state, "
        "oom = excluded.oom",
        intervals);
    if (!done || earliest == INT64_MAX) return done;
    // Hours that were divided have changed: once more. Not those whose intervals are gone.
    TimeMs kept = INT64_MIN;
    done = database_->select("SELECT value FROM cost_state WHERE name = 'intervals'", {},
                             [&](const Fields& row) { kept = row.number(0); });
    if (!done) return done;
    const std::vector<Cell> hour{std::max(cost::hour_of(earliest), kept)};
    return database_->for_each(
        "UPDATE cost_state SET value = $1 WHERE name = 'rolled' AND value > $1", {&hour, 1});
}

Result<Done> Store::put(const cost::History& history) {
    return in_one([&] { return write_all(history); });
}

Result<Done> Store::load_names(cost::History& into) {
    name_of_.clear();
    owner_of_.clear();
    name_of_.emplace(0, 0);
    owner_of_.emplace(0, 0);
    auto done = database_->select("SELECT id, text FROM cost_names", {}, [&](const Fields& row) {
        name_of_[row.number(0)] = into.names.add(row.text(1));
    });
    if (!done) return done;
    return database_->select(
        "SELECT id, space, queue, account, job, pod, container, workflow, attempt FROM cost_owners",
        {}, [&](const Fields& row) {
            int column = 1;
            cost::Owner owner;
            for (cost::NameId* name : {&owner.space, &owner.queue, &owner.user, &owner.job,
                                       &owner.pod, &owner.container, &owner.workflow}) {
                *name = name_of_[row.number(column++)];
            }
            owner.attempt = static_cast<std::uint32_t>(row.number(column));
            owner_of_[row.number(0)] = into.add(owner);
        });
}

Result<cost::History> Store::read(TimeMs begin, TimeMs end) {
    cost::History history;
    if (auto done = read_into(history, begin, end); !done) return std::move(done).error();
    return history;
}

Result<Done> Store::read_into(cost::History& history, TimeMs begin, TimeMs end) {
    auto done = load_names(history);
    if (done) {
        done = database_->select(
            "SELECT node, begun, ended, model, price, rate, cpu, memory, devices FROM cost_spans "
            "WHERE ended > $1 AND begun < $2 ORDER BY node, begun",
            {begin, end}, [&](const Fields& row) {
                cost::Span span{.begin = row.number(1),
                                .end = row.number(2),
                                .node = name_of_[row.number(0)],
                                .model = name_of_[row.number(3)],
                                .price = name_of_[row.number(4)],
                                .rate = row.number(5),
                                .cpu_milli = small(row.number(6)),
                                .memory_mib = small(row.number(7))};
                const std::string devices = row.text(8);
                for (const auto one : split_list(std::string_view(devices))) {
                    span.devices.push_back(name_of_[parse_number<std::int64_t>(one).value_or(0)]);
                }
                history.spans.push_back(std::move(span));
            });
    }
    if (!done) return done;
    return select_intervals(begin, end,
                            [&](const cost::Interval& one) { history.intervals.push_back(one); });
}

Result<Done> Store::each_interval(TimeMs begin, TimeMs end, cost::History& names,
                                  const std::function<void(const cost::Interval&)>& take) {
    auto done = load_names(names);
    return done ? select_intervals(begin, end, take) : done;
}

Result<Done> Store::select_intervals(TimeMs begin, TimeMs end,
                                     const std::function<void(const cost::Interval&)>& take) {
    return database_->select(
        "SELECT node, begun, ended, device, part, owner, share, cpu, memory, gpu_memory, peak, "
        "busy, energy, state, oom FROM cost_intervals WHERE ended > $1 AND begun < $2 "
        "ORDER BY node, begun, device, part, owner",
        {begin, end}, [&](const Fields& row) {
            take({.begin = row.number(1),
                  .end = row.number(2),
                  .node = name_of_[row.number(0)],
                  .device = name_of_[row.number(3)],
                  .part = name_of_[row.number(4)],
                  .owner = owner_of_[row.number(5)],
                  .share = small(row.number(6)),
                  .cpu_milli = small(row.number(7)),
                  .memory_mib = small(row.number(8)),
                  .gpu_memory_mib = small(row.number(9)),
                  .gpu_memory_peak_mib = small(row.number(10)),
                  .busy_ppm = small(row.number(11)),
                  .energy_millijoules = static_cast<std::uint64_t>(row.number(12)),
                  .state = static_cast<cost::State>(
                      std::clamp<std::int64_t>(row.number(13), 0, cost::kStates - 1)),
                  .out_of_memory = row.number(14) != 0});
        });
}

Result<TimeMs> Store::rolled_until() {
    TimeMs until = INT64_MIN;
    auto done = database_->select("SELECT value FROM cost_state WHERE name = 'rolled'", {},
                                  [&](const Fields& row) { until = row.number(0); });
    if (done && until == INT64_MIN) {
        done = database_->select("SELECT COUNT(*), MIN(begun) FROM cost_spans", {},
                                 [&](const Fields& row) {
                                     if (row.number(0) != 0) until = cost::hour_of(row.number(1));
                                 });
    }
    if (!done) return std::move(done).error();
    return until;
}

}  // namespace aliquot::cost_store
