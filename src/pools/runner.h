// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "document/build.h"
#include "pools/pool.h"

namespace aliquot::pools {

/// Runners of GitHub Actions on a pool: Actions Runner Controller's chart gha-runner-scale-set. The runner pod is
/// small and has no GPU, so that idle runners cost none; the pod of a job has it.
struct RunnerOptions {
    std::string name;                   // of the scale set; empty: the pool's
    std::string config_url;             // "https://github.com/org/repo"
    std::string secret = "github-app";  // with the credentials
    std::vector<std::string> labels{"self-hosted", "linux", "x64", "gpu", "cuda"};
    unsigned min_runners = 0;
    unsigned max_runners = 10;
    std::string runner_image = "ghcr.io/actions/actions-runner:latest";
    std::string resource = "nvidia.com/gpu";  // of a job: a GPU, or a share
    unsigned amount = 1;
    std::string cpu_limit = "8";
    std::string cpu_request = "4";
    std::string memory_limit = "32Gi";
    std::string memory_request = "16Gi";
    std::string cache_claim;  // for ccache, sccache and git; empty: lasts as long as the job
    std::string cache_size = "10Gi";
    /// Jobs run in the runner's own container, which has the GPU, also while it waits. Else they run in pods of their own.
    bool runner_holds_gpu = false;
    std::string
        gate_image;  // has `aliquot`: checks the GPU before such a runner registers; empty: nobody does
};

/// The ConfigMap of the job pod's template stands beside the values.
struct RunnerFiles {
    document::Value values;                // for helm -f
    std::vector<document::Value> objects;  // for kubectl apply: the ConfigMap, a claim
    std::vector<std::string> warnings;     // a job that no node of the pool has room for
};

/// errors   kInvalidInput: a name, a URL or a number that ARC or GitHub would refuse
Result<RunnerFiles> runner_files(const Pool& pool, const RunnerOptions& options);

/// A workflow that shows whether a job has its GPU: driver, compiler, PyTorch's device and a product of matrices.
std::string test_workflow(const std::vector<std::string>& labels, std::string_view image);

/// What the figures of one scale set say of why a job waits.
struct RunnerFigures {
    unsigned assigned = 0;    // jobs that GitHub gave the scale set
    unsigned running = 0;     // of them
    unsigned registered = 0;  // runners that GitHub knows
    unsigned busy = 0;
    unsigned max_runners = 0;
    unsigned pods_pending = 0;   // job pods without a node
    unsigned pods_failed = 0;    // runner pods that failed
    std::string pending_reason;  // what the scheduler says of the oldest
    unsigned nodes_starting = 0;
    unsigned nodes_at_most = 0;  // nodes of the pool
    unsigned nodes = 0;
    bool listens = true;  // a listener runs
};

/// The first cause, then what follows from it; one sentence each.
std::vector<std::string> explain_waiting(const RunnerFigures& figures);

}  // namespace aliquot::pools
