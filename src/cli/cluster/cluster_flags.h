// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "kube_client/api.h"
#include "kube_client/connect.h"

namespace aliquot::cli {

/// Which cluster a command speaks to, in kubectl's words.
struct ClusterOptions {
    std::string kubeconfig;
    std::string context;
    std::string namespace_name;  // only of commands that have -n
    unsigned request_timeout_seconds = 30;
};

/// Adds --kubeconfig, --context and --request-timeout.
/// words      outlives the parsing
void add_cluster_flags(command_line::Command& command, ClusterOptions& words);

/// Adds -n, --namespace.
/// what       of the objects that the command is about: "Namespace of the pod"
void add_namespace_flag(command_line::Command& command, ClusterOptions& words,
                        const std::string& what);

/// The limit of time of one request.
kube_client::Call call_of(const ClusterOptions& words);

/// Prepares the way to the API server; the first request opens it. Empty: it was said why (with the
/// places that were looked at), and the exit code is set.
std::optional<kube_client::Connection> connect_cluster(Context& context,
                                                       const ClusterOptions& words);

/// Says why a request failed, and what fixes it: of a forbidden one the verb that a role must have.
/// Sets exit code 3, or 2 when the cluster refuses what we were given.
void fail(Context& context, const kube_client::Failure& failure);

/// "list nodes" out of "... cannot list resource \"nodes\" in API group \"\" ..."; empty: the
/// message says no such thing.
std::string missing_right(std::string_view message);

}  // namespace aliquot::cli
