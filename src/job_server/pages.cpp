// SPDX-License-Identifier: Apache-2.0
#include "job_server/pages.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "base/json_text.h"
#include "base/number.h"
#include "base/text.h"
#include "document/build.h"
#include "document/json.h"
#include "http/json_answer.h"
#include "job_server/view.h"
#include "jobs/read.h"

namespace aliquot::job_server {
namespace {

using document::make_mapping;
using document::Value;
using http::json_answer;
using http::refusal;
using http::Request;
using http::Response;

constexpr std::size_t kMostListed = 1'000;
constexpr std::size_t kUsualList = 500;
constexpr std::size_t kMostKey = 200;

void tell_steps(Keeper& keeper, JobId id, std::size_t told, http::Stream& stream) {
    constexpr std::chrono::milliseconds kPause{200};
    constexpr unsigned kRoundsOfSilence = 75;  // then a comment keeps the way open
    for (unsigned silent = 0;; ++silent) {
        const auto record = keeper.find(id);
        const auto steps = keeper.steps(id);
        if (!record || !steps) return;
        for (; told < steps->size(); ++told, silent = 0) {
            const Value one = to_document(std::vector<Transition>{(*steps)[told]});
            if (!stream.write("id: " + std::to_string(told + 1) + "\nevent: step\ndata: " +
                              document::to_json_line(one.items.front()) + "\n\n"))
                return;
        }
        if (jobs::is_final(record->state)) return;
        if (silent >= kRoundsOfSilence) {
            silent = 0;
            if (!stream.write(": still there\n\n")) return;
        }
        if (!stream.alive()) return;
        std::this_thread::sleep_for(kPause);
    }
}

/// One request: who asks, what of.
struct Question {
    Keeper& keeper;
    Costs* costs = nullptr;  // null: none are recorded
    const Request& request;
    User asker;
    JobId id = 0;  // of a path with {id}
};

Response told(const Question& of, const Result<Record>& record, int status = 200) {
    if (!record) return refusal(record.error());
    return json_answer(status, to_document(*record, eyes_of(of.asker, *record)));
}

constexpr const char* kNoCosts =
    "this server records no costs: it was started with --cost-store off";

/// By how long the asker's earlier jobs of the same name took.
cost::Forecast told_before(const Question& of, const jobs::Request& request) {
    constexpr std::size_t kMostRuns = 50;
    const std::string& name = request.name.empty() ? request.task_id : request.name;
    std::vector<std::int64_t> runs;
    for (const Record& one : of.keeper.list({.which = Keeper::Which::kEnded,
                             .uid = of.asker.uid,
                             .queue = "",
                             .above = 0,
                             .most = SIZE_MAX})) {
        const std::string& its = one.request.name.empty() ? one.request.task_id : one.request.name;
        if (its != name || one.state != jobs::State::kSucceeded || one.started == 0) continue;
        runs.push_back((one.ended - one.started + 999) / 1'000);
    }
    if (runs.size() > kMostRuns) {
        runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(kMostRuns));
    }
    return of.costs->forecast(request, std::move(runs));
}

Value forecast_document(const Question& of, const cost::Forecast& told) {
    const auto units = [](cost::Micros amount) {
        return document::make_number(
            static_cast<double>(amount) / static_cast<double>(cost::kMicrosPerUnit), 6);
    };
    const std::string& currency = of.costs->accounts().prices().currency;
    return make_mapping({{"currency", currency},
                         {"perHour", units(told.per_hour)},
                         {"likely", document::only_if(told.runs != 0, units(told.p50))},
                         {"likelyAtMost", document::only_if(told.runs != 0, units(told.p90))},
                         {"atMost", units(told.most)},
                         {"earlierRuns", told.runs},
                         {"sentence", cost::sentence_of(told, currency)}});
}

Response submit(const Question& of) {
    const std::string key(of.request.header("idempotency-key"));
    if (key.size() > kMostKey) {
        return refusal({ErrorCode::kInvalidInput, "Idempotency-Key: longer than 200 bytes"});
    }
    auto request = jobs::read(of.request.body);
    if (!request) return refusal(request.error());
    const auto submitted = of.keeper.submit(of.asker, *std::move(request), key);
    if (!submitted) return refusal(submitted.error());
    Value all = document::make_sequence(
        submitted->jobs, [](const Record& record) { return to_document(record, Eyes::kOwner); });
    Value body = make_mapping({{"jobs", std::move(all)}});
    if (of.costs != nullptr) {
        const auto told = told_before(of, submitted->jobs.front().request);
        if (told.per_hour != 0) append(body, "forecast", forecast_document(of, told));
    }
    return json_answer(submitted->is_new ? 201 : 200, body);
}

/// What a job would cost, before it is handed in.
Response forecast(const Question& of) {
    if (of.costs == nullptr) return refusal({ErrorCode::kNotFound, kNoCosts});
    auto request = jobs::read(of.request.body);
    if (!request) return refusal(request.error());
    return json_answer(200, forecast_document(of, told_before(of, *request)));
}

Response costs(const Question& of) {
    if (of.costs == nullptr) return refusal({ErrorCode::kNotFound, kNoCosts});
    return of.costs->accounts().answer(of.request);
}

Response list(const Question& of) {
    Keeper::Filter filter;
    filter.most = kUsualList;
    if (const auto text = of.request.parameter("limit"); !text.empty()) {
        const auto most = parse_number<std::size_t>(text);
        if (!most || *most == 0 || *most > kMostListed) {
            return refusal({ErrorCode::kInvalidInput, "limit: expected 1 to 1000"});
        }
        filter.most = *most;
    }
    if (const auto text = of.request.parameter("above"); !text.empty()) {
        const auto above = parse_number<JobId>(text);
        if (!above)
            return refusal({ErrorCode::kInvalidInput, "above: expected the number of a job"});
        filter.above = *above;
    }
    const auto which = of.request.parameter("which");
    if (which == "living") filter.which = Keeper::Which::kLiving;
    if (which == "ended") filter.which = Keeper::Which::kEnded;
    if (!which.empty() && which != "all" && filter.which == Keeper::Which::kAll) {
        return refusal({ErrorCode::kInvalidInput, "which: expected all, living or ended"});
    }
    if (of.request.parameter("mine") == "true") filter.uid = of.asker.uid;
    filter.queue = std::string(of.request.parameter("queue"));
    ++filter.most;  // whether there are more
    auto found = of.keeper.list(filter);
    const bool more = found.size() == filter.most;
    if (more) found.pop_back();
    Value all = document::make_sequence(found, [&](const Record& record) {
        return to_document(record, eyes_of(of.asker, record));
    });
    return json_answer(200, make_mapping({{"jobs", std::move(all)}, {"more", more}}));
}

Response show(const Question& of) {
    const auto record = of.keeper.find(of.id);
    if (!record) return refusal(record.error());
    Value job = to_document(*record, eyes_of(of.asker, *record));
    if (eyes_of(of.asker, *record) == Eyes::kOwner) {
        const auto steps = of.keeper.steps(of.id);
        if (!steps) return refusal(steps.error());
        append(job, "steps", to_document(*steps));
        const bool kept = of.keeper.options().guard != nullptr;
        append(job, "limits",
               std::string(kept ? "GPU memory and compute by the guard"
                                : "GPU memory and compute are not held: the GPUs are simulated") +
                   (of.keeper.options().cgroup.empty()
                        ? "; host memory and CPU are not held: no control group, a process group"
                        : "; host memory and CPU by a control group"));
    }
    return json_answer(200, job);
}

Response explain(const Question& of) {
    const auto record = of.keeper.find(of.id);
    if (!record) return refusal(record.error());
    if (eyes_of(of.asker, *record) != Eyes::kOwner) {
        return refusal({ErrorCode::kPermission,
                        "job " + std::to_string(of.id) + " is of user " + record->user.name});
    }
    const auto outlook = of.keeper.outlook(of.id);
    if (!outlook) return refusal(outlook.error());
    return json_answer(200, to_document(*record, *outlook));
}

Response logs(const Question& of) {
    const auto text = of.request.parameter("from");
    const auto from =
        text.empty() ? std::optional<std::uint64_t>(0) : parse_number<std::uint64_t>(text);
    if (!from) return refusal({ErrorCode::kInvalidInput, "from: expected a number of bytes"});
    constexpr std::size_t kPart = std::size_t{256} << 10U;
    auto part = of.keeper.output(of.asker, of.id, *from, kPart);
    if (!part) return refusal(part.error());
    return {.status = 200,
            .content_type = "application/octet-stream",
            .body = std::move(part->bytes),
            .headers = {{"Aliquot-Next", std::to_string(part->next)},
                        {"Aliquot-Ended", part->ended ? "true" : "false"}}};
}

/// Its steps as server-sent events, those that were and those to come, until it has ended. They are numbered: who comes
/// again with Last-Event-ID hears only of later ones.
Response events(const Question& of) {
    const auto record = of.keeper.find(of.id);
    if (!record) return refusal(record.error());
    if (eyes_of(of.asker, *record) != Eyes::kOwner) {
        return refusal({ErrorCode::kPermission,
                        "job " + std::to_string(of.id) + " is of user " + record->user.name});
    }
    const auto told = parse_number<std::size_t>(of.request.header("last-event-id")).value_or(0);
    return {.status = 200,
            .content_type = "text/event-stream",
            .body = "",
            .headers = {{"Cache-Control", "no-store"}},
            .stream = [&keeper = of.keeper, id = of.id, told](http::Stream& stream) {
                tell_steps(keeper, id, told, stream);
            }};
}

Response cancel(const Question& of) { return told(of, of.keeper.cancel(of.asker, of.id), 202); }
Response retry(const Question& of) { return told(of, of.keeper.retry(of.asker, of.id), 202); }

Response remove(const Question& of) {
    const auto removed = of.keeper.remove(of.asker, of.id);
    if (!removed) return refusal(removed.error());
    return {.status = 204, .content_type = "application/json", .body = ""};
}

Response health(const Question& of) {
    Value devices = document::make_sequence(of.keeper.options().devices, [](const Device& one) {
        return make_mapping({{"index", one.index},
                             {"uuid", one.uuid},
                             {"model", one.model},
                             {"memoryBytes", one.memory_bytes}});
    });
    return json_answer(
        200, make_mapping({{"living", of.keeper.living()}, {"devices", std::move(devices)}}));
}

/// Those that wait, next first.
Response pending(const Question& of) {
    const auto queue = of.request.parameter("queue");
    const Keeper::Overview overview = of.keeper.overview(kMostListed, 0);
    std::vector<std::pair<std::uint32_t, Value>> lines;
    for (const Record& record : overview.jobs) {
        if (!jobs::is_waiting(record.state)) continue;
        if (!queue.empty() && record.request.queue != queue) continue;
        const auto start = overview.starts.find(record.id);
        const Keeper::Overview::Start when =
            start == overview.starts.end() ? Keeper::Overview::Start{} : start->second;
        lines.emplace_back(when.position == 0 ? UINT32_MAX : when.position,
                           pending_document(record, when));
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Value list = document::make_sequence();
    for (auto& line : lines) list.items.push_back(std::move(line.second));
    return json_answer(200, make_mapping({{"pending", std::move(list)}}));
}

/// Queues of one machine have no quota: they are what jobs name.
Response queues(const Question& of) {
    struct Counts {
        std::size_t pending = 0;
        std::size_t running = 0;
    };
    std::map<std::string, Counts> counts;
    for (const Record& record : of.keeper.overview(kMostListed, 0).jobs) {
        Counts& one = counts[record.request.queue.empty() ? "default" : record.request.queue];
        ++(jobs::is_waiting(record.state) ? one.pending : one.running);
    }
    Value list = document::make_sequence(counts, [](const auto& one) {
        return make_mapping({{"name", one.first},
                             {"active", true},
                             {"pending", one.second.pending},
                             {"running", one.second.running},
                             {"gpus", document::make_sequence()}});
    });
    return json_answer(200, make_mapping({{"queues", std::move(list)}}));
}

Response suspend(const Question& of) { return told(of, of.keeper.suspend(of.asker, of.id), 202); }
Response resume(const Question& of) { return told(of, of.keeper.resume(of.asker, of.id), 202); }

struct Page {
    Operation operation;
    Response (*answer)(const Question&);
};

constexpr std::array<Page, 17> kPages{{{{"POST", "/v1/jobs"}, submit},
                                       {{"GET", "/v1/jobs"}, list},
                                       {{"GET", "/v1/jobs/{id}"}, show},
                                       {{"DELETE", "/v1/jobs/{id}"}, remove},
                                       {{"GET", "/v1/jobs/{id}/explain"}, explain},
                                       {{"GET", "/v1/jobs/{id}/logs"}, logs},
                                       {{"GET", "/v1/jobs/{id}/events"}, events},
                                       {{"POST", "/v1/jobs/{id}/cancel"}, cancel},
                                       {{"POST", "/v1/jobs/{id}/suspend"}, suspend},
                                       {{"POST", "/v1/jobs/{id}/resume"}, resume},
                                       {{"POST", "/v1/jobs/{id}/retry"}, retry},
                                       {{"GET", "/v1/queues"}, queues},
                                       {{"GET", "/v1/pending"}, pending},
                                       {{"GET", "/v1/server"}, health},
                                       {{"GET", "/v1/cost"}, costs},
                                       {{"GET", "/allocation"}, costs},
                                       {{"POST", "/v1/cost/forecast"}, forecast}}};

/// Whether a path is of this form; the number in place of {id}.
std::optional<JobId> matched(std::string_view form, std::string_view path) {
    const auto at = form.find("{id}");
    if (at == std::string_view::npos) return form == path ? std::optional<JobId>(0) : std::nullopt;
    const std::string_view rest = form.substr(at + 4);
    if (path.size() <= at + rest.size() || path.substr(0, at) != form.substr(0, at) ||
        !path.ends_with(rest)) {
        return std::nullopt;
    }
    const auto id = parse_number<JobId>(path.substr(at, path.size() - at - rest.size()));
    return id && *id != 0 && *id <= INT64_MAX ? id : std::nullopt;
}

Response dispatch(Keeper& keeper, Costs* costs, const Request& request) {
    if (!request.local_user) {
        return refusal({ErrorCode::kPermission, "only processes of this machine are answered"});
    }
    std::vector<std::string_view> methods;
    for (const Page& page : kPages) {
        const auto id = matched(page.operation.path, request.path);
        if (!id) continue;
        if (page.operation.method != request.method) {
            methods.push_back(page.operation.method);
            continue;
        }
        const User asker = user_of(request.local_user->uid, request.local_user->gid);
        return page.answer({keeper, costs, request, asker, *id});
    }
    if (methods.empty()) return refusal({ErrorCode::kNotFound, "there is no such path here"});
    return http::wrong_method(join(methods));
}

}  // namespace

const std::vector<Operation>& operations() {
    static const std::vector<Operation> kAll = [] {
        std::vector<Operation> all;
        for (const Page& page : kPages) all.push_back(page.operation);
        return all;
    }();
    return kAll;
}

User user_of(uid_t uid, gid_t gid) {
    User user{.uid = uid, .gid = gid, .name = std::to_string(uid), .home = ""};
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16'384> buffer{};
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
        user.name = found->pw_name;
        user.home = found->pw_dir;
        user.gid = found->pw_gid;
    }
    return user;
}

http::Handler pages_of(Keeper& keeper, Costs* costs) {
    return [&keeper, costs](const Request& request) { return dispatch(keeper, costs, request); };
}

}  // namespace aliquot::job_server
