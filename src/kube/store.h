// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kube/object.h"

namespace aliquot::kube {

/// An object as a cache holds it: shared and never changed.
using StoredObject = std::shared_ptr<const Object>;

/// Makes the text that is kept of an object's JSON text.
using Projection = std::function<std::string(std::string_view json)>;

/// Keeps only the named fields: {"metadata.labels", "spec.nodeName",
/// "spec.containers.resources"}. A path goes through lists as if they were not there; a path
/// keeps all below it. apiVersion, kind and metadata's name, namespace, uid and resourceVersion
/// stay always.
Projection keep_fields(const std::vector<std::string>& paths);

/// Cuts metadata.managedFields out of the text.
std::string without_managed_fields(std::string_view json);

/// A second way to find objects: by the words that `words` gives of each.
struct Index {
    std::string name;  // "node"
    std::function<std::vector<std::string>(const Object& object)> words;
};

/// Objects by key. Thread-safe; readers get shared, unchanging objects.
class Store {
public:
    explicit Store(std::vector<Index> indexes = {});

    [[nodiscard]] StoredObject find(const ObjectKey& key) const;  // empty: none
    [[nodiscard]] std::vector<StoredObject> all() const;          // in no order
    [[nodiscard]] std::vector<StoredObject> in_namespace(std::string_view name) const;
    /// Those with `word` in the index of that name; none when there is no such index.
    [[nodiscard]] std::vector<StoredObject> by_index(std::string_view index,
                                                     std::string_view word) const;
    [[nodiscard]] std::size_t size() const;

    /// Returns what was there before.
    StoredObject put(StoredObject object);
    StoredObject erase(const ObjectKey& key);

private:
    struct KeyView {
        std::string_view namespace_name;
        std::string_view name;
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const KeyView& key) const;
        std::size_t operator()(const StoredObject& object) const;
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const StoredObject& one, const StoredObject& other) const;
        bool operator()(const KeyView& key, const StoredObject& object) const;
        bool operator()(const StoredObject& object, const KeyView& key) const;
    };
    using Words = std::unordered_map<std::string, std::unordered_set<StoredObject>>;

    void enter(const StoredObject& object);
    void leave(const StoredObject& object);

    mutable std::shared_mutex mutex_;
    std::unordered_set<StoredObject, Hash, Equal> objects_;
    std::vector<Index> indexes_;
    std::vector<Words> words_;  // one for each index
};

}  // namespace aliquot::kube
