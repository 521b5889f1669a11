// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bundle/tree.h"
#include "kube_client/api.h"

namespace aliquot::doctor {

/// What the API server is asked for.
struct ClusterQuestion {
    /// One pod: then only what lies in its namespace, the nodes, and the pods that hold something.
    /// Empty: the whole cluster.
    std::string pod_namespace;
    std::string pod;
    std::chrono::milliseconds kind_deadline{20'000};   // of one kind, all its pages
    std::chrono::milliseconds whole_deadline{90'000};  // then the rest is not asked for
};

/// What could not be read, or not to its end, a line each.
using ClusterNotes = std::vector<std::string>;

/// Adds "k8s/KIND.json" and "logs/NAMESPACE/POD/CONTAINER.log" to a tree, page by page and with
/// bounds: 20,000 pods, 10,000 events, 5,000 nodes, 2,000 of any other kind; of ConfigMaps those in
/// namespaces of GPU stacks; of logs the last 300 lines of the pod and of plugin pods that are not
/// well. A kind that we may not list is an entry that says which right is missing. Changes nothing.
///
/// errors   kUnreachable, kUnauthorized, kCredentials, kDeadline: the server does not speak to us;
///          kNotFound: there is no such pod
kube_client::Outcome<ClusterNotes> gather_cluster(kube_client::Api& api,
                                                  const ClusterQuestion& question,
                                                  bundle::Tree& tree);

}  // namespace aliquot::doctor
