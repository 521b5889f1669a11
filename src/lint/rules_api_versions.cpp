// SPDX-License-Identifier: Apache-2.0
// Versions of the API that servers no longer have: API001, API002.
#include <array>

#include "lint/evidence.h"
#include "lint/families.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// An apiVersion that is gone. `kind` empty: all kinds of it.
struct Removed {
    std::string_view version;
    std::string_view kind;
    std::string_view since;  // the release that no longer serves it
    std::string_view now;    // what to write; empty: nothing took its place
};

constexpr std::array<Removed, 45> kRemoved{{
    {"extensions/v1beta1", "Ingress", "1.22", "networking.k8s.io/v1"},
    {"extensions/v1beta1", "NetworkPolicy", "1.16", "networking.k8s.io/v1"},
    {"extensions/v1beta1", "PodSecurityPolicy", "1.16", ""},
    {"extensions/v1beta1", "", "1.16", "apps/v1"},
    {"apps/v1beta1", "", "1.16", "apps/v1"},
    {"apps/v1beta2", "", "1.16", "apps/v1"},
    {"batch/v2alpha1", "", "1.21", "batch/v1"},
    {"batch/v1beta1", "", "1.25", "batch/v1"},
    {"autoscaling/v2beta1", "", "1.25", "autoscaling/v2"},
    {"autoscaling/v2beta2", "", "1.26", "autoscaling/v2"},
    {"policy/v1beta1", "PodSecurityPolicy", "1.25", ""},
    {"policy/v1beta1", "PodDisruptionBudget", "1.25", "policy/v1"},
    {"networking.k8s.io/v1beta1", "Ingress", "1.22", "networking.k8s.io/v1"},
    {"networking.k8s.io/v1beta1", "IngressClass", "1.22", "networking.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1alpha1", "", "1.22", "rbac.authorization.k8s.io/v1"},
    {"rbac.authorization.k8s.io/v1beta1", "", "1.22", "rbac.authorization.k8s.io/v1"},
    {"apiextensions.k8s.io/v1beta1", "", "1.22", "apiextensions.k8s.io/v1"},
    {"apiregistration.k8s.io/v1beta1", "", "1.22", "apiregistration.k8s.io/v1"},
    {"admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration", "1.22",
     "admissionregistration.k8s.io/v1"},
    {"admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration", "1.22",
     "admissionregistration.k8s.io/v1"},
    {"certificates.k8s.io/v1beta1", "CertificateSigningRequest", "1.22", "certificates.k8s.io/v1"},
    {"coordination.k8s.io/v1beta1", "Lease", "1.22", "coordination.k8s.io/v1"},
    {"scheduling.k8s.io/v1alpha1", "PriorityClass", "1.17", "scheduling.k8s.io/v1"},
    {"scheduling.k8s.io/v1beta1", "PriorityClass", "1.22", "scheduling.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "StorageClass", "1.22", "storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "CSIDriver", "1.22", "storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "CSINode", "1.22", "storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "VolumeAttachment", "1.22", "storage.k8s.io/v1"},
    {"storage.k8s.io/v1beta1", "CSIStorageCapacity", "1.27", "storage.k8s.io/v1"},
    {"node.k8s.io/v1alpha1", "RuntimeClass", "1.22", "node.k8s.io/v1"},
    {"node.k8s.io/v1beta1", "RuntimeClass", "1.25", "node.k8s.io/v1"},
    {"discovery.k8s.io/v1beta1", "EndpointSlice", "1.25", "discovery.k8s.io/v1"},
    {"events.k8s.io/v1beta1", "Event", "1.25", "events.k8s.io/v1"},
    {"flowcontrol.apiserver.k8s.io/v1beta1", "", "1.26", "flowcontrol.apiserver.k8s.io/v1"},
    {"flowcontrol.apiserver.k8s.io/v1beta2", "", "1.29", "flowcontrol.apiserver.k8s.io/v1"},
    {"flowcontrol.apiserver.k8s.io/v1beta3", "", "1.32", "flowcontrol.apiserver.k8s.io/v1"},
    {"resource.k8s.io/v1alpha1", "", "1.27", "resource.k8s.io/v1"},
    {"resource.k8s.io/v1alpha2", "", "1.31", "resource.k8s.io/v1"},
    {"resource.k8s.io/v1alpha3", "ResourceClaim", "1.33", "resource.k8s.io/v1"},
    {"resource.k8s.io/v1alpha3", "ResourceClaimTemplate", "1.33", "resource.k8s.io/v1"},
    {"resource.k8s.io/v1alpha3", "DeviceClass", "1.33", "resource.k8s.io/v1"},
    {"resource.k8s.io/v1alpha3", "ResourceSlice", "1.33", "resource.k8s.io/v1"},
    {"resource.k8s.io/v1alpha3", "PodSchedulingContext", "1.33", ""},
    {"kubelet.config.k8s.io/v1alpha1", "KubeletConfiguration", "1.10",
     "kubelet.config.k8s.io/v1beta1"},
    {"componentconfig/v1alpha1", "", "1.10", ""},
}};

/// The same for resources of projects that GPU clusters have.
constexpr std::array<Removed, 6> kRemovedCustom{{
    {"karpenter.sh/v1alpha5", "", "Karpenter 0.33", "karpenter.sh/v1"},
    {"karpenter.k8s.aws/v1alpha1", "", "Karpenter 0.33", "karpenter.k8s.aws/v1"},
    {"karpenter.sh/v1beta1", "", "Karpenter 1.1", "karpenter.sh/v1"},
    {"karpenter.k8s.aws/v1beta1", "", "Karpenter 1.1", "karpenter.k8s.aws/v1"},
    {"keda.k8s.io/v1alpha1", "", "KEDA 2.0", "keda.sh/v1alpha1"},
    {"kueue.x-k8s.io/v1alpha2", "", "Kueue 0.4", "kueue.x-k8s.io/v1beta1"},
}};

template <std::size_t N>
const Removed* find_removed(const std::array<Removed, N>& table, const Object& object) {
    for (const Removed& one : table) {
        if (one.version != object.api_version) continue;
        if (one.kind.empty() || one.kind == object.kind) return &one;
    }
    return nullptr;
}

void check_object(const Object& object, Report& report) {
    const Removed* removed = find_removed(kRemoved, object);
    const bool custom = removed == nullptr;
    if (custom) removed = find_removed(kRemovedCustom, object);
    if (removed == nullptr) return;
    const Node* value = object.node->find("apiVersion");
    auto finding = report.add(custom ? "API002" : "API001", value->mark,
                              object.kind + " of " + object.api_version + " is gone since " +
                                  (custom ? "" : "Kubernetes ") + std::string(removed->since));
    if (removed->now.empty()) return;
    finding.expected(std::string(removed->now)).fix("apiVersion: " + std::string(removed->now));
}

}  // namespace

void check_api_versions(const File& file, const Set& /*set*/, const Facts* /*facts*/,
                        Report& report) {
    if (file.mentions(".capabilities")) return;  // a chart that chooses by the server's version
    for (const Object& object : file.objects) {
        const bool whole = object.role == Role::kObject || object.role == Role::kPatch;
        if (!whole || object.kind == "CustomResourceDefinition") continue;
        if (object.node->find("apiVersion") != nullptr) check_object(object, report);
    }
}

}  // namespace aliquot::lint
