// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/interval.h"
#include "cost/row.h"
#include "cost_store/database.h"

/// What GPUs cost, kept on a disk: intervals for days, hours for months, days for years.
namespace aliquot::cost_store {

/// How long what is kept.
struct Retention {
    cost::TimeMs intervals = 14 * cost::kDayMs;
    cost::TimeMs hours = 100 * cost::kDayMs;
    cost::TimeMs days = 5 * 366 * cost::kDayMs;
};

/// A job, over all of its time.
struct JobCost {
    std::string queue;
    std::string user;
    std::string job;
    std::uint32_t attempt = 0;
    cost::TimeMs first_hour = 0;
    cost::TimeMs last_hour = 0;
    cost::Micros total = 0;
    cost::Micros idle = 0;
    std::int64_t gpu_ms = 0;
    friend bool operator==(const JobCost&, const JobCost&) = default;
};

/// What a call has answered is on the disk; a power cut or SIGKILL during a call leaves all of it or nothing. More
/// than one process may write, also to one SQLite file. Not thread-safe.
class Store {
public:
    /// Called before and after each write is made durable, for tests that end the process there.
    using Hook = std::function<void()>;

    /// where     a file, or "postgresql://..."; its tables are made, or brought to this version
    /// errors    of the database; kInvalidInput: written by a newer version
    static Result<Store> open(const std::string& where, Hook hook = {});
    /// One that must be there, and whose tables stay as they are: a server of an older version may be at work on them. Only
    /// to be read. errors: kNotFound
    static Result<Store> open_to_read(const std::string& where);

    /// Writes spans and intervals. One that begins at the same time of the same node (and owner, GPU, part) is replaced: so an
    /// open one is written again and again while it grows. All or nothing.
    Result<Done> put(const cost::History& history);
    /// What overlaps [begin, end), as it was put. At most what retention has left.
    Result<cost::History> read(cost::TimeMs begin, cost::TimeMs end);
    /// The intervals of that, one by one; `names` gets what their numbers mean, before the first.
    Result<Done> each_interval(cost::TimeMs begin, cost::TimeMs end, cost::History& names,
                               const std::function<void(const cost::Interval&)>& take);
    /// Divides all hours that ended before `now` and were not divided yet, or have changed since, and adds up their days.
    Result<Done> roll_up(cost::TimeMs now);
    /// Removes what is older. Hours go only when their days are written. Once a day also names and owners that nothing
    /// is about any more.
    Result<Done> retain(cost::TimeMs now, const Retention& keep);

    /// Rows and bills of the hours in [begin, end): divided ones as they are, later ones from intervals. Where hours are
    /// gone, and with kDays in whole days that are divided, the row of a day stands at the day's beginning. `names`
    /// gets what their numbers mean; its spans and intervals are of no use.
    enum class Grain : std::uint8_t { kHours, kDays };
    Result<cost::Allocation> rows(cost::TimeMs begin, cost::TimeMs end, cost::History& names,
                                  Grain grain = Grain::kHours);
    /// From when on there are hours, and not days only; INT64_MIN: as long as there is anything.
    Result<cost::TimeMs> hours_since();
    /// The same of [begin, end) to the millisecond: of hours that it has in part, that part, while there are intervals of
    /// them; its row stands at the hour's beginning.
    Result<cost::Allocation> rows_between(cost::TimeMs begin, cost::TimeMs end,
                                          cost::History& names);
    /// The dearest jobs of [begin, end), of whole hours.
    Result<std::vector<JobCost>> jobs(cost::TimeMs begin, cost::TimeMs end, std::size_t most);

private:
    explicit Store(std::unique_ptr<Database> database, Hook hook);
    /// 0: no tables. errors: they are of a newer version
    Result<std::int64_t> read_version();
    Result<Done> migrate();
    Result<Done> in_one(const std::function<Result<Done>()>& write);
    Result<std::int64_t> id_of(const std::string& text);
    Result<std::int64_t> owner_id_of(const cost::History& of, cost::OwnerId owner);
    Result<Done> write_all(const cost::History& history);
    /// The hours in [begin, end) and their days anew, within in_one().
    Result<Done> write_rows(const cost::History& history, cost::TimeMs begin, cost::TimeMs end);
    Result<Done> write_node(const cost::Allocation& node, const cost::History& names);
    Result<Done> add_up_days(cost::TimeMs begin, cost::TimeMs end);
    Result<cost::TimeMs> rolled_until();
    /// Both within in_one().
    Result<Done> drop_unused(cost::TimeMs now);
    /// Forgets the numbers of names when another process may have removed some.
    Result<Done> forget_dropped();
    Result<Done> read_into(cost::History& history, cost::TimeMs begin, cost::TimeMs end);
    /// Divides what intervals say of [begin, end) and puts it behind the others.
    Result<Done> divide_into(cost::Allocation& all, cost::TimeMs begin, cost::TimeMs end,
                             cost::History& names);
    Result<Done> load_names(cost::History& into);
    /// Within what load_names() has read.
    Result<Done> select_intervals(cost::TimeMs begin, cost::TimeMs end,
                                  const std::function<void(const cost::Interval&)>& take);
    Result<Done> select_rows(const char* table, cost::TimeMs begin, cost::TimeMs end,
                             cost::Allocation& into);

    std::unique_ptr<Database> database_;
    Hook hook_;
    std::int64_t version_ = 0;  // of the tables
    std::int64_t drops_ = 0;    // of which ids_ and owner_ids_ know
    std::map<std::string, std::int64_t, std::less<>> ids_;
    std::map<std::vector<std::int64_t>, std::int64_t> owner_ids_;
    std::map<std::int64_t, cost::NameId> name_of_;  // of load_names()
    std::map<std::int64_t, cost::OwnerId> owner_of_;
};

}  // namespace aliquot::cost_store
