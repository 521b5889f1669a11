// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aliquot::document {
struct Value;
}

namespace aliquot::k8s {

/// Pod, or a kind of Kubernetes' own whose template becomes pods.
bool is_workload(std::string_view kind);

/// An object that is a pod or makes pods, as a view into its document, which must outlive it.
struct Workload {
    std::string kind;
    std::string name_space;
    std::string name;
    /// Pods at a time: spec.replicas, of a Job or CronJob parallelism; nullopt: not said.
    std::optional<double> pods;
    const document::Value* metadata = nullptr;  // of the template, or of the Pod; nullptr: none
    const document::Value* spec = nullptr;      // of the pods; nullptr: none
};

/// Of any document. Where a pod stands in an object of a kind that Kubernetes does not know, it is
/// taken to be in spec.template.
Workload read_workload(const document::Value& object);

}  // namespace aliquot::k8s
