// SPDX-License-Identifier: Apache-2.0
// What follows a write: custom resources come and go, namespaces get their service account.
#include "base/time_text.h"
#include "sim/apiserver/collector.h"
#include "sim/apiserver/strategy.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

Value condition(std::string_view type, std::string_view reason, std::string_view message) {
    return Value::object({{"type", type},
                          {"status", "True"},
                          {"lastTransitionTime", rfc3339(std::chrono::system_clock::now())},
                          {"reason", reason},
                          {"message", message}});
}

/// Serves a definition's resources and says so in its status.
void establish(ServerContext& context, const Resource& resource, const Value& definition) {
    const std::string name = definition.at_path("metadata.name").text();
    context.resources.set_custom(name, read_definition(definition));
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr entry = context.store.get(resource.storage, name);
        if (entry == nullptr) return;
        Value object = entry->object;
        Value& status = object["status"];
        status["acceptedNames"] = Value(object.at_path("spec.names"));
        if (status.at("conditions").size() < 2) {
            status["conditions"] =
                Value(Value::Array{condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                                   condition("Established", "InitialNamesAccepted",
                                             "the initial names have been accepted")});
        }
        if (status.at("storedVersions").empty()) {
            for (const Value& version : definition.at_path("spec.versions").items()) {
                if (version.at("storage").boolean())
                    status["storedVersions"].push(version.at("name"));
            }
        }
        if (object == entry->object) return;
        if (context.store.update(resource.storage, name, std::move(object), entry->revision) !=
            nullptr) {
            return;
        }
    }
}

void make_service_account(ServerContext& context, const std::string& name_space) {
    const ResourcePtr accounts = context.resources.find("", "v1", "serviceaccounts");
    Value account = Value::object(
        {{"kind", "ServiceAccount"},
         {"apiVersion", "v1"},
         {"metadata",
          Value::object({{"name", "default"},
                         {"namespace", name_space},
                         {"uid", make_uuid()},
                         {"creationTimestamp", rfc3339(std::chrono::system_clock::now())}})}});
    context.store.create(accounts->storage, Call::key_of(name_space, "default"),
                         std::move(account));
}

}  // namespace

void after_write(ServerContext& context, const Resource& resource, const Value& object) {
    if (resource.storage == "apiextensions.k8s.io/customresourcedefinitions" &&
        object.at_path("metadata.deletionTimestamp").is_null()) {
        establish(context, resource, object);
    }
    if (resource.storage == "/namespaces" && context.options.default_service_accounts &&
        object.at_path("metadata.deletionTimestamp").is_null()) {
        make_service_account(context, object.at_path("metadata.name").text());
    }
    if (context.collector != nullptr) context.collector->written(resource, object);
}

void after_removal(ServerContext& context, const Resource& resource, const Value& object) {
    if (resource.storage == "apiextensions.k8s.io/customresourcedefinitions") {
        // Its objects go with it.
        const std::string storage =
            object.at_path("spec.group").text() + "/" + object.at_path("spec.names.plural").text();
        const auto page = context.store.list(storage, "", 0, "", 0);
        for (const EntryPtr& entry : page->entries) {
            const Value& metadata = entry->object.at("metadata");
            context.store.remove(
                storage, Call::key_of(metadata.at("namespace").text(), metadata.at("name").text()),
                entry->revision);
        }
        context.resources.set_custom(object.at_path("metadata.name").text(), {});
    }
    if (resource.storage == "/pods") {
        const Value& metadata = object.at("metadata");
        context.logs.forget(
            Call::key_of(metadata.at("namespace").text(), metadata.at("name").text()));
    }
    if (context.collector != nullptr) context.collector->removed(resource, object);
}

}  // namespace aliquot::sim::apiserver
