// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "sim/apiserver/conversion.h"
#include "sim/apiserver/list_options.h"
#include "sim/apiserver/server_context.h"
#include "sim/apiserver/table.h"

namespace aliquot::sim::apiserver {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{200};  // between looks at the connection
constexpr std::chrono::seconds kDefaultTimeout{1800};

/// All that one open watch needs, beyond the life of its request.
struct Watch {
    ServerContext& context;
    ResourcePtr resource;
    ListOptions options;
    Acceptance wanted;
    std::string prefix;  // of keys
    std::string include;
    std::shared_ptr<WatchHandle> handle;
    bool first_table = true;
};

std::string event_line(std::string_view type, std::string_view object) {
    std::string line = "{\"type\":\"";
    line += type;
    line += "\",\"object\":";
    line += object;
    line += "}\n";
    return line;
}

std::string spell_object(Watch& watch, const Entry& entry) {
    if (watch.wanted.form == Acceptance::Form::kTable) {
        Value table =
            make_table(*watch.resource, {to_version(entry.object, *watch.resource)}, watch.include);
        // Columns are only told once.
        if (!watch.first_table) table["columnDefinitions"] = Value();
        watch.first_table = false;
        table["metadata"] =
            Value::object({{"resourceVersion", entry.object.at_path("metadata.resourceVersion")}});
        return to_json(table);
    }
    std::string object;
    append_entry(object, entry, *watch.resource, watch.wanted);
    return object;
}

bool seen_by(const Watch& watch, const EntryPtr& entry) {
    return entry != nullptr && selects(watch.options, *watch.resource, entry->object);
}

/// The event that a change is to this watch; empty: none. An object that leaves the selection is
/// deleted for it, as it was at the end.
std::string line_of(Watch& watch, const Change& change) {
    if (!change.key.starts_with(watch.prefix)) return {};
    const bool was = seen_by(watch, change.before);
    const bool is = seen_by(watch, change.now);
    if (is) return event_line(was ? "MODIFIED" : "ADDED", spell_object(watch, *change.now));
    if (!was) return {};
    if (change.last != nullptr) return event_line("DELETED", spell_object(watch, *change.last));
    Value gone = change.before->object;
    gone["metadata"]["resourceVersion"] = std::to_string(change.revision);
    return event_line("DELETED", spell_object(watch, Entry(std::move(gone), change.revision)));
}

std::string bookmark_line(const Watch& watch, std::uint64_t revision, bool initial_end) {
    Value metadata = Value::object({{"resourceVersion", std::to_string(revision)}});
    if (initial_end) metadata["annotations"]["k8s.io/initial-events-end"] = "true";
    if (!watch.resource->custom) metadata["creationTimestamp"] = Value();
    Value object = Value::object({{"kind", watch.resource->kind},
                                  {"apiVersion", watch.resource->api_version()},
                                  {"metadata", std::move(metadata)}});
    if (watch.wanted.form == Acceptance::Form::kMetadata) object = to_partial_metadata(object);
    if (watch.wanted.form == Acceptance::Form::kTable) {
        Value table = make_table(*watch.resource, {}, watch.include);
        table["metadata"] = object.at("metadata");
        object = std::move(table);
    }
    return event_line("BOOKMARK", to_json(object));
}

std::string expired_line(const std::string& why) {
    return event_line("ERROR", to_json(to_status(expired(why))));
}

/// Sends what is there already. The revision from which to go on; nullopt: the stream has ended.
std::optional<std::uint64_t> send_present(Watch& watch, HttpStream& stream) {
    const auto page = watch.context.store.list(watch.resource->storage, watch.prefix, 0, "", 0);
    if (!page) return std::nullopt;
    std::string lines;
    for (const EntryPtr& entry : page->entries) {
        if (!seen_by(watch, entry)) continue;
        lines += event_line("ADDED", spell_object(watch, *entry));
        if (lines.size() > (256U << 10)) {
            if (!stream.write(lines)) return std::nullopt;
            lines.clear();
        }
    }
    if (watch.options.initial_events && watch.options.bookmarks) {
        lines += bookmark_line(watch, page->revision, true);
    }
    if (!stream.write(lines)) return std::nullopt;
    return page->revision;
}

/// False: the watch is over by an order from outside.
bool obey(Watch& watch, HttpStream& stream, const std::string& pending) {
    switch (watch.handle->order.load()) {
        case WatchHandle::Order::kGoOn:
            return true;
        case WatchHandle::Order::kExpire:
            stream.write(expired_line("The resourceVersion for the provided watch is too old."));
            return false;
        case WatchHandle::Order::kBreak:
            // Half a line, then nothing.
            stream.write(pending.empty() ? std::string("{\"type\":\"MODI")
                                         : pending.substr(0, pending.size() / 2));
            stream.break_off();
            return false;
    }
    return false;
}

void run_watch(Watch& watch, HttpStream& stream) {
    const Clock::time_point end =
        Clock::now() +
        (watch.options.timeout.count() > 0 ? watch.options.timeout : kDefaultTimeout);
    const auto interval = watch.context.options.bookmark_interval;
    Clock::time_point next_bookmark = Clock::now() + interval;
    std::uint64_t after = watch.options.revision;
    std::uint64_t told = after;  // by an event or bookmark
    if (after == 0 || watch.options.initial_events) {
        const auto from = send_present(watch, stream);
        if (!from) return;
        after = told = *from;
    }
    while (stream.alive() && !watch.context.stopping) {
        const auto now = Clock::now();
        if (now >= end) break;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
        Store::Changes seen =
            watch.context.store.wait(watch.resource->storage, after, std::min(kPatience, left));
        while (watch.context.faults.held(watch.handle->resource) && stream.alive() &&
               watch.handle->order.load() == WatchHandle::Order::kGoOn && !watch.context.stopping) {
            watch.context.faults.wait_for_release(std::chrono::milliseconds(50));
        }
        if (seen.compacted) {
            stream.write(expired_line("too old resource version: " + std::to_string(after)));
            return;
        }
        std::string lines;
        for (const Change& change : seen.changes) {
            const std::string line = line_of(watch, change);
            if (!line.empty()) told = change.revision;
            lines += line;
        }
        if (!obey(watch, stream, lines)) return;
        after = seen.revision;
        if (watch.options.bookmarks && Clock::now() >= next_bookmark) {
            lines += bookmark_line(watch, after, false);
            told = after;
            next_bookmark = Clock::now() + interval;
        }
        if (!stream.write(lines)) return;
    }
    if (watch.options.bookmarks && told != after && stream.alive()) {
        stream.write(bookmark_line(watch, after, false));
    }
}

}  // namespace

HttpAnswer watch_objects(Call& call) {
    const auto wanted = read_acceptance(call.http, true);
    if (!wanted) return answer_failure(wanted.failure());
    auto options = read_list_options(call);
    if (!options) return answer_failure(options.failure());
    if (options->revision > call.context.store.revision()) {
        Failure late;
        late.code = 504;
        late.reason = "Timeout";
        late.message = "Too large resource version: " + std::to_string(options->revision) +
                       ", current: " + std::to_string(call.context.store.revision());
        late.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
        late.retry_after_seconds = 1;
        return answer_failure(late);
    }
    auto watch = std::make_shared<Watch>(
        Watch{call.context, call.resource, std::move(*options), *wanted,
              call.name_space.empty() ? "" : call.name_space + "/", include_object(call.http),
              call.context.faults.open_watch(call.resource->name)});
    HttpAnswer answer;
    answer.content_type = wanted->form == Acceptance::Form::kTable
                              ? "application/json;as=Table;g=meta.k8s.io;v=v1"
                              : "application/json";
    // The history may have gone: say it in the first event, as API servers do.
    answer.stream = [watch](HttpStream& stream) { run_watch(*watch, stream); };
    return answer;
}

}  // namespace aliquot::sim::apiserver
