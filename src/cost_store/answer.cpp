// SPDX-License-Identifier: Apache-2.0
// What the accounts answers over HTTP.
#include <chrono>

#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cost_store/accounts.h"
#include "document/json.h"
#include "http/json_answer.h"

namespace aliquot::cost_store {
namespace {

using cost::TimeMs;

constexpr TimeMs kUsual = 7 * cost::kDayMs;
constexpr TimeMs kLongest = 10 * 366 * cost::kDayMs;

http::Response failed(const Error& error) {
    if (error.code == ErrorCode::kInvalidInput) return http::refusal(error);
    return http::refusal({ErrorCode::kUnavailable, error.message});
}

/// "7d" before now, or a time. Empty: neither.
std::optional<TimeMs> moment(std::string_view text, TimeMs now) {
    if (const auto back = parse_duration(text)) {
        return back->count() > kLongest ? std::nullopt : std::optional(now - back->count());
    }
    auto time = parse_rfc3339(text);
    if (!time) time = parse_rfc3339(concat({text, "T00:00:00Z"}));
    if (!time) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::milliseconds>(time->time_since_epoch()).count();
}

std::string_view type_of(std::string_view output) {
    if (output == "json") return "application/json";
    if (output == "csv" || output == "focus") return "text/csv; charset=utf-8";
    return "text/plain; charset=utf-8";
}

}  // namespace

Result<Question> question_of(std::string_view by, std::string_view since, std::string_view until,
                             TimeMs now) {
    Question question{.begin = now - kUsual, .end = now};
    if (!by.empty()) {
        const auto word = cost::by_of(by);
        if (!word) {
            return Error{
                ErrorCode::kInvalidInput,
                "by: '" + one_line(by, 40) + "' found, expected one of " + join(cost::by_words())};
        }
        question.by = *word;
    }
    const auto take = [&](std::string_view name, std::string_view text, TimeMs& into) {
        if (text.empty()) return Result<Done>(Done{});
        const auto time = moment(text, now);
        if (time) into = *time;
        if (time) return Result<Done>(Done{});
        return Result<Done>(Error{ErrorCode::kInvalidInput,
                                  concat({name, ": '", one_line(text, 40),
                                          "' found, expected a duration as 12h or 7d, a day or a "
                                          "time as 2026-11-27T14:00:00Z"})});
    };
    if (auto taken = take("since", since, question.begin); !taken) return std::move(taken).error();
    if (auto taken = take("until", until, question.end); !taken) return std::move(taken).error();
    if (question.begin >= question.end) {
        return Error{ErrorCode::kInvalidInput, "since: expected a time before until"};
    }
    return question;
}

http::Response Accounts::costs(const http::Request& request) {
    const auto question = question_of(request.parameter("by"), request.parameter("since"),
                                      request.parameter("until"), now());
    if (!question) return failed(question.error());
    std::string_view output = request.parameter("output");
    if (output.empty()) output = "json";
    auto text = rendered(*question, output);
    if (!text) return failed(text.error());
    return {.content_type = std::string(type_of(output)), .body = *std::move(text)};
}

http::Response Accounts::allocation(const http::Request& request) {
    const auto window = cost::parse_window(request.parameter("window"), now());
    if (!window) {
        return http::refusal(400, "invalid",
                             "window: expected today, yesterday, week, lastweek, month, lastmonth, "
                             "a duration as 7d or two "
                             "times with a comma between, of 3 years at most");
    }
    cost::AllocationQuery query{.begin = window->first, .end = window->second};
    std::string_view aggregate = request.parameter("aggregate");
    auto by = aggregate.empty() ? std::optional(cost::By::kPod) : cost::by_of(aggregate);
    if (aggregate == "controller") by = cost::By::kJob;
    if (!by) {
        return http::refusal(400, "invalid",
                             "aggregate: expected one of " + join(cost::by_words()));
    }
    query.by = *by;
    query.with_idle = request.parameter("includeIdle") == "true";
    if (const auto text = request.parameter("step"); !text.empty()) {
        const auto step = parse_duration(text);
        if (!step || step->count() < cost::kHourMs) {
            return http::refusal(400, "invalid", "step: expected a duration of 1h or more");
        }
        query.step = step->count();
    }
    if (request.parameter("accumulate") == "true") query.step = 0;
    if (const std::size_t parts = parts_of(query); parts > cost::kMostParts) {
        return http::refusal(400, "invalid",
                             "step: the window has " + std::to_string(parts) +
                                 " of them, and at most " + std::to_string(cost::kMostParts) +
                                 " are answered; ask with a longer step or a shorter window");
    }
    freshen();
    const std::scoped_lock lock(store_mutex_);
    std::string body;
    auto done = with_store([&](Store& store) -> Result<Done> {
        cost::History names;
        const auto rows = store.rows_between(query.begin, query.end, names);
        if (!rows) return rows.error();
        body = document::to_json_line(cost::opencost_of(*rows, names, query)) + "\n";
        return Done{};
    });
    if (!done) return failed(done.error());
    return {.content_type = "application/json", .body = std::move(body)};
}

http::Response Accounts::answer(const http::Request& request) {
    if (request.path == "/v1/cost") return costs(request);
    if (request.path.starts_with("/allocation")) return allocation(request);
    return http::refusal(404, "not-found", "there is no such path here");
}

}  // namespace aliquot::cost_store
