// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kube_client/api.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

/// What a test is put before with Kubernetes' own programs in place of simulated ones. It is skipped without them.
namespace aliquot::real_peers {

/// ALIQUOT_TEST_KUBECONFIG: an administrator of an API server that is there for tests alone and reaches 127.0.0.1.
std::string kubeconfig();
/// ALIQUOT_TEST_KUBE_SCHEDULER: the program.
std::string kube_scheduler();
/// Empty: both are named; else what is missing.
std::string why_not();

/// kube-scheduler as a process, with stock limits: 50 requests a second. Ends with this.
class KubeScheduler {
public:
    /// more   further lines of its KubeSchedulerConfiguration. Throws when it cannot be started.
    explicit KubeScheduler(const std::string& kubeconfig, const std::string& more = {});
    [[nodiscard]] std::string said() const;

private:
    const os::TemporaryDirectory directory_;
    os::Process process_;
};

/// Deletes all pods of a namespace at once and waits until they are gone.
void clear_pods(kube_client::Api& api, const std::string& space);

/// Deletes all nodes and webhook configurations, and what is namespaced of tests before in `spaces`, which stay. Waits
/// until the pods are gone.
void clear(kube_client::Api& api, const std::vector<std::string>& spaces);

}  // namespace aliquot::real_peers
