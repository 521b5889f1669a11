// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube_client/api.h"
#include "os/root.h"

namespace aliquot::kube_client {

/// Where the API server is and who we are there.
struct ConnectOptions {
    /// As --kubeconfig: one file. Empty: $KUBECONFIG (a list of files), else the pod's service
    /// account when we run in one, else ~/.kube/config.
    std::string kubeconfig{};
    std::string context{};         // empty: current-context
    std::string namespace_name{};  // empty: the context's, or the service account's
    std::string user_agent = "aliquot/" ALIQUOT_VERSION;
    /// Our own limit on requests: so many at once from rest, then so many a second.
    unsigned burst = 100;
    double per_second = 50;
    Limits limits{};
};

struct Connection {
    std::unique_ptr<Api> api;
    std::string namespace_name;  // where things without a namespace belong; "default" at last
    std::string server;          // "https://10.0.0.1:6443"
    std::string origin;          // "context 'prod' of /home/ada/.kube/config", "service account"
};

/// The contexts that `options` can name, by name.
/// errors   kNotFound: no kubeconfig; kInvalidInput; kPermission
Result<std::vector<std::string>> contexts_of(const ConnectOptions& options);

/// Prepares the way; the first request opens it. Starts one thread for all that is carried.
/// errors   kNotFound: no kubeconfig and no service account; kInvalidInput: a file is wrong (the
///          message begins file:line:column); kPermission
Result<Connection> connect(const ConnectOptions& options = {});

/// The same with another environment than ours, and another place for the service account.
Result<Connection> connect(const ConnectOptions& options,
                           const std::map<std::string, std::string>& environment,
                           const os::Root& root);

}  // namespace aliquot::kube_client
