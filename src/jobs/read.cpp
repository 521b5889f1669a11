// SPDX-License-Identifier: Apache-2.0
#include "jobs/read.h"

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "document/build.h"
#include "document/json.h"

namespace aliquot::jobs {
namespace {

using document::Value;

Error wrong(const std::string& path, const Value& value, const char* expected) {
    return {ErrorCode::kInvalidInput,
            path + ": " + describe(value) + " found, " + expected + " expected"};
}

// One way for each kind of field to be read and to be written.

Result<Done> take(const std::string& path, const Value& value, std::string& target) {
    if (value.is_mapping() || value.is_sequence()) return wrong(path, value, "a text");
    if (value.kind == Value::Kind::kNull) return Done{};
    target = value.scalar;
    return Done{};
}

template <class Number>
requires std::integral<Number> Result<Done> take(const std::string& path, const Value& value,
                                                 Number& target) {
    if (value.kind == Value::Kind::kNull) return Done{};
    const auto number = value.kind == Value::Kind::kInteger || value.is_string()
                            ? parse_number<Number>(value.scalar)
                            : std::nullopt;
    if (!number) return wrong(path, value, "a whole number in range");
    target = *number;
    return Done{};
}

Result<Done> take(const std::string& path, const Value& value, bool& target) {
    if (value.kind != Value::Kind::kBool) return wrong(path, value, "true or false");
    target = lower(value.scalar) == "true";
    return Done{};
}

template <class Item>
Result<Done> take(const std::string& path, const Value& value, std::vector<Item>& target) {
    if (value.kind == Value::Kind::kNull) return Done{};
    if (!value.is_sequence()) return wrong(path, value, "a list");
    target.clear();
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        Item item{};
        auto taken = take(path + "[" + std::to_string(i) + "]", value.items[i], item);
        if (!taken) return taken;
        target.push_back(std::move(item));
    }
    return Done{};
}

Result<Done> take(const std::string& path, const Value& value,
                  std::vector<std::pair<std::string, std::string>>& target) {
    if (value.kind == Value::Kind::kNull) return Done{};
    if (!value.is_mapping()) return wrong(path, value, "a mapping of names to texts");
    target.clear();
    for (const auto& entry : value.entries) {
        std::string text;
        auto taken = take(path + "." + entry.first.scalar, entry.second, text);
        if (!taken) return taken;
        target.emplace_back(entry.first.scalar, std::move(text));
    }
    return Done{};
}

Value written(const std::string& text, Secrets /*secrets*/) { return document::make_string(text); }
template <class Number>
requires std::integral<Number> Value written(Number number, Secrets /*secrets*/) {
    return document::Built(number).node;
}
template <class Item>
Value written(const std::vector<Item>& items, Secrets /*secrets*/) {
    return document::Built(items).node;
}
Value written(const std::vector<std::pair<std::string, std::string>>& texts, Secrets secrets) {
    Value mapping = document::make_mapping();
    for (const auto& [name, value] : texts) {
        append(mapping, name, secrets == Secrets::kTell ? value : std::string("(hidden)"));
    }
    return mapping;
}

/// The one list of fields: calls `each` with the key and the member of every field.
template <class Subject, class Each>
void for_each_field(Subject& request, const Each& each) {
    each("task_id", request.task_id);
    each("name", request.name);
    each("image", request.image);
    each("container", request.container);
    each("namespace", request.in_namespace);
    each("queue", request.queue);
    each("user", request.user);
    each("priority", request.priority);
    each("priority_class", request.priority_class);
    each("gpu_count", request.gpu_count);
    each("any_gpu_count", request.any_gpu_count);
    each("gpu_type", request.gpu_type);
    each("gpu_prefer", request.gpu_prefer);
    each("gpu_memory", request.gpu_memory);
    each("gpu_compute", request.gpu_compute);
    each("gpu_resource", request.gpu_resource);
    each("memory", request.memory);
    each("cpu", request.cpu);
    each("shm", request.shm);
    each("workspace", request.workspace);
    each("model_cache", request.model_cache);
    each("model_cache_path", request.model_cache_path);
    each("instance_type", request.instance_type);
    each("toleration", request.toleration);
    each("spot", request.spot);
    each("command", request.command);
    each("env", request.env);
    each("workdir", request.workdir);
    each("deadline_seconds", request.deadline_seconds);
    each("ttl_seconds", request.ttl_seconds);
    each("retries", request.retries);
    each("restart_policy", request.restart_policy);
    each("array", request.array);
    each("gang", request.gang);
    each("after", request.after);
    each("no_queue", request.no_queue);
    each("cpu_after_seconds", request.cpu_after_seconds);
    each("idle_after_seconds", request.idle_after_seconds);
}

std::vector<std::string_view> keys() {
    std::vector<std::string_view> found;
    Request request;
    for_each_field(request, [&](const char* key, auto&) { found.emplace_back(key); });
    return found;
}

}  // namespace

Result<Request> read(const Value& value) {
    if (!value.is_mapping()) {
        return Error{ErrorCode::kInvalidInput,
                     describe(value) + " found, a mapping such as {\"task_id\": \"t1\"} expected"};
    }
    const auto known = keys();
    for (const auto& entry : value.entries) {
        const std::string& key = entry.first.scalar;
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            return Error{ErrorCode::kInvalidInput, one_line(key, 80) + ": no field of a job" +
                                                       did_you_mean(nearest_word(key, known))};
        }
    }
    Request request;
    Result<Done> done = Done{};
    for_each_field(request, [&](const char* key, auto& field) {
        const Value* const found = value.find(key);
        if (found != nullptr && done) done = take(key, *found, field);
    });
    if (!done) return std::move(done).error();
    return request;
}

Result<Request> read(std::string_view text) {
    const auto value = document::parse_object(text);
    if (!value) return value.error();
    return read(*value);
}

Value to_document(const Request& request, Secrets secrets) {
    const Request usual;
    std::vector<std::pair<std::string, Value>> defaults;
    for_each_field(usual, [&](const char* key, const auto& field) {
        defaults.emplace_back(key, written(field, Secrets::kTell));
    });
    Value mapping = document::make_mapping();
    std::size_t at = 0;
    for_each_field(request, [&](const char* key, const auto& field) {
        const std::string before = document::to_json_line(defaults[at++].second);
        if (document::to_json_line(written(field, Secrets::kTell)) == before) return;
        append(mapping, key, written(field, secrets));
    });
    return mapping;
}

}  // namespace aliquot::jobs
