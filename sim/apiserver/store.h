// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

/// One version of an object. Immutable.
class Entry {
public:
    Entry(Value content, std::uint64_t at) : object(std::move(content)), revision(at) {}
    const Value object;  // with its resourceVersion
    const std::uint64_t revision;
    /// The object as JSON; made at the first call. Thread-safe.
    const std::string& json() const;

private:
    mutable std::once_flag made_;
    mutable std::string json_;
};
using EntryPtr = std::shared_ptr<const Entry>;

/// One step in the history of a resource.
struct Change {
    std::uint64_t revision = 0;
    std::string key;  // "namespace/name"; "name" of cluster-wide objects
    EntryPtr before;  // nullptr: created
    EntryPtr now;     // nullptr: removed; then `last` is how it was, with the revision of its end
    EntryPtr last;
};

/// Objects with a history under one counter, as etcd keeps them. Reads of the past are possible
/// until it is compacted. Thread-safe; what is handed out is immutable.
class Store {
public:
    struct Page {
        std::vector<EntryPtr> entries;
        std::uint64_t revision = 0;  // of the whole list
        std::string next_key;        // where the next page begins; empty: this was the last
        std::size_t remaining = 0;   // behind this page
    };
    struct Changes {
        std::vector<Change> changes;
        std::uint64_t revision = 0;  // everything up to here has been seen
        bool compacted = false;      // `after` is older than the history
    };

    /// history_limit   changes kept for each resource; older ones are compacted
    explicit Store(std::size_t history_limit = 100'000) : history_limit_(history_limit) {}

    [[nodiscard]] EntryPtr get(const std::string& resource, const std::string& key) const;

    /// nullptr: it exists already. Sets metadata.resourceVersion.
    EntryPtr create(const std::string& resource, const std::string& key, Value object);
    /// nullptr: it is no longer at `expected`.
    EntryPtr update(const std::string& resource, const std::string& key, Value object,
                    std::uint64_t expected);
    /// The object with the revision of its end; nullptr: it is no longer at `expected`.
    EntryPtr remove(const std::string& resource, const std::string& key, std::uint64_t expected);

    /// Objects whose key begins with `prefix`, in order of their keys, from `first_key` on.
    /// revision   0: as of now. nullopt when it is compacted.
    [[nodiscard]] std::optional<Page> list(const std::string& resource, const std::string& prefix,
                                           std::uint64_t revision, const std::string& first_key,
                                           std::size_t limit) const;

    /// What happened to a resource after a revision, oldest first; waits until there is something,
    /// `patience` has passed or interrupt() is called.
    [[nodiscard]] Changes wait(const std::string& resource, std::uint64_t after,
                               std::chrono::milliseconds patience) const;

    [[nodiscard]] std::uint64_t revision() const { return revision_.load(); }
    [[nodiscard]] std::uint64_t compacted() const;
    [[nodiscard]] std::size_t count(const std::string& resource) const;
    /// Forgets what was before `revision`; 0: all but the present.
    void compact(std::uint64_t revision = 0);
    /// Wakes all that wait.
    void interrupt();

private:
    struct Version {
        std::uint64_t revision;
        EntryPtr entry;  // nullptr: removed
    };
    struct Shelf {
        std::map<std::string, std::vector<Version>, std::less<>> objects;
        std::deque<Change> history;
        std::uint64_t forgotten = 0;  // changes up to this revision are gone
        std::size_t alive = 0;
        std::condition_variable changed;
    };

    Shelf& shelf(const std::string& resource) const;
    EntryPtr stamp(Value object);
    void record(Shelf& shelf, Change change);
    static void trim(Shelf& shelf, std::uint64_t revision);

    mutable std::mutex guard_;
    mutable std::map<std::string, std::unique_ptr<Shelf>> shelves_;
    std::atomic<std::uint64_t> revision_ = 1;
    std::uint64_t compacted_ = 0;
    std::size_t history_limit_;
};

}  // namespace aliquot::sim::apiserver
