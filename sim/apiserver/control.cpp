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

Value state_of(const World& world) {
    Value counts = Value::object();
    {
        const std::lock_guard lock(world.counts_guard);
        for (const auto& one : world.counts)
            counts[one.first] = static_cast<std::int64_t>(one.second);
    }
    return Value::object({{"revision", static_cast<std::int64_t>(world.store.revision())},
                          {"watches", static_cast<std::int64_t>(world.faults.watches(""))},
                          {"requests", static_cast<std::int64_t>(world.requests.load())},
                          {"counts", std::move(counts)}});
}

}  // namespace

HttpAnswer answer_control(World& world, const HttpRequest& request) {
    const std::string action = request.path.substr(6);
    if (request.method == "GET") {
        return action == "state" ? answer_value(state_of(world)) : answer_failure(page_not_found());
    }
    if (request.method != "POST") return answer_failure(method_not_allowed());
    const auto body = parse_json(request.body.empty() ? "{}" : request.body);
    if (!body) return answer_failure(bad_request(body.error().message));
    const std::string& resource = body->value.at("resource").text();
    Value result = Value::object();
    if (action == "fault") {
        world.faults.inject(read_fault(body->value));
    } else if (action == "clear") {
        world.faults.clear();
    } else if (action == "compact") {
        world.store.compact();
    } else if (action == "break" || action == "expire") {
        const auto order =
            action == "break" ? WatchHandle::Order::kBreak : WatchHandle::Order::kExpire;
        result["watches"] = static_cast<std::int64_t>(world.faults.order(resource, order));
        world.store.interrupt();
    } else if (action == "log") {
        const Value& given = body->value;
        if (given.at("pod").text().empty() || given.at("container").text().empty()) {
            return answer_failure(bad_request("expected namespace, pod, container and text"));
        }
        world.logs.put(Call::key_of(given.at("namespace").text(), given.at("pod").text()),
                       given.at("container").text(), given.at("text").text());
    } else if (action == "hold") {
        world.faults.hold(resource);
    } else if (action == "release") {
        world.faults.release(resource);
    } else if (action == "settle") {
        result["settled"] =
            world.collector == nullptr || world.collector->settle(std::chrono::seconds(10));
    } else {
        return answer_failure(page_not_found());
    }
    return answer_value(result);
}

}  // namespace aliquot::sim::apiserver
