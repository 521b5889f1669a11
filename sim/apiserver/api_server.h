// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/apiserver/options.h"

namespace aliquot::sim {

/// Whom a pod's token stands for: system:serviceaccount:NAMESPACE:NAME and its groups.
ApiUser service_account(const std::string& name_space, const std::string& name);

/// An API server in this process, as far as clients can see: see docs/internals/apiserver.md for
/// what it does and what not. Nothing runs in it: no pod starts, no controller acts, but for what
/// real API servers do by themselves and what the options name. Thread-safe.
class ApiServer {
public:
    /// errors   kInvalidInput: address; kConflict: address in use; kPermission: directory
    static Result<std::unique_ptr<ApiServer>> start(ApiServerOptions options = {});
    ~ApiServer();  // cuts all connections

    [[nodiscard]] std::string http_url() const;   // "http://127.0.0.1:PORT"; empty without
    [[nodiscard]] std::string https_url() const;  // likewise
    [[nodiscard]] const std::string& ca_certificate() const;  // PEM
    [[nodiscard]] const std::string& admin_token() const;     // a member of system:masters
    /// A kubeconfig for the administrator with all in it (HTTPS, client certificate).
    [[nodiscard]] const std::string& kubeconfig() const;
    [[nodiscard]] std::string kubeconfig_file() const;  // empty without a directory
    /// A token that is good for a user from now on.
    std::string issue_token(const ApiUser& user);
    /// A kubeconfig with a token of the user's, over TLS: what a pod of that service account may do.
    std::string kubeconfig_for(const ApiUser& user);
    void revoke_token(const std::string& token);

    struct Reply {
        int status = 0;
        std::string body;
    };
    /// A request as the administrator, without a connection. Not for watches.
    /// target   with its query: "/api/v1/nodes?limit=2"
    Reply request(std::string_view method, std::string_view target, std::string_view body = "",
                  std::string_view content_type = "application/json");

    /// Applies every object of a YAML text (documents, lists) server-side, in their order, as the
    /// administrator. Returns how many.
    /// name_space   of objects that name none
    /// errors       kInvalidInput: no YAML, an unknown kind, or refused; the message names the object
    Result<unsigned> apply(std::string_view manifests, const std::string& name_space = "default");
    /// What a container has said, for pods/log; until the pod is removed.
    void set_log(const std::string& name_space, const std::string& pod,
                 const std::string& container, std::string text);

    void inject(ApiFault fault);
    void clear_faults();
    /// Cuts every connection.
    void cut_connections();
    /// Forgets the history: older watches and continue tokens are 410 from now on.
    void compact();

    [[nodiscard]] std::uint64_t revision() const;
    [[nodiscard]] unsigned watches(std::string_view resource = "") const;
    [[nodiscard]] std::uint64_t requests() const;  // that were answered so far
    /// Requests by "verb resource" ("list pods").
    [[nodiscard]] std::map<std::string, std::uint64_t> request_counts() const;
    /// Waits until the collector has nothing to do. False: not within `patience`.
    bool settle(std::chrono::milliseconds patience = std::chrono::seconds(5));

private:
    class Implementation;
    explicit ApiServer(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::sim
