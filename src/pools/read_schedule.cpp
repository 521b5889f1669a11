// SPDX-License-Identifier: Apache-2.0
#include "pools/read_schedule.h"

#include <algorithm>
#include <set>

#include "base/sentence.h"
#include "k8s/names.h"
#include "pools/read_fields.h"

namespace aliquot::pools {
namespace {

using document::Value;
using std::chrono::hours;
using std::chrono::seconds;

void read_start(Fields& fields, Schedule& schedule) {
    if (const auto text = fields.text("start")) {
        auto cron = Cron::parse(*text);
        if (cron) {
            schedule.start = *std::move(cron);
        } else {
            fields.error("start", cron.error().message);
        }
    } else {
        fields.missing("start", "missing, a cron expression as \"0 9 * * 1-5\" expected");
    }
}

void read_end(Fields& fields, Schedule& schedule) {
    if (const auto text = fields.text("end")) {
        auto cron = Cron::parse(*text);
        if (cron) {
            schedule.end = *std::move(cron);
        } else {
            fields.error("end", cron.error().message);
        }
    }
    schedule.duration = fields.duration("duration", hours(24 * 31));
    if (schedule.duration && *schedule.duration < seconds(60)) {
        fields.error("duration", "less than a minute");
    }
    if (schedule.end && schedule.duration) {
        fields.error("duration", "beside 'end': a window has one or the other");
    }
}

}  // namespace

Schedule read_schedule(const Value& node, std::size_t place, std::vector<Problem>& problems) {
    const std::string path = "spec.schedules[" + std::to_string(place) + "]";
    Fields fields(node, path,
                  {"name", "start", "end", "duration", "timeZone", "replicas", "deadline"},
                  problems);
    const auto never = Cron::parse("0 0 1 1 *");
    Schedule schedule{.name = {}, .start = *never, .zone = TimeZone::utc(), .mark = node.mark};
    schedule.name = fields.text("name").value_or("schedule-" + std::to_string(place + 1));
    if (!k8s::is_dns_label(schedule.name)) {
        fields.error("name", "'" + one_line(schedule.name, 70) +
                                 "': " + k8s::check_dns_label(schedule.name));
    }
    read_start(fields, schedule);
    read_end(fields, schedule);
    if (const auto zone = fields.text("timeZone")) {
        auto found = TimeZone::find(*zone);
        if (found) {
            schedule.zone = *std::move(found);
        } else {
            fields.error("timeZone", found.error().message);
        }
    } else if (node.is_mapping()) {
        problems.push_back({node.mark,
                            path + ".timeZone: not said, so the times are UTC; write timeZone: UTC "
                                   "or a name as Europe/Berlin",
                            true});
    }
    const auto replicas = fields.number("replicas", 0, kMostNodes);
    if (!replicas && fields.find("replicas") == nullptr) {
        fields.missing("replicas", "missing, the least number of nodes expected");
    }
    schedule.replicas = replicas.value_or(0);
    schedule.deadline = fields.duration("deadline", hours(24 * 31)).value_or(schedule.deadline);
    return schedule;
}

/// A step that raises a pool needs another that lowers it again.
void check_partners(const Pool& pool, std::vector<Problem>& problems) {
    std::set<std::string_view> names;
    for (const Schedule& one : pool.schedules) {
        if (!names.insert(one.name).second) {
            problems.push_back({one.mark, "spec.schedules: two are named '" + one.name + "'"});
        }
        if (one.replicas > pool.max) {
            problems.push_back({one.mark, "spec.schedules: '" + one.name + "' wants " +
                                              counted(one.replicas, "node") + ", max is " +
                                              std::to_string(pool.max)});
        }
        if (!one.is_step() || one.replicas <= pool.min) continue;
        const bool has_partner = std::ranges::any_of(pool.schedules, [&](const Schedule& other) {
            return other.is_step() && other.replicas < one.replicas;
        });
        if (has_partner) continue;
        problems.push_back({one.mark,
                            "spec.schedules: '" + one.name + "' raises the pool to " +
                                std::to_string(one.replicas) +
                                " and nothing lowers it again; add 'end', 'duration', or a "
                                "schedule with fewer replicas",
                            true});
    }
}

}  // namespace aliquot::pools
