// SPDX-License-Identifier: Apache-2.0
#include "kube_client/resource.h"

namespace aliquot::kube_client {

std::string Resource::api_version() const {
    return group.empty() ? version : group + "/" + version;
}

std::string to_text(const ObjectKey& key) {
    return key.namespace_name.empty() ? key.name : key.namespace_name + "/" + key.name;
}

std::string encode_part(std::string_view text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        if (kPlain.contains(c)) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += kHex[byte >> 4U];
        encoded += kHex[byte & 15U];
    }
    return encoded;
}

std::string path_of(const Resource& resource, const ObjectKey& key, std::string_view subresource) {
    std::string path =
        resource.group.empty() ? "/api/" : "/apis/" + encode_part(resource.group) + "/";
    path += encode_part(resource.version);
    if (resource.namespaced && !key.namespace_name.empty()) {
        path += "/namespaces/" + encode_part(key.namespace_name);
    }
    path += "/" + encode_part(resource.plural);
    if (!key.name.empty()) path += "/" + encode_part(key.name);
    if (!subresource.empty()) path += "/" + encode_part(subresource);
    return path;
}

namespace resources {

const Resource& pods() {
    static const Resource kResource{"", "v1", "pods", "Pod", true};
    return kResource;
}
const Resource& nodes() {
    static const Resource kResource{"", "v1", "nodes", "Node", false};
    return kResource;
}
const Resource& namespaces() {
    static const Resource kResource{"", "v1", "namespaces", "Namespace", false};
    return kResource;
}
const Resource& config_maps() {
    static const Resource kResource{"", "v1", "configmaps", "ConfigMap", true};
    return kResource;
}
const Resource& secrets() {
    static const Resource kResource{"", "v1", "secrets", "Secret", true};
    return kResource;
}
const Resource& services() {
    static const Resource kResource{"", "v1", "services", "Service", true};
    return kResource;
}
const Resource& service_accounts() {
    static const Resource kResource{"", "v1", "serviceaccounts", "ServiceAccount", true};
    return kResource;
}
const Resource& core_events() {
    static const Resource kResource{"", "v1", "events", "Event", true};
    return kResource;
}
const Resource& events() {
    static const Resource kResource{"events.k8s.io", "v1", "events", "Event", true};
    return kResource;
}
const Resource& leases() {
    static const Resource kResource{"coordination.k8s.io", "v1", "leases", "Lease", true};
    return kResource;
}
const Resource& volume_claims() {
    static const Resource kResource{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                    true};
    return kResource;
}
const Resource& persistent_volumes() {
    static const Resource kResource{"", "v1", "persistentvolumes", "PersistentVolume", false};
    return kResource;
}
const Resource& storage_classes() {
    static const Resource kResource{"storage.k8s.io", "v1", "storageclasses", "StorageClass",
                                    false};
    return kResource;
}
const Resource& jobs() {
    static const Resource kResource{"batch", "v1", "jobs", "Job", true};
    return kResource;
}
const Resource& deployments() {
    static const Resource kResource{"apps", "v1", "deployments", "Deployment", true};
    return kResource;
}
const Resource& daemon_sets() {
    static const Resource kResource{"apps", "v1", "daemonsets", "DaemonSet", true};
    return kResource;
}

}  // namespace resources
}  // namespace aliquot::kube_client
