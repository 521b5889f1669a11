// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "scaling/directory.h"
#include "scaling/recent_metrics.h"

namespace aliquot::scaling {

struct Question {
    std::string path;  // decoded: "/apis/custom.metrics.k8s.io/v1beta2/namespaces/..."
    std::string label_selector;
    std::string metric_label_selector;
    Instant now;
};

/// As Kubernetes' API server would answer: JSON, errors as a Status object.
struct ApiAnswer {
    int status = 200;
    std::string body;
};

/// Answers custom.metrics.k8s.io v1beta2 and v1beta1 and external.metrics.k8s.io v1beta1: discovery
/// and values. Pure but for what the directory does.
///
/// Values are of pods (one, or those that a selector names), of a workload's or a namespace's pods
/// together, and of nodes. External values are those of the namespace's pods, one for each, with
/// labels pod and node and, where they are known, the pod's own.
/// source   the client of Kubernetes 1.36's autoscaler; k8s.io/metrics' types
ApiAnswer answer(const Question& question, const RecentMetrics& recent,
                 const PodDirectory& directory);

/// A failure in the form of the API server.
/// reason   "NotFound", "BadRequest", ...
ApiAnswer failure(int code, const std::string& reason, const std::string& message);

}  // namespace aliquot::scaling
