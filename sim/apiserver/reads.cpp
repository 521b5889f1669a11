// SPDX-License-Identifier: Apache-2.0
// get and list.
#include "base/json_text.h"
#include "sim/apiserver/conversion.h"
#include "sim/apiserver/list_options.h"
#include "sim/apiserver/server_context.h"
#include "sim/apiserver/table.h"

namespace aliquot::sim::apiserver {

namespace {

/// False with a Failure when the store has not come so far yet.
Outcome<std::uint64_t> wanted_revision(const Call& call, const ListOptions& options) {
    if (options.revision > call.context.store.revision()) {
        Failure late;
        late.code = 504;
        late.reason = "Timeout";
        late.message = "Too large resource version: " + std::to_string(options.revision) +
                       ", current: " + std::to_string(call.context.store.revision());
        late.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
        late.retry_after_seconds = 1;
        return late;
    }
    return options.exact ? options.revision : 0;
}

struct Listing {
    std::vector<EntryPtr> entries;
    std::uint64_t revision = 0;
    std::string next_key;
    std::size_t remaining = 0;
    bool filtered = false;
};

Outcome<Listing> gather(Call& call, const ListOptions& options) {
    std::uint64_t revision = 0;
    std::string first_key;
    if (options.token) {
        revision = options.token->revision;
        first_key = options.token->next_key;
    } else {
        auto wanted = wanted_revision(call, options);
        if (!wanted) return wanted.failure();
        revision = *wanted;
    }
    Listing listing;
    listing.filtered = !options.labels.empty() || !options.fields.empty();
    const std::string prefix = call.name_space.empty() ? "" : call.name_space + "/";
    listing.next_key = first_key;
    // With a selector a page may need several looks.
    do {
        const std::size_t room = options.limit == 0 ? 0 : options.limit - listing.entries.size();
        auto page = call.context.store.list(call.resource->storage, prefix, revision,
                                            listing.next_key, room);
        if (!page) {
            return options.token ? expired_token(call, options)
                                 : expired("The resourceVersion for the provided list is too old.");
        }
        revision = page->revision;
        for (EntryPtr& entry : page->entries) {
            if (selects(options, *call.resource, entry->object)) {
                listing.entries.push_back(std::move(entry));
            }
        }
        listing.next_key = page->next_key;
        listing.remaining = page->remaining;
    } while (!listing.next_key.empty() && listing.entries.size() < options.limit);
    listing.revision = revision;
    return listing;
}

Value list_metadata(const Call& call, const Listing& listing) {
    Value metadata = Value::object({{"resourceVersion", std::to_string(listing.revision)}});
    if (listing.next_key.empty()) return metadata;
    metadata["continue"] =
        make_token({listing.revision, listing.next_key, std::chrono::system_clock::now()});
    if (!listing.filtered)
        metadata["remainingItemCount"] = static_cast<std::int64_t>(listing.remaining);
    static_cast<void>(call);
    return metadata;
}

HttpAnswer write_list(Call& call, const Listing& listing, const Acceptance& wanted) {
    HttpAnswer answer;
    const Value metadata = list_metadata(call, listing);
    if (wanted.form == Acceptance::Form::kTable) {
        std::vector<Value> objects;
        for (const EntryPtr& entry : listing.entries) {
            objects.push_back(to_version(entry->object, *call.resource));
        }
        Value table = make_table(*call.resource, objects, include_object(call.http));
        table["metadata"] = metadata;
        answer.body = to_json(table);
        return answer;
    }
    const bool partial = wanted.form == Acceptance::Form::kMetadata;
    answer.body = "{\"kind\":";
    append_json_quoted(answer.body,
                       partial ? "PartialObjectMetadataList" : call.resource->list_kind);
    answer.body += ",\"apiVersion\":";
    append_json_quoted(answer.body, partial ? "meta.k8s.io/v1" : call.resource->api_version());
    answer.body += ",\"metadata\":";
    append_json(answer.body, metadata);
    answer.body += ",\"items\":[";
    for (const EntryPtr& entry : listing.entries) {
        if (&entry != &listing.entries.front()) answer.body += ',';
        append_entry(answer.body, *entry, *call.resource, wanted);
    }
    answer.body += "]}\n";
    return answer;
}

}  // namespace

HttpAnswer get_object(Call& call) {
    const auto wanted = read_acceptance(call.http, true);
    if (!wanted) return answer_failure(wanted.failure());
    const EntryPtr entry = call.context.store.get(call.resource->storage, call.key());
    if (entry == nullptr) {
        return answer_failure(not_found(call.resource->name, call.resource->group, call.name));
    }
    HttpAnswer answer;
    if (wanted->form == Acceptance::Form::kTable) {
        Value table = make_table(*call.resource, {to_version(entry->object, *call.resource)},
                                 include_object(call.http));
        table["metadata"] =
            Value::object({{"resourceVersion", entry->object.at_path("metadata.resourceVersion")}});
        answer.body = to_json(table);
        return answer;
    }
    append_entry(answer.body, *entry, *call.resource, *wanted);
    answer.body += '\n';
    return answer;
}

HttpAnswer list_objects(Call& call) {
    const auto wanted = read_acceptance(call.http, true);
    if (!wanted) return answer_failure(wanted.failure());
    const auto options = read_list_options(call);
    if (!options) return answer_failure(options.failure());
    const auto listing = gather(call, *options);
    if (!listing) return answer_failure(listing.failure());
    return write_list(call, *listing, *wanted);
}

}  // namespace aliquot::sim::apiserver
