// SPDX-License-Identifier: Apache-2.0
// Versions of the API that servers no longer have: API001, API002.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "catalog/version.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/rules/evidence.h"
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

constexpr std::array<Removed, 50> kRemoved{{
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
    {"resource.k8s.io/v1alpha3", "ResourceClass", "1.31", ""},
    {"resource.k8s.io/v1alpha4", "", "", "resource.k8s.io/v1"},  // there never was one
    {"resource.k8s.io/v1beta1", "ResourceClass", "1.31", ""},
    {"resource.k8s.io/v1beta2", "ResourceClass", "1.31", ""},
    {"resource.k8s.io/v1", "ResourceClass", "1.31", ""},
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
constexpr std::array<Removed, 20> kRemovedCustom{{
    {"karpenter.sh/v1alpha5", "", "Karpenter 0.33", "karpenter.sh/v1"},
    {"karpenter.k8s.aws/v1alpha1", "", "Karpenter 0.33", "karpenter.k8s.aws/v1"},
    {"karpenter.sh/v1beta1", "", "Karpenter 1.1", "karpenter.sh/v1"},
    {"karpenter.k8s.aws/v1beta1", "", "Karpenter 1.1", "karpenter.k8s.aws/v1"},
    {"keda.k8s.io/v1alpha1", "", "KEDA 2.0", "keda.sh/v1alpha1"},
    {"serving.kubeflow.org/v1alpha1", "", "KServe 0.7", "serving.kserve.io/v1alpha1"},
    {"serving.kubeflow.org/v1alpha2", "", "KServe 0.7", "serving.kserve.io/v1beta1"},
    {"serving.kubeflow.org/v1beta1", "", "KServe 0.7", "serving.kserve.io/v1beta1"},
    {"serving.kserve.io/v1alpha2", "InferenceService", "KServe 0.7", "serving.kserve.io/v1beta1"},
    {"kubeflow.org/v1alpha1", "MPIJob", "MPI Operator 0.4", "kubeflow.org/v2beta1"},
    {"kubeflow.org/v1alpha2", "MPIJob", "MPI Operator 0.4", "kubeflow.org/v2beta1"},
    {"kubeflow.org/v1alpha1", "TFJob", "Kubeflow 1.0", "kubeflow.org/v1"},
    {"kubeflow.org/v1alpha2", "TFJob", "Kubeflow 1.0", "kubeflow.org/v1"},
    {"kubeflow.org/v1beta1", "TFJob", "Kubeflow 1.0", "kubeflow.org/v1"},
    {"kubeflow.org/v1beta2", "TFJob", "Kubeflow 1.0", "kubeflow.org/v1"},
    {"kubeflow.org/v1alpha2", "PyTorchJob", "Kubeflow 1.0", "kubeflow.org/v1"},
    {"kubeflow.org/v1beta1", "PyTorchJob", "Kubeflow 1.0", "kubeflow.org/v1"},
    {"kubeflow.org/v1beta2", "PyTorchJob", "Kubeflow 1.0", "kubeflow.org/v1"},
    {"kueue.x-k8s.io/v1alpha1", "", "Kueue 0.3", "kueue.x-k8s.io/v1beta1"},
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

/// A guide from one version to another: it tells of moving, and writes a second version of the group.
bool tells_of_moving(const File& file, const Removed& removed) {
    if (!file.is_prose()) return false;
    const bool moving = file.mentions("migrat") || file.mentions("deprecat") ||
                        file.mentions("conversion") || file.mentions("no longer served");
    if (!moving) return false;
    for (const std::string_view version : {removed.version, removed.now}) {
        const std::string group(version.substr(0, version.find('/') + 1));
        if (group.empty()) continue;
        for (std::size_t at = 0; (at = file.text.find(group + 'v', at)) != std::string::npos;) {
            std::size_t end = at + group.size();
            while (end < file.text.size() &&
                   std::isalnum(static_cast<unsigned char>(file.text[end])) != 0) {
                ++end;
            }
            if (std::string_view(file.text).substr(at, end - at) != removed.version) return true;
            at = end;
        }
    }
    return false;
}

/// Whether the text itself says that the version ends: "removed in Kubernetes v1.25".
bool says_so(const File& file, const Removed& removed) {
    if (!file.is_prose() || removed.since.empty()) return false;
    const std::string_view release = removed.since.substr(removed.since.rfind(' ') + 1);
    const auto names_release = [release](std::string_view text) {
        for (std::size_t at = 0; (at = text.find(release, at)) != std::string_view::npos;) {
            const bool longer =
                (at > 0 && std::isdigit(static_cast<unsigned char>(text[at - 1]))) ||
                (at + release.size() < text.size() &&
                 std::isdigit(static_cast<unsigned char>(text[at + release.size()])));
            if (!longer) return true;
            at += release.size();
        }
        return false;
    };
    return std::any_of(file.statements.begin(), file.statements.end(), [&](const Statement& one) {
        const bool of_it = contains(one.text, removed.version) ||
                           (!removed.kind.empty() && contains(one.text, removed.kind));
        return of_it && names_release(one.text);
    });
}

/// "0.36.1" of `version = "0.36.1"`, `KARPENTER_VERSION=0.36.1`, `--version v0.36.1`.
std::optional<catalog::Version> version_in(std::string_view line) {
    std::size_t at = lower(line).find("version");
    if (at == std::string::npos) return std::nullopt;
    at = line.find_first_of("0123456789", at);
    if (at == std::string_view::npos) return std::nullopt;
    return catalog::parse_version(line.substr(at));
}

/// Whether a file near it installs a release of the project that still serves the version: a line with
/// a version below or above one that names the project.
bool installs_earlier(const File& near, const Removed& removed) {
    const auto blank = removed.since.find(' ');
    const auto end = catalog::parse_version(removed.since.substr(blank + 1));
    const std::string project = lower(removed.since.substr(0, blank));
    if (!end || !near.mentions(project) || !near.mentions("version")) return false;
    constexpr unsigned kNear = 8;  // lines of one resource or command
    unsigned named = 0;
    unsigned versioned = 0;
    std::optional<catalog::Version> version;
    for (unsigned line = 1; line <= near.line_starts.size(); ++line) {
        const std::string_view text = near.line(line);
        if (contains(text, "apiversion")) continue;
        if (contains(text, project)) named = line;
        if (const auto found = version_in(text)) {
            version = found;
            versioned = line;
        }
        if (named == 0 || versioned == 0 || !version) continue;
        if (std::max(named, versioned) - std::min(named, versioned) <= kNear && *version < *end)
            return true;
    }
    return false;
}

void check_object(const File& file, const Set& set, const Object& object, Report& report) {
    const Removed* removed = find_removed(kRemoved, object);
    const bool custom = removed == nullptr;
    if (custom) removed = find_removed(kRemovedCustom, object);
    if (removed == nullptr) return;
    if (custom) {
        for (const File* near : set.neighbours(file)) {
            if (installs_earlier(*near, *removed)) return;
        }
    }
    const Value* value = object.node->find("apiVersion");
    const std::string since = removed->since.empty()
                                  ? " is served by no release"
                                  : " is gone since " + std::string(custom ? "" : "Kubernetes ") +
                                        std::string(removed->since);
    auto finding = report.add(custom ? "API002" : "API001", value->mark,
                              object.kind + " of " + object.api_version + since);
    const bool optional = object.templated && object.kind == "PodSecurityPolicy";  // of a chart
    if (optional || is_kept(file) || tells_of_moving(file, *removed) || says_so(file, *removed)) {
        finding.severity(findings::Severity::kInfo);
    }
    if (removed->now.empty()) return;
    finding.expected(std::string(removed->now)).fix("apiVersion: " + std::string(removed->now));
}

}  // namespace

void check_api_versions(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    if (file.mentions(".capabilities")) return;  // a chart that chooses by the server's version
    if (file.is_prose() && (file.mentions("non-goals") || file.mentions("non goals"))) {
        return;  // a proposal: its versions are those of its day, and of what it proposes
    }
    for (const Object& object : file.objects) {
        const bool whole = object.role == Role::kObject || object.role == Role::kPatch;
        if (!whole || object.kind == "CustomResourceDefinition") continue;
        if (object.node->find("apiVersion") != nullptr) check_object(file, set, object, report);
    }
}

}  // namespace aliquot::lint
