// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/control.h"

#include <algorithm>

#include "sim/apiserver/collector.h"

namespace aliquot::sim::apiserver {

namespace {

ApiFault read_fault(const Value& given) {
    ApiFault fault;
    fault.method = given.at("method").text();
    fault.path = given.at("path").text();
    fault.resource = given.at("resource").text();
    fault.verb = given.at("verb").text();
    fault.status = static_cast<int>(given.at("status").integer());
    fault.retry_after_seconds = static_cast<int>(given.at("retryAfterSeconds").integer());
    fault.delay = std::chrono::milliseconds(
        std::clamp<std::int64_t>(given.at("delayMilliseconds").integer(), 0, 600'000));
    fault.break_connection = given.at("breakConnection").boolean();
    fault.after_write = given.at("afterWrite").boolean();
    fault.times =
        static_cast<unsigned>(std::clamp<std::int64_t>(given.at("times").integer(1), 0, 1'000'000));
    return fault;
}

Value state_of(const ServerContext& context) {
    Value counts = Value::object();
    {
        const std::lock_guard lock(context.counts_guard);
        for (const auto& one : context.counts)
            counts[one.first] = static_cast<std::int64_t>(one.second);
    }
    return Value::object({{"revision", static_cast<std::int64_t>(context.store.revision())},
                          {"watches", static_cast<std::int64_t>(context.faults.watches(""))},
                          {"requests", static_cast<std::int64_t>(context.requests.load())},
                          {"counts", std::move(counts)}});
}

}  // namespace

HttpAnswer answer_control(ServerContext& context, const HttpRequest& request) {
    const std::string action = request.path.substr(6);
    if (request.method == "GET") {
        return action == "state" ? answer_value(state_of(context))
                                 : answer_failure(page_not_found());
    }
    if (request.method != "POST") return answer_failure(method_not_allowed());
    const auto body = parse_json(request.body.empty() ? "{}" : request.body);
    if (!body) return answer_failure(bad_request(body.error().message));
    const std::string& resource = body->value.at("resource").text();
    Value result = Value::object();
    if (action == "fault") {
        context.faults.inject(read_fault(body->value));
    } else if (action == "clear") {
        context.faults.clear();
    } else if (action == "compact") {
        context.store.compact();
    } else if (action == "break" || action == "expire") {
        const auto order =
            action == "break" ? WatchHandle::Order::kBreak : WatchHandle::Order::kExpire;
        result["watches"] = static_cast<std::int64_t>(context.faults.order(resource, order));
        context.store.interrupt();
    } else if (action == "log") {
        const Value& given = body->value;
        if (given.at("pod").text().empty() || given.at("container").text().empty()) {
            return answer_failure(bad_request("expected namespace, pod, container and text"));
        }
        context.logs.put(Call::key_of(given.at("namespace").text(), given.at("pod").text()),
                         given.at("container").text(), given.at("text").text());
    } else if (action == "hold") {
        context.faults.hold(resource);
    } else if (action == "release") {
        context.faults.release(resource);
    } else if (action == "settle") {
        result["settled"] =
            context.collector == nullptr || context.collector->settle(std::chrono::seconds(10));
    } else {
        return answer_failure(page_not_found());
    }
    return answer_value(result);
}

}  // namespace aliquot::sim::apiserver
