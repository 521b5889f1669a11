// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kube_client/body_sink.h"
#include "kube_client/failure.h"
#include "kube_client/limits.h"
#include "kube_client/object.h"
#include "kube_client/resource.h"
#include "kube_client/watch.h"

namespace aliquot::kube_client {

/// How long a caller waits, all tries together.
struct Call {
    std::chrono::milliseconds deadline{30'000};
    std::stop_token stop{};
};

/// Which objects, and how they are read.
struct ListOptions {
    std::string namespace_name{};  // empty: of all namespaces
    std::string label_selector{};  // "app=web,tier in (a,b)"
    std::string field_selector{};  // "spec.nodeName=node-1"
    /// Objects per request; 0: all at once.
    unsigned chunk = 500;
    /// Empty: the newest state. "0": any state that the server has at hand (cheap, may be old).
    std::string resource_version{};
    bool metadata_only = false;  // PartialObjectMetadata: labels and annotations are enough
    bool keep_managed_fields = true;
    /// Applied to each object as it comes; empty: all of it is kept. See keep_fields().
    std::function<std::string(std::string_view json)> projection{};
};

struct Page {
    std::vector<Object> items;     // with apiVersion and kind, though lists omit them
    std::string resource_version;  // of the list: where a watch goes on
    std::string next;              // continue token; empty: this was the last page
};

struct WatchOptions {
    std::string namespace_name{};
    std::string label_selector{};
    std::string field_selector{};
    std::string resource_version{};      // events after it; empty or "0": first the present state
    std::chrono::seconds duration{300};  // the server ends the stream then; at least 1
    bool bookmarks = true;
    /// The present state as ADDED events, closed by a bookmark with `initial_events_end`. Servers
    /// that cannot answer kInvalid: list instead.
    bool initial_events = false;
    bool metadata_only = false;
};

struct WriteOptions {
    std::string field_manager = "aliquot";
    bool dry_run = false;
    std::string subresource{};  // "status"
    Call call{};
};

enum class PatchKind : std::uint8_t {
    kMerge,      // RFC 7386; lists are replaced whole
    kJson,       // RFC 6902; `test` compares and sets
    kStrategic,  // lists are merged by key; not for custom resources
    kApply,      // server-side apply: we own exactly the fields that are sent
};

struct PatchOptions {
    PatchKind kind = PatchKind::kMerge;
    /// kApply only: take fields from other managers. Without it a kConflict tells each field and
    /// its manager in `causes`.
    bool force = false;
    WriteOptions write{};
};

struct RemoveOptions {
    /// Without a policy batch/v1 Jobs would leave their pods behind, so there is always one.
    enum class Propagation : std::uint8_t { kBackground, kForeground, kOrphan };
    Propagation propagation = Propagation::kBackground;
    std::string uid{};               // refuse (kConflict) when it is another object by now
    std::string resource_version{};  // refuse when it has changed
    std::optional<unsigned> grace_seconds{};
    bool dry_run = false;
    Call call{};
};

struct Scale {
    unsigned desired = 0;    // spec.replicas
    unsigned present = 0;    // status.replicas
    std::string selector{};  // status.selector: which pods they are
    std::string resource_version{};
};

/// A request as HTTP has it; what an implementation of Api must carry.
struct Request {
    std::string method = "GET";
    std::string path;  // with the query, encoded: "/api/v1/pods?limit=500"
    std::string body{};
    std::string content_type{};  // of the body
    std::string accept = "application/json";
    std::string what{};       // for messages: "list pods"
    bool repeatable = false;  // harmless when it is carried out twice
    unsigned most_tries = 6;  // 1: the first answer counts
    Call call{};
    /// Makes what takes the body of a success; one for each try. Empty: the body is kept.
    std::function<std::shared_ptr<BodySink>()> make_sink{};
};

struct Reply {
    int status = 0;  // any HTTP status
    std::string body{};
    std::optional<std::chrono::milliseconds> retry_after{};
    std::shared_ptr<BodySink> sink{};  // that took the body; null: `body` has it
};

/// The API server, seen from a program: the seam of everything that speaks to a cluster.
///
/// An implementation carries requests (exchange, open); the verbs are the same for all. Real:
/// connect() of connect.h. Simulated: sim/apiserver. Objects are JSON text; json is returned as
/// the server sent it. Thread-safe; every call ends by its deadline or its stop token.
class Api {
public:
    virtual ~Api();
    explicit Api(const Limits& limits = {}) : limits_(limits) {}
    Api(const Api&) = delete;
    Api& operator=(const Api&) = delete;

    Outcome<Object> get(const Resource& resource, const ObjectKey& key, const Call& call = {},
                        std::string_view subresource = {});

    /// All of them, chunk by chunk; begins anew (at most three times) when the server has forgotten
    /// the list it was reading from.
    Outcome<Page> list(const Resource& resource, const ListOptions& options = {},
                       const Call& call = {});

    /// One chunk. token: `next` of the page before; empty: the first. kExpired: begin anew.
    Outcome<Page> list_page(const Resource& resource, const ListOptions& options,
                            std::string_view token, const Call& call = {});

    /// One stream of changes, until it ends; Informer begins it again and again.
    /// call     its deadline counts for the beginning of the stream only
    Outcome<std::unique_ptr<Watch>> watch(const Resource& resource, const WatchOptions& options,
                                          const Call& call = {});

    /// kAlreadyExists: the name is taken.
    Outcome<Object> create(const Resource& resource, std::string_view namespace_name,
                           std::string json, const WriteOptions& options = {});

    /// The whole object; a metadata.resourceVersion in `json` that is not the present one is
    /// kConflict.
    Outcome<Object> replace(const Resource& resource, const ObjectKey& key, std::string json,
                            const WriteOptions& options = {});

    Outcome<Object> patch(const Resource& resource, const ObjectKey& key, std::string body,
                          const PatchOptions& options = {});

    /// Server-side apply: the object is made when it is not there. `json` has apiVersion, kind and
    /// metadata.name, and the fields that we want to own.
    Outcome<Object> apply(const Resource& resource, const ObjectKey& key, std::string json,
                          bool force = false, const WriteOptions& options = {});

    /// kNotFound: it was not there.
    Outcome<Done> remove(const Resource& resource, const ObjectKey& key,
                         const RemoveOptions& options = {});

    Outcome<Scale> get_scale(const Resource& resource, const ObjectKey& key, const Call& call = {});
    /// resource_version  kConflict when the Scale is no longer that one; empty: whatever it is
    Outcome<Scale> set_scale(const Resource& resource, const ObjectKey& key, unsigned replicas,
                             std::string_view resource_version = {},
                             const WriteOptions& options = {});

    /// Puts a pod on a node, as a scheduler does.
    /// uid   kConflict when it is another pod by now; empty: whichever has the name
    Outcome<Done> bind(const ObjectKey& pod, std::string_view node,
                       const WriteOptions& options = {}, std::string_view uid = {});

    /// kTooManyRequests: a PodDisruptionBudget forbids it now (a cause says which); never repeated
    /// by itself.
    /// uid   kConflict when it is another pod by now; empty: whichever has the name
    Outcome<Done> evict(const ObjectKey& pod, std::optional<unsigned> grace_seconds = {},
                        const WriteOptions& options = {}, std::string_view uid = {});

    /// The resource of a kind, by discovery (kept for ten minutes; an unknown one asks again).
    /// api_version  "apps/v1"; empty: any group, the one that the server prefers first
    /// kind         "Deployment", "deployments", "deploy": kind, plural, singular or short name
    Outcome<Resource> find_resource(std::string_view api_version, std::string_view kind,
                                    const Call& call = {});

    /// GET of any path: "/version", "/readyz". The body.
    Outcome<std::string> get_raw(std::string_view path, const Call& call = {});

    /// Any request, answered whatever its status. A Failure only when there is no answer.
    virtual Outcome<Reply> exchange(const Request& request) = 0;

    /// A request whose answer is a stream: returns when the answer has begun with success. An
    /// answer that is none is a Failure with the Status it held.
    virtual Outcome<std::unique_ptr<ByteStream>> open(const Request& request) = 0;

private:
    Outcome<Reply> success_of(const Request& request);
    Outcome<std::string> body_of(const Request& request);
    Outcome<Object> object_of(const Request& request);
    Outcome<Done> discover(std::string_view api_version, const Call& call);

    struct Discovered;
    const Limits limits_;
    std::mutex discovery_mutex_;
    std::map<std::string, std::shared_ptr<const Discovered>, std::less<>> discovered_;
};

}  // namespace aliquot::kube_client
