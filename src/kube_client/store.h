// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kube_client/object.h"
#include "kube_client/packed_text.h"

namespace aliquot::kube_client {

/// An object as a cache holds it: shared and never changed.
using StoredObject = std::shared_ptr<const Object>;

/// Makes the text that is kept of an object's JSON text.
using Projection = std::function<std::string(std::string_view json)>;

/// Keeps only the named fields: {"metadata.labels", "spec.nodeName",
/// "spec.containers.resources"}. A path goes through lists as if they were not there; a path
/// keeps all below it. apiVersion, kind and metadata's name, namespace, uid and resourceVersion
/// stay always.
Projection keep_fields(const std::vector<std::string>& paths);

/// A second way to find objects: by the words that `words` gives of each.
struct Index {
    std::string name;  // "node"
    std::function<std::vector<std::string>(const Object& object)> words;
};

/// Objects by key. Thread-safe; readers get shared, unchanging objects.
///
/// The first thousand are kept as they are. Further ones are kept packed (packed_text.h), a
/// fraction of their size, and each look at one makes it anew: about 1 us.
class Store {
public:
    explicit Store(std::vector<Index> indexes = {});

    [[nodiscard]] StoredObject find(const ObjectKey& key) const;  // empty: none
    /// All at once, in no order. Of a large store that is much memory: see visit().
    [[nodiscard]] std::vector<StoredObject> all() const;
    /// Those with `word` in the index of that name; none when there is no such index.
    [[nodiscard]] std::vector<StoredObject> by_index(std::string_view index,
                                                     std::string_view word) const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::vector<ObjectKey> keys() const;
    /// Shows one object after the other, in no order. What is written meanwhile waits: `look` must
    /// be quick and must not call this store.
    void visit(const std::function<void(const Object& object)>& look) const;

    struct Head {
        std::string uid;
        std::string resource_version;
    };
    [[nodiscard]] std::optional<Head> head(const ObjectKey& key) const;

    /// Returns what was there before, unless the caller does not want it.
    StoredObject put(StoredObject object, bool want_before = true);
    StoredObject erase(const ObjectKey& key);

private:
    struct KeyView {
        std::string_view namespace_name;
        std::string_view name;
    };
    /// One object: as it is, or as one block of memory with its packed text. It may change, its key
    /// does not.
    struct Slot {
        mutable StoredObject plain;
        mutable std::unique_ptr<char[]> packed;

        [[nodiscard]] KeyView key() const;
        [[nodiscard]] Head head() const;
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const KeyView& key) const;
        std::size_t operator()(const Slot& slot) const;
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const Slot& one, const Slot& other) const;
        bool operator()(const KeyView& key, const Slot& slot) const;
        bool operator()(const Slot& slot, const KeyView& key) const;
    };
    using Words = std::unordered_map<std::string, std::unordered_set<const Slot*>>;

    [[nodiscard]] Slot slot_of(StoredObject object);
    [[nodiscard]] StoredObject object_of(const Slot& slot) const;
    void enter(const Slot& slot, const Object& object);
    void leave(const Slot& slot, const Object& object);

    mutable std::shared_mutex mutex_;
    TextPacker packer_;
    std::unordered_set<Slot, Hash, Equal> slots_;  // they stay where they are
    std::vector<Index> indexes_;
    std::vector<Words> words_;  // one for each index
};

}  // namespace aliquot::kube_client
