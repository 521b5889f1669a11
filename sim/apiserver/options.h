// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace aliquot::sim {

/// What the next requests get instead of an answer.
struct ApiFault {
    std::string method;                  // "PATCH"; empty: any
    std::string path;                    // beginning of the path ("/api/v1/pods"); empty: any
    std::string resource;                // "pods": of whatever namespace; empty: any
    std::string verb;                    // "list", "watch", "create", ...; empty: any
    int status = 0;                      // 409, 410, 429, 500, 503, ...; 0: it is served normally
    int retry_after_seconds = 0;         // with 429 and 503
    std::chrono::milliseconds delay{0};  // before all else
    bool break_connection = false;       // instead of any answer
    bool after_write = false;  // the write is done, then the fault shows: the client cannot know
    unsigned times = 1;        // so many requests
};

struct ApiUser {
    std::string name;
    std::vector<std::string> groups;
};

struct ApiServerOptions {
    std::string http_address = "127.0.0.1:0";   // empty: no plain HTTP
    std::string https_address = "127.0.0.1:0";  // empty: no TLS
    /// Where the kubeconfig, the CA and the admin's certificate are written (0600); made when it
    /// is missing. Empty: nothing is written.
    std::string directory;
    /// Host names and addresses for the certificate, beside localhost and 127.0.0.1.
    std::vector<std::string> certificate_names;
    bool rbac = false;      // off: everybody may do everything
    bool anonymous = true;  // requests without credentials are system:anonymous; else 401
    /// With rbac off, plain HTTP requests without credentials act as the administrator.
    std::map<std::string, ApiUser> tokens;  // bearer token -> user
    bool collect_garbage = true;  // owner references and namespaces, as kube-controller-manager
    bool default_service_accounts = true;  // "default" in each namespace, likewise
    /// Where admission webhooks that name a Service are found: "NAMESPACE/NAME" -> "127.0.0.1:PORT".
    std::map<std::string, std::string> service_addresses;
    bool control_path = true;             // faults over HTTP: POST /_sim/...
    std::size_t history_limit = 100'000;  // changes kept for each resource
    std::chrono::milliseconds bookmark_interval{60'000};
    std::chrono::seconds continue_lifetime{300};
    std::string version = "v1.36.2";  // what /version says
    /// Gates of 1.36 that are off ("DRAConsumableCapacity"): their fields are dropped without a word.
    std::set<std::string> disabled_features;
};

}  // namespace aliquot::sim
