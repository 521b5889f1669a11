// SPDX-License-Identifier: Apache-2.0
// The verb patch, in its four kinds.
#include "base/text.h"
#include "sim/apiserver/conversion.h"
#include "sim/apiserver/patch.h"
#include "sim/apiserver/strategy.h"
#include "sim/apiserver/writes.h"

namespace aliquot::sim::apiserver {

namespace {

enum class PatchKind : std::uint8_t { kJson, kMerge, kStrategic, kApply };

constexpr std::string_view kPatchTypes =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
constexpr std::string_view kPatchTypesBuiltIn =
    "application/json-patch+json, application/merge-patch+json, "
    "application/strategic-merge-patch+json, application/apply-patch+yaml";

Outcome<PatchKind> kind_of(const Call& call) {
    const std::string_view header = call.http.header("content-type");
    const std::string type = lower(trim(header.substr(0, header.find(';'))));
    if (type == "application/json-patch+json") return PatchKind::kJson;
    if (type == "application/merge-patch+json") return PatchKind::kMerge;
    if (type == "application/strategic-merge-patch+json" && !call.resource->custom) {
        return PatchKind::kStrategic;
    }
    if (type == "application/apply-patch+yaml") return PatchKind::kApply;
    return unsupported_media_type(call.resource->custom ? kPatchTypes : kPatchTypesBuiltIn);
}

Outcome<Value> patched(const Call& call, PatchKind kind, const Value& old, const Value& patch) {
    if (kind == PatchKind::kMerge) {
        if (!patch.is_object()) return bad_request("error decoding patch: expected an object");
        Value made = old;
        apply_merge_patch(made, patch);
        return made;
    }
    auto made = kind == PatchKind::kJson ? apply_json_patch(old, patch)
                                         : apply_strategic_patch(old, patch, *call.resource->type);
    if (made) return std::move(*made);
    if (kind == PatchKind::kJson && patch.is_array()) {
        Failure failure = invalid(call.resource->name, call.resource->group, call.name, {});
        failure.reason = "Invalid";
        failure.message = "the server rejected our request due to an error in our request: " +
                          made.error().message;
        return failure;
    }
    return bad_request(made.error().message);
}

HttpAnswer race_lost(const Call& call) {
    return answer_failure(conflict(call.resource->name, call.resource->group, call.name,
                                   "the object has been modified; please apply your changes to the "
                                   "latest version and try again"));
}

HttpAnswer change(Call& call, PatchKind kind, const Value& patch,
                  const std::vector<std::string>& duplicates) {
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr old = call.context.store.get(call.resource->storage, call.key());
        if (old == nullptr) {
            return answer_failure(not_found(call.resource->name, call.resource->group, call.name));
        }
        auto made = patched(call, kind, to_version(old->object, *call.resource), patch);
        if (!made) return answer_failure(made.failure());
        auto object = decode_object(call, *made, duplicates);
        if (!object) return answer_failure(object.failure());
        auto written = store_changed(call, old, std::move(*object));
        if (!written) return answer_failure(written.failure());
        if (!written->lost_race) return answer_entry(call, written->entry, 200);
        call.warnings.clear();
    }
    return race_lost(call);
}

Outcome<Value> laid_over(Call& call, const Value& live, const Value& config) {
    return apply_config(live, config, *call.resource->type, manager_of(call, true),
                        call.http.flag("force"), call.resource->name, call.resource->group);
}

/// One try of a server-side apply; nullopt: somebody else was faster.
std::optional<HttpAnswer> try_apply(Call& call, const Value& config) {
    const EntryPtr old = call.context.store.get(call.resource->storage, call.key());
    if (old == nullptr) {
        if (call.subresource != nullptr) {
            return answer_failure(not_found(call.resource->name, call.resource->group, call.name));
        }
        if (!config.at_path("metadata.uid").text().empty()) {
            return answer_failure(conflict(call.resource->name, call.resource->group, call.name,
                                           "uid mismatch: the provided object specified uid " +
                                               config.at_path("metadata.uid").text() +
                                               ", and no existing object was found"));
        }
        auto merged = laid_over(call, Value(), config);
        if (!merged) return answer_failure(merged.failure());
        const Value managers = merged->at_path("metadata.managedFields");
        auto object = decode_object(call, *merged, {});
        if (!object) return answer_failure(object.failure());
        (*object)["metadata"]["managedFields"] = managers;
        auto entry = store_new(call, std::move(*object), false);
        if (!entry) {
            if (entry.failure().reason == "AlreadyExists") return std::nullopt;
            return answer_failure(entry.failure());
        }
        return answer_entry(call, *entry, 201);
    }
    const Value live = to_version(old->object, *call.resource);
    auto merged = laid_over(call, live, config);
    if (!merged) return answer_failure(merged.failure());
    auto object = decode_object(call, *merged, {});
    if (!object) return answer_failure(object.failure());
    if (same_but_managers(live, *object)) {
        // Times alone are no change.
        Value with_old_times = *object;
        const auto& before = live.at_path("metadata.managedFields").items();
        auto& after = with_old_times["metadata"]["managedFields"].items();
        bool same = before.size() == after.size();
        for (std::size_t i = 0; same && i < after.size(); ++i) {
            after[i]["time"] = before[i].at("time");
            same = after[i] == before[i];
        }
        if (same) object = std::move(with_old_times);
    }
    auto written = store_changed(call, old, std::move(*object), false);
    if (!written) return answer_failure(written.failure());
    if (written->lost_race) return std::nullopt;
    return answer_entry(call, written->entry, 200);
}

HttpAnswer apply(Call& call, const Value& patch, const std::vector<std::string>& duplicates) {
    if (call.field_manager.empty()) {
        return answer_failure(invalid("PatchOptions", "meta.k8s.io", "",
                                      {required("fieldManager", "is required for apply patch")}));
    }
    if (!patch.is_object() || patch.at("kind").text().empty() ||
        patch.at("apiVersion").text().empty()) {
        return answer_failure(bad_request("error decoding YAML: Object 'Kind' is missing"));
    }
    auto config = decode_object(call, patch, duplicates, false);
    if (!config) return answer_failure(config.failure());
    if (config->at_path("metadata.name").text().empty()) {
        return answer_failure(
            bad_request("the name of the object (" + call.name +
                        " based on URL) was undeterminable: name must be provided"));
    }
    if (config->at_path("metadata.name").text() != call.name) {
        return answer_failure(
            bad_request("the name of the object (" + config->at_path("metadata.name").text() +
                        ") does not match the name on the URL (" + call.name + ")"));
    }
    if (call.subresource != nullptr && call.subresource->name == "status") {
        std::erase_if(config->members(), [](const Member& member) {
            return member.name != "apiVersion" && member.name != "kind" &&
                   member.name != "metadata" && member.name != "status";
        });
    } else if (call.resource->find("status") != nullptr) {
        config->erase("status");
    }
    for (int attempt = 0; attempt < 10; ++attempt) {
        auto answer = try_apply(call, *config);
        if (answer) return *answer;
    }
    return race_lost(call);
}

}  // namespace

HttpAnswer patch_object(Call& call) {
    const auto kind = kind_of(call);
    if (!kind) return answer_failure(kind.failure());
    auto body = read_body(call);
    if (!body) return answer_failure(body.failure());
    if (*kind == PatchKind::kApply) return apply(call, body->value, body->duplicates);
    if (call.http.has_parameter("force")) {
        return answer_failure(
            invalid("PatchOptions", "meta.k8s.io", "",
                    {forbidden_field("force", "may not be specified for non-apply patch")}));
    }
    return change(call, *kind, body->value, body->duplicates);
}

}  // namespace aliquot::sim::apiserver
