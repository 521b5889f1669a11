// SPDX-License-Identifier: Apache-2.0
// create and update.
#include "sim/apiserver/writes.h"

#include "base/text.h"
#include "sim/apiserver/conversion.h"
#include "sim/apiserver/decode.h"
#include "sim/apiserver/identity.h"
#include "sim/apiserver/list_options.h"
#include "sim/apiserver/pod_security.h"
#include "sim/apiserver/protobuf.h"
#include "sim/apiserver/strategy.h"
#include "sim/apiserver/table.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::string_view kBodyTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::size_t kObjectBytesMax = 1'500'000;

Outcome<Done> check_kind(const Call& call, Value& raw) {
    const std::string& version = raw.at("apiVersion").text();
    const std::string& kind = raw.at("kind").text();
    if (call.resource->custom && kind.empty()) {
        return bad_request("Object 'Kind' is missing in '" + to_json(raw) + "'");
    }
    if (version.empty()) raw["apiVersion"] = call.resource->api_version();
    if (kind.empty()) raw["kind"] = call.resource->kind;
    if (raw.at("apiVersion").text() != call.resource->api_version()) {
        return bad_request("the API version in the data (" + version +
                           ") does not match the expected API version (" +
                           call.resource->api_version() + ")");
    }
    if (raw.at("kind").text() != call.resource->kind) {
        return bad_request(call.resource->kind + " in version \"" + call.resource->version +
                           "\" cannot be handled as a " + call.resource->kind + ": converting (" +
                           kind + ") to (" + call.resource->kind + "): unknown conversion");
    }
    return Done{};
}

Outcome<Done> report_unknown(Call& call, const std::vector<std::string>& unknown,
                             const std::vector<std::string>& duplicates) {
    if (call.field_validation == "Ignore" || (unknown.empty() && duplicates.empty())) return Done{};
    std::vector<std::string> lines;
    for (const std::string& path : unknown) lines.push_back("unknown field \"" + path + "\"");
    for (const std::string& path : duplicates) {
        lines.push_back(call.resource->custom ? "key \"" + path + "\" already set in map"
                                              : "duplicate field \"" + path + "\"");
    }
    if (call.field_validation == "Strict") {
        return bad_request(call.resource->kind + " in version \"" + call.resource->version +
                           "\" cannot be handled as a " + call.resource->kind +
                           ": strict decoding error: " + join(lines, ", "));
    }
    for (std::string& line : lines) call.warnings.push_back(std::move(line));
    return Done{};
}

Failure too_large(const Value& object) {
    Failure failure;
    failure.code = 413;
    failure.reason = "RequestEntityTooLarge";
    failure.message = "Request entity too large: limit is 3145728";
    failure.name = object.at_path("metadata.name").text();
    return failure;
}

Outcome<Parsed> read_protobuf_body(const Call& call) {
    auto value = read_protobuf(call.http.body);
    if (value) return Parsed{std::move(*value), {}};
    if (value.error().code == ErrorCode::kNotFound) return unsupported_media_type(kBodyTypes);
    return bad_request("the object provided is unrecognized (must be of type " +
                       call.kind_of_body() + "): " + value.error().message);
}

bool spec_differs(const Value& left, const Value& right) {
    for (const auto* side : {&left, &right}) {
        for (const Member& member : side->members()) {
            if (member.name == "metadata" || member.name == "status") continue;
            if (left.at(member.name) != right.at(member.name)) return true;
        }
    }
    return false;
}

bool is_over(const Value& object) {
    const Value& metadata = object.at("metadata");
    if (metadata.at("deletionTimestamp").is_null()) return false;
    if (!metadata.at("finalizers").empty()) return false;
    if (object.at("kind").text() == "Namespace" && object.at("apiVersion").text() == "v1") {
        return object.at_path("spec.finalizers").empty();
    }
    return metadata.at("deletionGracePeriodSeconds").integer(0) == 0;
}

}  // namespace

Manager manager_of(const Call& call, bool applies) {
    Manager manager;
    manager.name = call.field_manager.empty() ? manager_of_agent(call.http.header("user-agent"))
                                              : call.field_manager;
    manager.applies = applies;
    manager.api_version = call.resource->api_version();
    manager.subresource = call.subresource == nullptr ? "" : call.subresource->name;
    manager.leaves_status = call.subresource == nullptr && call.resource->find("status") != nullptr;
    return manager;
}

Outcome<Parsed> read_body(const Call& call) {
    const std::string_view header = call.http.header("content-type");
    const std::string type = lower(trim(header.substr(0, header.find(';'))));
    if (call.http.body.empty()) return bad_request("unexpected EOF");
    if (type == kProtobuf) return read_protobuf_body(call);
    const bool yaml = type.ends_with("yaml");
    if (!yaml && !type.empty() && !type.ends_with("json") && type != "*/*") {
        return unsupported_media_type(kBodyTypes);
    }
    auto parsed = yaml ? parse_yaml(call.http.body) : parse_json(call.http.body);
    if (!parsed) {
        return bad_request("the object provided is unrecognized (must be of type " +
                           call.kind_of_body() + "): couldn't get version/kind; " +
                           parsed.error().message);
    }
    if (!parsed->value.is_object() && call.verb != "patch") {
        return bad_request("the object provided is unrecognized (must be of type " +
                           call.kind_of_body() + "): expected an object");
    }
    return std::move(*parsed);
}

Outcome<Value> decode_object(Call& call, const Value& raw,
                             const std::vector<std::string>& duplicates, bool with_defaults) {
    Value given = raw;
    auto kind = check_kind(call, given);
    if (!kind) return kind.failure();
    Decoded decoded = call.resource->custom ? decode_custom(given, *call.resource->type)
                                            : decode_built_in(given, *call.resource->type);
    if (!decoded.mismatches.empty()) {
        return bad_request(call.resource->kind + " in version \"" + call.resource->version +
                           "\" cannot be handled as a " + call.resource->kind + ": " +
                           decoded.mismatches[0]);
    }
    auto reported = report_unknown(call, decoded.unknown, duplicates);
    if (!reported) return reported.failure();
    if (!decoded.value.at("metadata").is_object()) decoded.value["metadata"] = Value::object();
    if (with_defaults) {
        if (call.resource->custom) {
            apply_schema_defaults(decoded.value, *call.resource->type);
        } else {
            apply_defaults(decoded.value, *call.resource);
        }
    }
    return std::move(decoded.value);
}

Outcome<Value> read_object(Call& call, bool with_defaults) {
    auto body = read_body(call);
    if (!body) return body.failure();
    return decode_object(call, body->value, body->duplicates, with_defaults);
}

Outcome<EntryPtr> store_new(Call& call, Value object, bool track) {
    auto named = name_new(call, object);
    if (!named) return named.failure();
    const Value managers = object.at_path("metadata.managedFields");
    stamp_new(call, object);
    const std::string name = object.at_path("metadata.name").text();
    call.name = name;
    prepare_new(call, object);
    auto admitted = admit(call, object, Value(), "CREATE");
    if (!admitted) return admitted.failure();
    if (call.resource->custom) {
        apply_schema_defaults(object, *call.resource->type);
    } else {
        apply_defaults(object, *call.resource);
    }
    std::vector<Cause> causes = validate_object(call, object, Value());
    if (!causes.empty()) {
        return invalid(call.resource->kind, call.resource->group, name, std::move(causes));
    }
    if (track) {
        track_update(Value(), object, *call.resource->type, manager_of(call, false));
    } else if (!managers.is_null()) {
        object["metadata"]["managedFields"] = managers;
    }
    auto safe = check_pod_security(call, object, Value());
    if (!safe) return safe.failure();
    auto accepted = call_validating_webhooks(call, object, Value(), "CREATE");
    if (!accepted) return accepted.failure();
    object = to_storage(std::move(object), *call.resource, call.context.resources);
    const std::string& storage = call.resource->storage;
    if (to_json(object).size() > kObjectBytesMax) return too_large(object);
    if (call.dry_run) {
        if (call.context.store.get(storage, call.key()) != nullptr) {
            return already_exists(call.resource->name, call.resource->group, name);
        }
        return std::make_shared<const Entry>(std::move(object), 0);
    }
    EntryPtr entry = call.context.store.create(storage, call.key(), std::move(object));
    if (entry == nullptr) {
        return already_exists(call.resource->name, call.resource->group, name);
    }
    after_write(call.context, *call.resource, entry->object);
    return entry;
}

Outcome<Written> store_changed(Call& call, const EntryPtr& old_entry, Value object, bool track) {
    const Value old = to_version(old_entry->object, *call.resource);
    auto checked = check_identity(call, old, object);
    if (!checked) return checked.failure();
    keep_identity(old, object);
    prepare_changed(call, old, object);
    auto admitted = admit(call, object, old, "UPDATE");
    if (!admitted) return admitted.failure();
    if (call.resource->custom) {
        apply_schema_defaults(object, *call.resource->type);
    } else {
        apply_defaults(object, *call.resource);
    }
    if (has_generation(*call.resource) && spec_differs(old, object)) {
        object["metadata"]["generation"] = old.at_path("metadata.generation").integer() + 1;
    }
    std::vector<Cause> causes = validate_object(call, object, old);
    if (!causes.empty()) {
        return invalid(call.resource->kind, call.resource->group, call.name, std::move(causes));
    }
    if (track) track_update(old, object, *call.resource->type, manager_of(call, false));
    object["metadata"]["resourceVersion"] = old.at_path("metadata.resourceVersion");
    auto safe = check_pod_security(call, object, old);
    if (!safe) return safe.failure();
    auto accepted = call_validating_webhooks(call, object, old, "UPDATE");
    if (!accepted) return accepted.failure();
    object = to_storage(std::move(object), *call.resource, call.context.resources);
    if (object == old_entry->object) return Written{old_entry};
    if (to_json(object).size() > kObjectBytesMax) return too_large(object);
    if (call.dry_run) {
        return Written{std::make_shared<const Entry>(std::move(object), old_entry->revision)};
    }
    const std::string& storage = call.resource->storage;
    const bool over = is_over(object);
    EntryPtr entry =
        call.context.store.update(storage, call.key(), std::move(object), old_entry->revision);
    if (entry == nullptr) return Written{nullptr, true};
    if (over) {
        EntryPtr last = call.context.store.remove(storage, call.key(), entry->revision);
        if (last != nullptr) {
            after_removal(call.context, *call.resource, last->object);
            return Written{last};
        }
    }
    after_write(call.context, *call.resource, entry->object);
    return Written{entry};
}

HttpAnswer answer_entry(Call& call, const EntryPtr& entry, int status) {
    const auto wanted = read_acceptance(call.http, true);
    if (!wanted) return answer_failure(wanted.failure());
    HttpAnswer answer;
    answer.status = status;
    if (wanted->form == Acceptance::Form::kTable) {
        answer.body =
            to_json(make_table(*call.resource, {to_version(entry->object, *call.resource)},
                               include_object(call.http)));
    } else {
        append_entry(answer.body, *entry, *call.resource, *wanted);
        answer.body += '\n';
    }
    return answer;
}

HttpAnswer create_object(Call& call) {
    auto object = read_object(call);
    if (!object) return answer_failure(object.failure());
    auto entry = store_new(call, std::move(*object));
    if (!entry) return answer_failure(entry.failure());
    return answer_entry(call, *entry, 201);
}

HttpAnswer update_object(Call& call) {
    auto object = read_object(call);
    if (!object) return answer_failure(object.failure());
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr old = call.context.store.get(call.resource->storage, call.key());
        if (old == nullptr) {
            if (call.subresource != nullptr || !creates_on_update(*call.resource)) {
                return answer_failure(
                    not_found(call.resource->name, call.resource->group, call.name));
            }
            auto entry = store_new(call, std::move(*object));
            if (!entry) return answer_failure(entry.failure());
            return answer_entry(call, *entry, 201);
        }
        auto written = store_changed(call, old, *object);
        if (!written) return answer_failure(written.failure());
        if (!written->lost_race) return answer_entry(call, written->entry, 200);
    }
    return answer_failure(conflict(call.resource->name, call.resource->group, call.name,
                                   "the object has been modified; please apply your changes to the "
                                   "latest version and try again"));
}

}  // namespace aliquot::sim::apiserver
