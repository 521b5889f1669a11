// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

struct ServerContext;
struct Resource;

/// Does what kube-controller-manager's collectors do: deletes what a deleted owner leaves behind
/// (background, foreground, orphan) and what lies in a deleted namespace. One thread of its own.
class Collector {
public:
    explicit Collector(ServerContext& context);
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    ~Collector();

    /// Something was written or is gone. Thread-safe, quick.
    void written(const Resource& resource, const Value& object);
    void removed(const Resource& resource, const Value& object);

    /// Waits until nothing is left to do. False: not within `patience`.
    bool settle(std::chrono::milliseconds patience);

private:
    using Place = std::pair<std::string, std::string>;  // storage, key

    struct Task {
        enum class Kind : std::uint8_t { kOwnerGone, kForeground, kOrphan, kNamespace };
        Kind kind = Kind::kOwnerGone;
        std::string uid;
        Place place;
    };

    void run();
    void perform(const Task& task);
    void drop_dependents(const std::string& owner, bool foreground);
    void orphan_dependents(const std::string& owner);
    bool has_blocking_dependents(const std::string& owner);
    void finish(const Place& place, std::string_view finalizer);
    void empty_namespace(const std::string& name);
    [[nodiscard]] std::set<Place> dependents_of(const std::string& owner) const;
    void push(Task task);
    void remove(const Place& place, const std::string& policy);

    ServerContext& context_;
    mutable std::mutex guard_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    std::map<std::string, std::set<Place>> dependents_;  // owner uid -> objects
    std::map<Place, std::set<std::string>> owners_;      // object -> owner uids
    std::map<std::string, Place> waiting_;               // deleted in the foreground, by uid
    std::set<std::string> ending_;                       // namespaces being emptied
    bool busy_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace aliquot::sim::apiserver
