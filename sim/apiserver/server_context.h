// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "sim/apiserver/faults.h"
#include "sim/apiserver/http.h"
#include "sim/apiserver/logs.h"
#include "sim/apiserver/options.h"
#include "sim/apiserver/resources.h"
#include "sim/apiserver/status.h"
#include "sim/apiserver/store.h"

namespace aliquot::sim::apiserver {

struct User {
    std::string name;
    std::string uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;
};

class Collector;
class Authority;

/// All that the requests of one server share.
struct ServerContext {
    explicit ServerContext(ApiServerOptions given);
    ~ServerContext();
    ServerContext(const ServerContext&) = delete;
    ServerContext& operator=(const ServerContext&) = delete;

    const ApiServerOptions options;
    Store store;
    Resources resources;
    FaultBox faults;
    LogBox logs;
    std::unique_ptr<Authority> authority;  // CA and keys
    std::unique_ptr<Collector> collector;  // nullptr: no garbage is collected

    // Tokens that are good, and who comes with them.
    mutable std::shared_mutex tokens_guard;
    std::map<std::string, User> tokens;

    // Service addresses in use.
    std::mutex addresses_guard;
    unsigned next_address = 10;
    unsigned next_node_port = 30000;

    std::atomic<bool> stopping = false;
    std::atomic<std::uint64_t> requests = 0;
    mutable std::mutex counts_guard;
    std::map<std::string, std::uint64_t> counts;
};

/// One request to a resource.
struct Call {
    ServerContext& context;
    const HttpRequest& http;
    User user;
    ResourcePtr resource;
    const Subresource* subresource = nullptr;  // nullptr: the object itself
    std::string verb;                          // get list watch create update patch delete ...
    std::string name_space, name;
    bool dry_run = false;
    std::string field_manager;
    std::string field_validation;  // Ignore, Warn, Strict
    std::vector<std::string> warnings;

    [[nodiscard]] std::string key() const { return key_of(name_space, name); }
    [[nodiscard]] static std::string key_of(const std::string& name_space,
                                            const std::string& name) {
        return name_space.empty() ? name : name_space + "/" + name;
    }
    [[nodiscard]] std::string kind_of_body() const;  // "Scale" on /scale, else the resource's
};

/// Answers any request. Never throws.
HttpAnswer answer_request(ServerContext& context, const HttpRequest& request);

// What the verbs do (reads.cpp, watch.cpp, writes.cpp, removal.cpp, subresources.cpp).
HttpAnswer get_object(Call& call);
HttpAnswer list_objects(Call& call);
HttpAnswer watch_objects(Call& call);
HttpAnswer create_object(Call& call);
HttpAnswer update_object(Call& call);
HttpAnswer patch_object(Call& call);
HttpAnswer delete_object(Call& call);
HttpAnswer delete_collection(Call& call);
HttpAnswer answer_subresource(Call& call);  // all but status, which the verbs do themselves
/// GET pods/NAME/log: container, tailLines, limitBytes and previous as a real one takes them; follow
/// ends with what is there.
HttpAnswer read_log(const Call& call);
HttpAnswer answer_review(Call& call);  // SubjectAccessReview, TokenReview, ...

HttpAnswer answer_failure(const Failure& failure);
HttpAnswer answer_value(const Value& value, int status = 200);

}  // namespace aliquot::sim::apiserver
