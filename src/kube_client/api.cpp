// SPDX-License-Identifier: Apache-2.0
#include "kube_client/api.h"

#include "base/json_text.h"
#include "kube_client/discovery.h"
#include "kube_client/page.h"
#include "kube_client/query.h"

namespace aliquot::kube_client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kMetadataList =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr std::string_view kMetadataOne =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// "patch pods/status default/web": what a message begins with.
std::string describe(std::string_view verb, const Resource& resource, const ObjectKey& key,
                     std::string_view subresource = {}) {
    std::string text = std::string(verb) + " " + resource.plural;
    if (!resource.group.empty()) text += "." + resource.group;
    if (!subresource.empty()) text.append("/").append(subresource);
    if (!key.name.empty()) return text + " " + to_text(key);
    if (!key.namespace_name.empty()) text += " in " + key.namespace_name;
    return text;
}

std::string write_path(const Resource& resource, const ObjectKey& key,
                       const WriteOptions& options) {
    Query query(path_of(resource, key, options.subresource));
    query.add("fieldManager", options.field_manager);
    if (options.dry_run) query.add("dryRun", "All");
    return query.take();
}

std::string_view content_type_of(PatchKind kind) {
    switch (kind) {
        case PatchKind::kMerge:
            return "application/merge-patch+json";
        case PatchKind::kJson:
            return "application/json-patch+json";
        case PatchKind::kStrategic:
            return "application/strategic-merge-patch+json";
        case PatchKind::kApply:
            return "application/apply-patch+yaml";  // JSON is YAML
    }
    return kJson;
}

std::string_view to_text(RemoveOptions::Propagation propagation) {
    switch (propagation) {
        case RemoveOptions::Propagation::kBackground:
            return "Background";
        case RemoveOptions::Propagation::kForeground:
            return "Foreground";
        case RemoveOptions::Propagation::kOrphan:
            return "Orphan";
    }
    return "Background";
}

std::string remove_body(const RemoveOptions& options) {
    std::string body = R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":)" +
                       json_quoted(to_text(options.propagation));
    if (!options.uid.empty() || !options.resource_version.empty()) {
        body += R"(,"preconditions":{)";
        if (!options.uid.empty()) body += R"("uid":)" + json_quoted(options.uid);
        if (!options.uid.empty() && !options.resource_version.empty()) body += ",";
        if (!options.resource_version.empty()) {
            body += R"("resourceVersion":)" + json_quoted(options.resource_version);
        }
        body += "}";
    }
    if (options.grace_seconds) {
        body += R"(,"gracePeriodSeconds":)" + std::to_string(*options.grace_seconds);
    }
    if (options.dry_run) body += R"(,"dryRun":["All"])";
    return body + "}";
}

Outcome<Scale> read_scale(const Outcome<Object>& object) {
    if (!object) return object.failure();
    const auto count = [&](std::string_view pointer) {
        return static_cast<unsigned>(
            std::max<std::int64_t>(0, integer_at(object->json, pointer).value_or(0)));
    };
    return Scale{.desired = count("/spec/replicas"),
                 .present = count("/status/replicas"),
                 .selector = string_at(object->json, "/status/selector").value_or(""),
                 .resource_version = object->resource_version};
}

}  // namespace

Api::~Api() = default;

Outcome<std::string> Api::body_of(const Request& request) {
    auto reply = success_of(request);
    if (!reply) return std::move(reply).failure();
    return std::move(reply->body);
}

Outcome<Reply> Api::success_of(const Request& request) {
    auto reply = exchange(request);
    if (!reply || (reply->status >= 200 && reply->status < 300)) return reply;
    Failure failure = failure_of(reply->status, reply->body, request.what);
    if (reply->retry_after) failure.retry_after = reply->retry_after;
    return failure;
}

Outcome<Object> Api::object_of(const Request& request) {
    auto body = body_of(request);
    if (!body) return std::move(body).failure();
    auto object = read_object(std::move(*body));
    if (object) return std::move(*object);
    return Failure{.reason = Reason::kMalformed,
                   .message = request.what + ": " + object.error().message};
}

Outcome<Object> Api::get(const Resource& resource, const ObjectKey& key, const Call& call,
                         std::string_view subresource) {
    return object_of({.path = path_of(resource, key, subresource),
                      .what = describe("get", resource, key, subresource),
                      .repeatable = true,
                      .call = call});
}

Outcome<Page> Api::list_page(const Resource& resource, const ListOptions& options,
                             std::string_view token, const Call& call) {
    const ObjectKey key{options.namespace_name, ""};
    Query query(path_of(resource, key));
    query.add("labelSelector", options.label_selector);
    query.add("fieldSelector", options.field_selector);
    const unsigned chunk = std::min(options.chunk, limits_.chunk);
    if (chunk != 0) query.add("limit", std::to_string(chunk));
    if (token.empty()) query.add("resourceVersion", options.resource_version);
    query.add("continue", token);
    const Request request{.path = query.take(),
                          .accept = std::string(options.metadata_only ? kMetadataList : kJson),
                          .what = describe("list", resource, key),
                          .repeatable = true,
                          .call = call,
                          .make_sink = [&] {
                              return std::make_shared<ListReader>(ListReader::Options{
                                  .what = describe("list", resource, key),
                                  .keep_managed_fields = options.keep_managed_fields,
                                  .projection = options.projection,
                                  .limits = limits_});
                          }};
    auto reply = success_of(request);
    if (!reply) return std::move(reply).failure();
    auto sink = reply->sink != nullptr ? std::move(reply->sink) : request.make_sink();
    if (auto taken = sink->take(reply->body); !taken) return std::move(taken).failure();
    return static_cast<ListReader&>(*sink).finish();
}

Outcome<Page> Api::list(const Resource& resource, const ListOptions& options, const Call& call) {
    constexpr unsigned kMostBeginnings = 3;
    const auto until = Clock::now() + call.deadline;
    for (unsigned beginning = 1;; ++beginning) {
        Page whole;
        while (true) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
            auto page = list_page(resource, options, whole.next,
                                  {std::max(left, std::chrono::milliseconds(1)), call.stop});
            if (!page) {
                if (page.failure().is_expired() && beginning < kMostBeginnings) break;
                return std::move(page).failure();
            }
            whole.resource_version = page->resource_version;
            whole.next = page->next;
            whole.items.insert(whole.items.end(), std::make_move_iterator(page->items.begin()),
                               std::make_move_iterator(page->items.end()));
            if (whole.next.empty()) return whole;
        }
    }
}

Outcome<std::unique_ptr<Watch>> Api::watch(const Resource& resource, const WatchOptions& options,
                                           const Call& call) {
    const ObjectKey key{options.namespace_name, ""};
    Query query(path_of(resource, key));
    query.add("watch", "1");
    query.add("labelSelector", options.label_selector);
    query.add("fieldSelector", options.field_selector);
    query.add("resourceVersion", options.resource_version);
    if (options.bookmarks) query.add("allowWatchBookmarks", "true");
    if (options.initial_events) {
        query.add("sendInitialEvents", "true").add("resourceVersionMatch", "NotOlderThan");
    }
    query.add("timeoutSeconds",
              std::to_string(std::max(std::chrono::seconds(1), options.duration).count()));
    auto stream = open({.path = query.take(),
                        .accept = std::string(options.metadata_only ? kMetadataOne : kJson),
                        .what = describe("watch", resource, key),
                        .repeatable = true,
                        .call = call});
    if (!stream) return std::move(stream).failure();
    return std::make_unique<Watch>(std::move(*stream), limits_.object_bytes);
}

Outcome<Object> Api::create(const Resource& resource, std::string_view namespace_name,
                            std::string json, const WriteOptions& options) {
    const ObjectKey key{std::string(namespace_name), ""};
    return object_of({.method = "POST",
                      .path = write_path(resource, key, options),
                      .body = std::move(json),
                      .content_type = std::string(kJson),
                      .what = describe("create", resource, key, options.subresource),
                      .call = options.call});
}

Outcome<Object> Api::replace(const Resource& resource, const ObjectKey& key, std::string json,
                             const WriteOptions& options) {
    return object_of({.method = "PUT",
                      .path = write_path(resource, key, options),
                      .body = std::move(json),
                      .content_type = std::string(kJson),
                      .what = describe("replace", resource, key, options.subresource),
                      .repeatable = true,
                      .call = options.call});
}

Outcome<Object> Api::patch(const Resource& resource, const ObjectKey& key, std::string body,
                           const PatchOptions& options) {
    const bool apply = options.kind == PatchKind::kApply;
    std::string path = write_path(resource, key, options.write);
    if (apply && options.force) path += path.contains('?') ? "&force=true" : "?force=true";
    return object_of(
        {.method = "PATCH",
         .path = std::move(path),
         .body = std::move(body),
         .content_type = std::string(content_type_of(options.kind)),
         .what = describe(apply ? "apply" : "patch", resource, key, options.write.subresource),
         // A JSON patch that adds to a list would add twice.
         .repeatable = options.kind != PatchKind::kJson,
         .call = options.write.call});
}

Outcome<Object> Api::apply(const Resource& resource, const ObjectKey& key, std::string json,
                           bool force, const WriteOptions& options) {
    return patch(resource, key, std::move(json),
                 {.kind = PatchKind::kApply, .force = force, .write = options});
}

Outcome<Done> Api::remove(const Resource& resource, const ObjectKey& key,
                          const RemoveOptions& options) {
    auto body = body_of({.method = "DELETE",
                         .path = path_of(resource, key),
                         .body = remove_body(options),
                         .content_type = std::string(kJson),
                         .what = describe("delete", resource, key),
                         .repeatable = true,
                         .call = options.call});
    if (!body) return std::move(body).failure();
    return Done{};
}

Outcome<Scale> Api::get_scale(const Resource& resource, const ObjectKey& key, const Call& call) {
    return read_scale(get(resource, key, call, "scale"));
}

Outcome<Scale> Api::set_scale(const Resource& resource, const ObjectKey& key, unsigned replicas,
                              std::string_view resource_version, const WriteOptions& options) {
    PatchOptions patch_options{.kind = PatchKind::kMerge, .write = options};
    patch_options.write.subresource = "scale";
    std::string body = R"({"spec":{"replicas":)" + std::to_string(replicas) + "}";
    if (!resource_version.empty()) {
        body += R"(,"metadata":{"resourceVersion":)" + json_quoted(resource_version) + "}";
    }
    return read_scale(patch(resource, key, body + "}", patch_options));
}

Outcome<Done> Api::bind(const ObjectKey& pod, std::string_view node, const WriteOptions& options,
                        std::string_view uid) {
    WriteOptions write = options;
    write.subresource = "binding";
    const std::string only = uid.empty() ? "" : R"(,"uid":)" + json_quoted(uid);
    auto body = body_of({.method = "POST",
                         .path = write_path(resources::pods(), pod, write),
                         .body = R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":)" +
                                 json_quoted(pod.name) + only +
                                 R"(},"target":{"apiVersion":"v1","kind":"Node","name":)" +
                                 json_quoted(node) + "}}",
                         .content_type = std::string(kJson),
                         .what = describe("bind", resources::pods(), pod),
                         .call = options.call});
    if (!body) return std::move(body).failure();
    return Done{};
}

Outcome<Done> Api::evict(const ObjectKey& pod, std::optional<unsigned> grace_seconds,
                         const WriteOptions& options, std::string_view uid) {
    WriteOptions write = options;
    write.subresource = "eviction";
    write.field_manager.clear();
    std::string json = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":)" +
                       json_quoted(pod.name) + R"(,"namespace":)" +
                       json_quoted(pod.namespace_name) + "}";
    std::string how;
    if (grace_seconds) how = R"("gracePeriodSeconds":)" + std::to_string(*grace_seconds);
    if (!uid.empty()) {
        how += std::string(how.empty() ? "" : ",") + R"("preconditions":{"uid":)" +
               json_quoted(uid) + "}";
    }
    if (!how.empty()) json += R"(,"deleteOptions":{)" + how + "}";
    auto body = body_of({.method = "POST",
                         .path = write_path(resources::pods(), pod, write),
                         .body = json + "}",
                         .content_type = std::string(kJson),
                         .what = describe("evict", resources::pods(), pod),
                         .most_tries = 1,  // 429 means: not now, and the caller decides
                         .call = options.call});
    if (!body) return std::move(body).failure();
    return Done{};
}

Outcome<std::string> Api::get_raw(std::string_view path, const Call& call) {
    return body_of({.path = std::string(path),
                    .accept = "application/json, */*",
                    .what = "get " + std::string(path),
                    .repeatable = true,
                    .call = call});
}

Outcome<Done> Api::discover(std::string_view api_version, const Call& call) {
    const std::string version(api_version);
    const std::string path = (version.contains('/') ? "/apis/" : "/api/") + version;
    auto body =
        body_of({.path = path, .what = "discover " + version, .repeatable = true, .call = call});
    if (!body) return std::move(body).failure();
    auto kinds = read_kinds(*body, version);
    if (!kinds) return std::move(kinds).failure();
    auto found = std::make_shared<Discovered>();
    found->kinds = std::move(*kinds);
    found->at = Clock::now();
    const std::scoped_lock lock(discovery_mutex_);
    discovered_.insert_or_assign(version, std::move(found));
    return Done{};
}

Outcome<Resource> Api::find_resource(std::string_view api_version, std::string_view kind,
                                     const Call& call) {
    constexpr auto kFresh = std::chrono::minutes(10);
    std::vector<std::string> versions;
    if (!api_version.empty()) {
        versions.emplace_back(api_version);
    } else {
        auto groups =
            body_of({.path = "/apis", .what = "discover groups", .repeatable = true, .call = call});
        if (!groups) return std::move(groups).failure();
        auto read = read_preferred_versions(*groups);
        if (!read) return std::move(read).failure();
        versions = std::move(*read);
        versions.insert(versions.begin(), "v1");
    }
    for (const auto& version : versions) {
        for (const bool again : {false, true}) {
            std::shared_ptr<const Discovered> known;
            {
                const std::scoped_lock lock(discovery_mutex_);
                const auto at = discovered_.find(version);
                if (at != discovered_.end()) known = at->second;
            }
            if (known && Clock::now() - known->at < kFresh) {
                if (const Resource* found = known->find(kind)) return *found;
                if (again || api_version.empty()) break;
            } else if (again) {
                break;
            }
            auto asked = discover(version, call);
            if (asked) continue;
            // A group whose own server is away must not hide the others.
            if (!api_version.empty() || asked.failure().is(Reason::kStopped)) {
                return std::move(asked).failure();
            }
            break;
        }
    }
    return Failure{.reason = Reason::kNotFound,
                   .http_status = 404,
                   .message = "the server has no kind '" + std::string(kind) + "'" +
                              (api_version.empty() ? "" : " in " + std::string(api_version))};
}

}  // namespace aliquot::kube_client
