// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "sim/apiserver/types.h"

namespace aliquot::sim::apiserver {

struct Subresource {
    std::string name;                  // "status"
    std::string group, version, kind;  // of its objects
    std::vector<std::string> verbs;
};

struct Column {
    std::string name;
    std::string type = "string";
    std::string format;
    std::string path;  // JSONPath below the object: ".spec.replicas"
    std::int64_t priority = 0;
};

/// One resource of one API version: what stands behind "/apis/apps/v1/deployments".
struct Resource {
    std::string group, version, name, kind, singular;
    bool namespaced = true;
    std::vector<std::string> short_names, categories, verbs;
    std::vector<Subresource> subresources;
    const Type* type = nullptr;
    std::string storage;  // key of its objects; the same for all versions: "apps/deployments"
    // Of custom resources.
    bool custom = false;
    bool storage_version = true;
    std::string list_kind;
    std::shared_ptr<const SchemaType> schema;
    std::vector<Column> columns;
    std::vector<std::string> selectable_fields;
    std::string replicas_path, status_replicas_path, selector_path;  // of /scale, without first '.'

    [[nodiscard]] std::string api_version() const {
        return group.empty() ? version : group + "/" + version;
    }
    [[nodiscard]] bool has_verb(std::string_view verb) const;
    [[nodiscard]] const Subresource* find(std::string_view subresource) const;
};

using ResourcePtr = std::shared_ptr<const Resource>;

/// All resources that are served. Thread-safe.
class Resources {
public:
    Resources();  // the built-in ones

    [[nodiscard]] ResourcePtr find(std::string_view group, std::string_view version,
                                   std::string_view name) const;
    /// By kind; used for owner references and bindings.
    [[nodiscard]] ResourcePtr find_kind(std::string_view api_version, std::string_view kind) const;
    /// Any version of it; nullptr: no such resource.
    [[nodiscard]] ResourcePtr find_any(std::string_view group, std::string_view name) const;
    /// In the order they are listed in discovery.
    [[nodiscard]] std::vector<ResourcePtr> all() const;

    /// Replaces the resources of one custom resource definition; none removes them.
    void set_custom(const std::string& definition, std::vector<ResourcePtr> resources);

private:
    mutable std::shared_mutex guard_;
    std::vector<ResourcePtr> built_in_;
    std::map<std::string, std::vector<ResourcePtr>> custom_;
};

/// The resources of a CustomResourceDefinition object, one for each served version.
std::vector<ResourcePtr> read_definition(const Value& definition);

}  // namespace aliquot::sim::apiserver
