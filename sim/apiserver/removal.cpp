// SPDX-License-Identifier: Apache-2.0
// delete and deletecollection.
#include "sim/apiserver/removal.h"

#include <algorithm>

#include "base/number.h"
#include "base/time_text.h"
#include "sim/apiserver/conversion.h"
#include "sim/apiserver/list_options.h"
#include "sim/apiserver/strategy.h"
#include "sim/apiserver/writes.h"

namespace aliquot::sim::apiserver {

namespace {

Value success(const Resource& resource, const Value& object) {
    Value details = Value::object({{"name", object.at_path("metadata.name")},
                                   {"kind", resource.name},
                                   {"uid", object.at_path("metadata.uid")}});
    if (!resource.group.empty()) details["group"] = resource.group;
    return Value::object({{"kind", "Status"},
                          {"apiVersion", "v1"},
                          {"metadata", Value::object()},
                          {"status", "Success"},
                          {"details", std::move(details)}});
}

/// Kinds whose removal is answered with the object.
bool returns_object(const Resource& resource) {
    static const std::vector<std::string_view> kThese = {
        "/pods",         "/services",       "/serviceaccounts",   "/persistentvolumeclaims",
        "/podtemplates", "/resourcequotas", "/persistentvolumes", "/limitranges"};
    return std::ranges::find(kThese, resource.storage) != kThese.end();
}

void add_finalizer(Value& object, std::string_view name) {
    Value& list = object["metadata"]["finalizers"];
    const Value mark = name;
    if (std::ranges::find(list.items(), mark) == list.items().end()) list.push(mark);
}

void drop_finalizer(Value& object, std::string_view name) {
    Value* list = object.find_path("metadata.finalizers");
    if (list == nullptr) return;
    std::erase_if(list->items(), [&](const Value& one) { return one.text() == name; });
    if (list->items().empty()) object.erase_path("metadata.finalizers");
}

/// How long a pod gets; other kinds go at once.
std::int64_t grace_of(const Resource& resource, const Value& object,
                      const RemovalOptions& options) {
    if (resource.storage != "/pods") return 0;
    const std::string& phase = object.at_path("status.phase").text();
    if (object.at_path("spec.nodeName").text().empty() || phase == "Failed" ||
        phase == "Succeeded") {
        return 0;
    }
    return options.grace_seconds.value_or(
        object.at_path("spec.terminationGracePeriodSeconds").integer(30));
}

Outcome<Done> check_preconditions(const Call& call, const Value& object,
                                  const RemovalOptions& options) {
    const std::string& uid = object.at_path("metadata.uid").text();
    if (!options.uid.empty() && options.uid != uid) {
        return conflict(call.resource->name, call.resource->group, call.name,
                        "Precondition failed: UID in precondition: " + options.uid +
                            ", UID in object meta: " + uid);
    }
    const std::string& version = object.at_path("metadata.resourceVersion").text();
    if (!options.resource_version.empty() && options.resource_version != version) {
        return conflict(
            call.resource->name, call.resource->group, call.name,
            "Precondition failed: ResourceVersion in precondition: " + options.resource_version +
                ", ResourceVersion in object meta: " + version);
    }
    return Done{};
}

/// The object as it looks while it is being deleted.
Value marked(const Resource& resource, const Value& object, const RemovalOptions& options,
             std::int64_t grace) {
    Value made = object;
    Value& metadata = made["metadata"];
    const auto now = std::chrono::system_clock::now();
    const std::int64_t before = metadata.at("deletionGracePeriodSeconds").integer(INT64_MAX);
    if (metadata.at("deletionTimestamp").is_null()) {
        metadata["deletionTimestamp"] = rfc3339(now + std::chrono::seconds(grace));
        metadata["deletionGracePeriodSeconds"] = grace;
        if (has_generation(resource))
            metadata["generation"] = metadata.at("generation").integer() + 1;
    } else if (grace < before) {
        metadata["deletionTimestamp"] = rfc3339(now + std::chrono::seconds(grace));
        metadata["deletionGracePeriodSeconds"] = grace;
    }
    if (options.policy == "Foreground") add_finalizer(made, "foregroundDeletion");
    if (options.policy == "Orphan") add_finalizer(made, "orphan");
    if (options.policy == "Background") {
        drop_finalizer(made, "foregroundDeletion");
        drop_finalizer(made, "orphan");
    }
    if (resource.storage == "/namespaces") made["status"]["phase"] = "Terminating";
    return made;
}

}  // namespace

Outcome<RemovalOptions> read_removal_options(const Call& call) {
    RemovalOptions options;
    options.policy = call.http.parameter("propagationPolicy");
    if (call.http.has_parameter("gracePeriodSeconds")) {
        options.grace_seconds =
            parse_number<std::int64_t>(call.http.parameter("gracePeriodSeconds"));
    }
    options.dry_run = call.dry_run;
    bool orphans = call.http.flag("orphanDependents");
    if (!call.http.body.empty()) {
        auto body = read_body(call);
        if (!body) return body.failure();
        const Value& given = body->value;
        if (given.find("propagationPolicy") != nullptr)
            options.policy = given.at("propagationPolicy").text();
        if (given.at("gracePeriodSeconds").is_integer()) {
            options.grace_seconds = given.at("gracePeriodSeconds").integer();
        }
        options.uid = given.at_path("preconditions.uid").text();
        options.resource_version = given.at_path("preconditions.resourceVersion").text();
        options.dry_run = options.dry_run || !given.at("dryRun").empty();
        orphans = orphans || given.at("orphanDependents").boolean();
    }
    if (options.policy.empty() && orphans) options.policy = "Orphan";
    if (options.policy != "" && options.policy != "Foreground" && options.policy != "Background" &&
        options.policy != "Orphan") {
        return invalid("DeleteOptions", "meta.k8s.io", "",
                       {unsupported_value("propagationPolicy", options.policy,
                                          {"Foreground", "Background", "Orphan", "nil"})});
    }
    // Jobs made by hand have always left their pods behind when nothing else was said.
    if (options.policy.empty() && call.resource->storage == "batch/jobs") options.policy = "Orphan";
    return options;
}

Outcome<EntryPtr> remove_object(Call& call, const RemovalOptions& options) {
    const Resource& resource = *call.resource;
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr old = call.context.store.get(resource.storage, call.key());
        if (old == nullptr) return not_found(resource.name, resource.group, call.name);
        auto allowed = check_preconditions(call, old->object, options);
        if (!allowed) return allowed.failure();
        const std::int64_t grace = grace_of(resource, old->object, options);
        Value object = marked(resource, old->object, options, grace);
        const bool held =
            grace > 0 || !object.at_path("metadata.finalizers").empty() ||
            (resource.storage == "/namespaces" && !object.at_path("spec.finalizers").empty());
        auto admitted = admit(call, object, old->object, "DELETE");
        if (!admitted) return admitted.failure();
        auto accepted = call_validating_webhooks(call, Value(), old->object, "DELETE");
        if (!accepted) return accepted.failure();
        if (options.dry_run) return old;
        if (!held) {
            EntryPtr last = call.context.store.remove(resource.storage, call.key(), old->revision);
            if (last == nullptr) continue;
            after_removal(call.context, resource, last->object);
            return last;
        }
        if (object == old->object) return old;
        EntryPtr entry = call.context.store.update(resource.storage, call.key(), std::move(object),
                                                   old->revision);
        if (entry == nullptr) continue;
        after_write(call.context, resource, entry->object);
        return entry;
    }
    return conflict(resource.name, resource.group, call.name, "the object has been modified");
}

HttpAnswer delete_object(Call& call) {
    const auto options = read_removal_options(call);
    if (!options) return answer_failure(options.failure());
    auto removed = remove_object(call, *options);
    if (!removed) return answer_failure(removed.failure());
    const Value& object = (*removed)->object;
    const bool there = !object.at_path("metadata.deletionTimestamp").is_null() &&
                       call.context.store.get(call.resource->storage, call.key()) != nullptr;
    if (there || returns_object(*call.resource)) return answer_entry(call, *removed, 200);
    return answer_value(success(*call.resource, object));
}

HttpAnswer delete_collection(Call& call) {
    const auto options = read_removal_options(call);
    if (!options) return answer_failure(options.failure());
    const auto selection = read_list_options(call);
    if (!selection) return answer_failure(selection.failure());
    const std::string prefix = call.name_space.empty() ? "" : call.name_space + "/";
    const auto page = call.context.store.list(call.resource->storage, prefix, 0, "", 0);
    Value items = Value::array();
    for (const EntryPtr& entry : page->entries) {
        if (!selects(*selection, *call.resource, entry->object)) continue;
        call.name = entry->object.at_path("metadata.name").text();
        call.name_space = entry->object.at_path("metadata.namespace").text();
        auto removed = remove_object(call, *options);
        if (removed) items.push(to_version((*removed)->object, *call.resource));
    }
    return answer_value(Value::object(
        {{"kind", call.resource->list_kind},
         {"apiVersion", call.resource->api_version()},
         {"metadata",
          Value::object({{"resourceVersion", std::to_string(call.context.store.revision())}})},
         {"items", std::move(items)}}));
}

}  // namespace aliquot::sim::apiserver
