// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace aliquot::kube_client {

/// A kind of object as the API server's paths name it. Known ones: resources.h; any other by
/// Api::find_resource().
struct Resource {
    std::string group;  // empty: the core group
    std::string version;
    std::string plural;  // "pods"
    std::string kind;    // "Pod"; may be empty where only paths are needed
    bool namespaced = true;

    /// "v1", "apps/v1": the apiVersion of its objects.
    [[nodiscard]] std::string api_version() const;
    friend bool operator==(const Resource&, const Resource&) = default;
};

/// Which object of a resource. The namespace is empty for one of the cluster.
struct ObjectKey {
    std::string namespace_name;
    std::string name;
    friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

/// "default/web", or "node-1" without a namespace.
std::string to_text(const ObjectKey& key);

/// The path of an object or, with an empty name, of the collection; parts are percent-encoded.
/// subresource  "status", "scale", "binding", "eviction"; empty: the object itself
std::string path_of(const Resource& resource, const ObjectKey& key,
                    std::string_view subresource = {});

/// Percent-encodes all but letters, digits and "-._~".
std::string encode_part(std::string_view text);

/// Those every cluster has. Each is a constant.
namespace resources {
const Resource& pods();
const Resource& nodes();
const Resource& namespaces();
const Resource& config_maps();
const Resource& secrets();
const Resource& services();
const Resource& service_accounts();
const Resource& core_events();  // v1
const Resource& events();       // events.k8s.io/v1
const Resource& leases();
const Resource& volume_claims();
const Resource& persistent_volumes();
const Resource& storage_classes();
const Resource& jobs();
const Resource& deployments();
const Resource& daemon_sets();
}  // namespace resources

}  // namespace aliquot::kube_client
