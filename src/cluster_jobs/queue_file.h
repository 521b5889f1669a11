// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "document/value.h"

namespace aliquot::cluster_jobs {

/// Reads the short form of queues and makes Kueue's objects of it, in the order in which they are to be applied:
/// ResourceFlavors, an AdmissionCheck where a queue wants one, ClusterQueues, LocalQueues.
///
///     queues:
///     - name: vision                # ClusterQueue, and LocalQueue of each namespace
///       namespaces: [vision]        # default: one of its name
///       cohort: lab                 # queues of one cohort lend what they do not use
///       gpus: {a100: 8, v100: 4}    # quota by flavour; the first that has room is taken
///       borrow: {a100: 4}           # at most so much beyond it; default: what is idle
///       lend: {a100: 2}             # at most so much of it; default: all
///       cpu: 64                     # default: no limit
///       memory: 512Gi
///       order: strict               # or best-effort, the default
///       preempt: lower-priority     # or never, the default: within the queue
///       reclaim: any                # or lower-priority, never (default): its own quota back from borrowers
///       check-placement: true       # admitted when the cluster's GPUs have room for it
///     flavors:                      # only of those that are no GPU model, or whose nodes have other labels
///     - name: big
///       labels: {pool: big}
///       tolerate: [nvidia.com/gpu]
///     resource: nvidia.com/gpu
///
/// errors   kInvalidInput with the path of the field
Result<std::vector<document::Value>> read_queue_file(std::string_view text);

}  // namespace aliquot::cluster_jobs
