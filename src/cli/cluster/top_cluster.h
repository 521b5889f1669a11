// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "cli/host/top_source.h"
#include "kube_client/connect.h"

namespace aliquot::cli {

/// All node agents of a cluster, found by their pods and asked through the API server, which needs the
/// rights to list pods and to get pods/proxy. Pods that come and go are noticed within half a minute.
///
/// timeout   for an agent's answer
std::unique_ptr<TopSource> make_cluster_source(kube_client::Connection connection,
                                               std::chrono::milliseconds timeout);

}  // namespace aliquot::cli
