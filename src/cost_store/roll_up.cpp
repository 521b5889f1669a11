// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cost/allocate.h"
#include "cost_store/store.h"

namespace aliquot::cost_store {
namespace {

using cost::TimeMs;

constexpr TimeMs kAtOnce = 24 * cost::kHourMs;  // of history in memory

TimeMs day_of(TimeMs time) { return time - ((time % cost::kDayMs) + cost::kDayMs) % cost::kDayMs; }

/// What is left of intervals and spans between `begin` and `end`, with the energy of that time.
void cut(cost::History& history, TimeMs begin, TimeMs end) {
    for (cost::Interval& one : history.intervals) {
        const auto until = [&one](TimeMs time) {
            // NOLINTNEXTLINE(google-runtime-int): 128 bits have no other name
            __extension__ using Wide = unsigned __int128;
            return static_cast<std::uint64_t>(Wide{one.energy_millijoules} *
                                              static_cast<Wide>(time - one.begin) /
                                              static_cast<Wide>(one.end - one.begin));
        };
        const TimeMs from = std::max(one.begin, begin);
        const TimeMs to = std::min(one.end, end);
        if (one.begin >= one.end || from >= to) continue;
        one.energy_millijoules = until(to) - until(from);
        one.begin = from;
        one.end = to;
    }
    for (cost::Span& span : history.spans) {
        span.begin = std::max(span.begin, begin);
        span.end = std::min(span.end, end);
    }
}

constexpr std::string_view kRowKey = "at, node, device, part, model, price, owner, state";
/// In the order of select_rows().
constexpr auto kRowSums = std::to_array<std::string_view>(
    {"gpu", "cpu", "memory", "gpu_ms", "energy", "core_ms", "mib_s"});
constexpr std::size_t kSumsOfVersion1 = 5;

/// "gpu, cpu": what `each` makes of each.
std::string sums_text(const std::function<std::string(std::string_view)>& each) {
    std::vector<std::string> all;
    for (const auto sum : kRowSums) all.push_back(each(sum));
    return join(all);
}

/// Of cost_hours and cost_days.
std::string row_columns() {
    return concat({"(", kRowKey, ", ", sums_text([](auto sum) { return std::string(sum); }), ") "});
}

}  // namespace

Result<Done> Store::write_node(const cost::Allocation& node, const cost::History& names) {
    Result<Done> failed = Done{};
    const auto id = [&](cost::NameId name) -> std::int64_t {
        auto found = id_of(names.names.text(name));
        if (!found) failed = std::move(found).error();
        return failed ? *found : 0;
    };
    std::vector<std::vector<Cell>> rows;
    rows.reserve(node.rows.size());
    for (const cost::Row& row : node.rows) {
        const auto owner = owner_id_of(names, row.owner);
        if (!owner) return owner.error();
        rows.push_back({row.hour, id(row.node), id(row.device), id(row.part), id(row.model),
                        id(row.price), *owner, std::int64_t{static_cast<std::uint8_t>(row.state)},
                        row.gpu, row.cpu, row.memory, row.gpu_ms,
                        static_cast<std::int64_t>(row.energy_millijoules), row.core_ms, row.mib_s});
    }
    std::vector<std::vector<Cell>> bills;
    for (const cost::Bill& bill : node.bills) {
        bills.push_back({bill.hour, id(bill.node), id(bill.price), bill.watched_ms, bill.amount});
    }
    if (!failed) return failed;
    // A piece of an hour at one price may come twice, around a gap: they add up.
    auto done = database_->for_each(
        concat({"INSERT INTO cost_hours", row_columns(),
                "VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) "
                "ON CONFLICT(at, node, device, part, owner, state, price, model) DO UPDATE SET ",
                sums_text([](auto sum) {
                    return concat({sum, " = cost_hours.", sum, " + excluded.", sum});
                })}),
        rows);
    if (!done) return done;
    return database_->for_each(
        "INSERT INTO cost_bills VALUES($1, $2, $3, $4, $5) ON CONFLICT(at, node, price) DO "
        "UPDATE SET watched = cost_bills.watched + excluded.watched, "
        "amount = cost_bills.amount + excluded.amount",
        bills);
}

Result<Done> Store::add_up_days(TimeMs begin, TimeMs end) {
    const std::string first = std::to_string(day_of(begin));
    const std::string last = std::to_string(day_of(end - 1) + cost::kDayMs);
    const std::string day = std::to_string(cost::kDayMs);
    return database_->script(
        concat({"DELETE FROM cost_days WHERE at >= ", first, " AND at < ", last,
                "; INSERT INTO cost_days", row_columns(), "SELECT at - at % ", day,
                ", node, device, part, model, price, owner, state, ", sums_text([](auto sum) {
                    return concat({"SUM(", sum, ")"});
                }),
                " FROM cost_hours WHERE at >= ", first, " AND at < ", last, " GROUP BY at - at % ",
                day, ", node, device, part, model, price, owner, state"}));
}

Result<Done> Store::write_rows(const cost::History& history, TimeMs begin, TimeMs end) {
    auto done = forget_dropped();
    if (!done) return done;
    const std::string range =
        concat({" WHERE at >= ", std::to_string(begin), " AND at < ", std::to_string(end)});
    done = database_->script("DELETE FROM cost_hours" + range + "; DELETE FROM cost_bills" + range);
    // Node by node: the rows of a day of a large cluster do not fit into the memory it should need.
    cost::allocate(history, [&](const cost::Allocation& node) {
        if (done) done = write_node(node, history);
    });
    return done ? add_up_days(begin, end) : done;
}

Result<Done> Store::roll_up(TimeMs now) {
    const TimeMs until = cost::hour_of(now);
    while (true) {
        const auto rolled = rolled_until();
        if (!rolled) return rolled.error();
        if (*rolled == INT64_MIN || *rolled >= until) return Done{};
        const TimeMs begin = *rolled;
        const TimeMs end = std::min(until, day_of(begin) + kAtOnce);
        auto done = in_one([&]() -> Result<Done> {
            auto history = read(begin, end);  // again: with the lock
            if (!history) return std::move(history).error();
            cut(*history, begin, end);
            auto written = write_rows(*history, begin, end);
            if (!written) return written;
            return database_->script(
                concat({"INSERT INTO cost_state VALUES('rolled', ", std::to_string(end),
                        ") ON CONFLICT(name) DO UPDATE SET value = excluded.value"}));
        });
        if (!done) return done;
    }
}

Result<Done> Store::retain(TimeMs now, const Retention& keep) {
    auto rolled = rolled_until();
    if (!rolled) return std::move(rolled).error();
    // Nothing goes that was not added up. A day's hours go together.
    if (*rolled == INT64_MIN) return Done{};
    const TimeMs intervals = cost::hour_of(std::min(now - keep.intervals, *rolled));
    const TimeMs hours = day_of(std::min(now - keep.hours, *rolled));
    const TimeMs days = day_of(now - keep.days);
    return in_one([&]() -> Result<Done> {
        auto done = database_->script(
            concat({"DELETE FROM cost_intervals WHERE ended <= ", std::to_string(intervals),
                    "; DELETE FROM cost_spans WHERE ended <= ", std::to_string(intervals),
                    "; DELETE FROM cost_hours WHERE at < ", std::to_string(hours),
                    "; DELETE FROM cost_bills WHERE at < ", std::to_string(days),
                    "; DELETE FROM cost_days WHERE at < ", std::to_string(days),
                    "; INSERT INTO cost_state VALUES('hours', ", std::to_string(hours),
                    "), ('intervals', ", std::to_string(intervals),
                    ") ON CONFLICT(name) DO UPDATE SET value = excluded.value"}));
        return done ? drop_unused(now) : done;
    });
}

Result<Done> Store::select_rows(const char* table, TimeMs begin, TimeMs end,
                                cost::Allocation& into) {
    std::size_t place = 0;
    const bool is_old = version_ < 2;  // only read: see open_to_read()
    const std::string sums = sums_text(
        [&](auto sum) { return is_old && place++ >= kSumsOfVersion1 ? "0" : std::string(sum); });
    return database_->select(
        concat(
            {"SELECT ", kRowKey, ", ", sums, " FROM ", table,
             " WHERE at >= $1 AND at < $2 ORDER BY at, node, device, part, owner, state, price"}),
        {begin, end}, [&](const Fields& row) {
            into.rows.push_back({.hour = row.number(0),
                                 .node = name_of_[row.number(1)],
                                 .device = name_of_[row.number(2)],
                                 .part = name_of_[row.number(3)],
                                 .model = name_of_[row.number(4)],
                                 .price = name_of_[row.number(5)],
                                 .owner = owner_of_[row.number(6)],
                                 .state = static_cast<cost::State>(
                                     std::clamp<std::int64_t>(row.number(7), 0, cost::kStates - 1)),
                                 .gpu = row.number(8),
                                 .cpu = row.number(9),
                                 .memory = row.number(10),
                                 .gpu_ms = row.number(11),
                                 .core_ms = row.number(13),
                                 .mib_s = row.number(14),
                                 .energy_millijoules = static_cast<std::uint64_t>(row.number(12))});
        });
}

Result<TimeMs> Store::hours_since() {
    TimeMs since = INT64_MIN;
    auto done = database_->select("SELECT value FROM cost_state WHERE name = 'hours'", {},
                                  [&](const Fields& row) { since = row.number(0); });
    if (!done) return std::move(done).error();
    return since;
}

Result<cost::Allocation> Store::rows(TimeMs begin, TimeMs end, cost::History& names, Grain grain) {
    const auto rolled = rolled_until();
    if (!rolled) return rolled.error();
    const auto since = hours_since();
    if (!since) return since.error();
    const TimeMs gone = *since;
    auto done = load_names(names);
    const TimeMs from = cost::hour_of(begin);
    const TimeMs divided = std::min(*rolled, end);
    // Days in [first, last), hours around them.
    TimeMs first = day_of(from + cost::kDayMs - 1);
    TimeMs last = first;
    if (from < gone) first = day_of(from);
    if (grain == Grain::kDays && divided != INT64_MIN) last = std::max(first, day_of(divided));
    if (from < gone) last = std::max(last, std::min(gone, day_of(end + cost::kDayMs - 1)));
    cost::Allocation all;
    if (done && first < last) done = select_rows("cost_days", first, last, all);
    if (done && from < std::min(first, divided)) {
        done = select_rows("cost_hours", from, std::min(first, divided), all);
    }
    if (done && last < divided) done = select_rows("cost_hours", last, divided, all);
    const TimeMs open = std::max({from, *rolled, first < last ? last : from});
    if (done && std::min(first, from) < std::max(divided, last)) {
        done = database_->select(
            "SELECT at, node, price, watched, amount FROM cost_bills WHERE at >= $1 AND at < $2 "
            "ORDER BY at, node, price",
            {std::min(first, from), first < last ? std::max(divided, last) : divided},
            [&](const Fields& row) {
                all.bills.push_back({row.number(0), name_of_[row.number(1)],
                                     name_of_[row.number(2)], row.number(3), row.number(4)});
            });
    }
    if (!done) return std::move(done).error();
    if (*rolled == INT64_MIN || open >= end) return all;
    if (done = divide_into(all, open, end, names); !done) return std::move(done).error();
    return all;
}

Result<Done> Store::divide_into(cost::Allocation& all, TimeMs begin, TimeMs end,
                                cost::History& names) {
    names.spans.clear();
    names.intervals.clear();
    auto done = read_into(names, begin, end);
    if (!done) return done;
    cut(names, begin, end);
    const cost::Allocation fresh = cost::allocate(names);
    all.rows.insert(all.rows.end(), fresh.rows.begin(), fresh.rows.end());
    all.bills.insert(all.bills.end(), fresh.bills.begin(), fresh.bills.end());
    return done;
}

Result<cost::Allocation> Store::rows_between(TimeMs begin, TimeMs end, cost::History& names) {
    TimeMs kept = INT64_MIN;  // before it there are no intervals
    auto done = database_->select("SELECT value FROM cost_state WHERE name = 'intervals'", {},
                                  [&](const Fields& row) { kept = row.number(0); });
    if (!done) return std::move(done).error();
    cost::Allocation all;
    TimeMs first = cost::hour_of(begin);
    TimeMs last = end;
    if (first < begin && first >= kept) {
        first = std::min(first + cost::kHourMs, end);
        done = divide_into(all, begin, first, names);
    }
    if (const TimeMs hour = cost::hour_of(end); hour >= std::max(first, kept)) last = hour;
    if (done && first < last) {
        auto whole = rows(first, last, names);
        if (!whole) return std::move(whole).error();
        all.rows.insert(all.rows.end(), whole->rows.begin(), whole->rows.end());
        all.bills.insert(all.bills.end(), whole->bills.begin(), whole->bills.end());
    }
    if (done && last < end) done = divide_into(all, last, end, names);
    if (!done) return std::move(done).error();
    return all;
}

Result<std::vector<JobCost>> Store::jobs(TimeMs begin, TimeMs end, std::size_t most) {
    std::vector<JobCost> jobs;
    auto done = database_->select(
        concat(
            {"SELECT queues.text, users.text, jobs.text, o.attempt, MIN(h.at), MAX(h.at), "
             "SUM(h.gpu + h.cpu + h.memory), "
             "SUM(CASE WHEN h.state = 1 THEN h.gpu + h.cpu + h.memory ELSE 0 END), SUM(h.gpu_ms) "
             "FROM cost_hours h JOIN cost_owners o ON o.id = h.owner "
             "JOIN cost_names jobs ON jobs.id = o.job "
             "LEFT JOIN cost_names queues ON queues.id = o.queue "
             "LEFT JOIN cost_names users ON users.id = o.account "
             "WHERE h.at >= $1 AND h.at < $2 "
             "GROUP BY queues.text, users.text, jobs.text, o.attempt "
             "ORDER BY 7 DESC, 3, 4 LIMIT ",
             std::to_string(most)}),
        {cost::hour_of(begin), end}, [&](const Fields& row) {
            jobs.push_back({row.text(0), row.text(1), row.text(2),
                            static_cast<std::uint32_t>(row.number(3)), row.number(4), row.number(5),
                            row.number(6), row.number(7), row.number(8)});
        });
    if (!done) return std::move(done).error();
    return jobs;
}

}  // namespace aliquot::cost_store
