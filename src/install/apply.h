// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "install/render.h"
#include "kube_client/api.h"

namespace aliquot::install {

struct ApplyOptions {
    bool dry_run = false;  // the server checks everything and keeps nothing
    /// Take fields that others own. Without it those of `kubectl apply` are taken all the same from an object
    /// with our labels: it was made of `install -o yaml` or of the kustomize base.
    bool force = false;
    /// The ConfigMaps are written even if they are there: they were given explicitly.
    bool replace_config = false;
    bool replace_mig_config = false;
    kube_client::Call call{};
};

/// What became of one object.
struct Applied {
    enum class What : std::uint8_t {
        kCreated,
        kChanged,
        kUnchanged,
        kKept,     // a ConfigMap that is there stays as it is
        kSkipped,  // the cluster does not know such objects; `why`
    };
    What what = What::kUnchanged;
    Manifest manifest;
    std::string why{};
    std::string before{};  // JSON as it was; empty: it was not there
    std::string after{};   // JSON as it is, or would be; empty: not known
};
std::string_view to_text(Applied::What what);

/// Why an object could not be applied.
struct ApplyFailure {
    std::string title;  // of the object
    kube_client::Failure failure;
};

struct ApplyResult {
    std::vector<Applied> applied;           // in order, as far as it went
    std::optional<ApplyFailure> stopped{};  // at this one; empty: all is done
};

/// Applies all, in order, as field manager "aliquot"; stops at the first that is refused, and may
/// be called again. Kinds of monitoring.coreos.com that the cluster lacks, and the admission policy
/// on Kubernetes before 1.30, are left out.
ApplyResult apply(kube_client::Api& api, const std::vector<Manifest>& manifests,
                  const ApplyOptions& options);

/// The fields of a conflict and who has them, as sentences; empty when it is none.
std::vector<std::string> conflicts(const kube_client::Failure& failure);

/// How far the DaemonSet is.
struct Rollout {
    unsigned wished = 0;   // nodes that are to have an agent
    unsigned updated = 0;  // have the newest one
    unsigned ready = 0;
    bool observed = false;  // the controllers know the newest DaemonSet
    [[nodiscard]] bool done() const { return observed && updated >= wished && ready >= wished; }
};
Rollout read_rollout(std::string_view daemon_set_json);

/// Looks once: the rollout of aliquot-agent.
kube_client::Outcome<Rollout> look_at_rollout(kube_client::Api& api, const kube_client::Call& call);

/// Why agents are not ready, one sentence each with the pod's name: image not found, crash, no
/// permission. At most `limit`.
std::vector<std::string> why_not_ready(kube_client::Api& api, const kube_client::Call& call,
                                       std::size_t limit);

}  // namespace aliquot::install
