// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kube_client/api.h"
#include "kube_client/store.h"

namespace aliquot::kube_client {

struct InformerOptions {
    std::string namespace_name{};  // empty: all
    std::string label_selector{};
    std::string field_selector{};
    bool metadata_only = false;
    bool keep_managed_fields = false;
    /// Applied to each object before it is kept; empty: kept as it is. See keep_fields().
    Projection projection{};
    std::vector<Index> indexes{};
    unsigned chunk = 500;
    std::chrono::seconds watch_duration{300};  // at least; the real one is up to twice as long
    /// After trouble: doubles from the first to the limit, each +-20 %.
    std::chrono::milliseconds first_wait{800};
    std::chrono::milliseconds longest_wait{30'000};
};

/// What has been going on; for status pages and tests.
struct InformerState {
    bool synced = false;        // the whole list has been there at least once
    bool connected = false;     // a watch is open
    std::uint64_t lists = 0;    // whole lists that were read
    std::uint64_t watches = 0;  // streams that were opened
    std::uint64_t events = 0;   // applied
    std::string resource_version;
    std::string last_failure;  // empty: none so far
    /// When the server was last heard (list, event, bookmark); the epoch: never.
    std::chrono::steady_clock::time_point last_heard{};
};

/// A cache of all objects of one resource (or of those that a selector names), kept equal to the
/// server by list and watch: through streams that break, forgotten versions and whatever order.
///
///     Informer pods(api, resources::pods(), {.label_selector = "app=web"});
///     pods.start();
///     if (!pods.wait_synced(10s)) ...
///     for (const auto& pod : pods.store().all()) use(pod->json);
///
/// One thread of its own from start() to the destructor. Thread-safe.
class Informer {
public:
    /// Told after the cache has changed: `before` is empty for a new object, `after` for one that
    /// is gone. Called on the informer's thread, one after the other; it must be quick (put the key
    /// into a WorkQueue) and must not destroy the informer.
    using Handler = std::function<void(const ObjectKey& key, const StoredObject& before,
                                       const StoredObject& after)>;

    Informer(Api& api, Resource resource, InformerOptions options = {}, Handler handler = {});
    ~Informer();
    Informer(const Informer&) = delete;
    Informer& operator=(const Informer&) = delete;

    void start();

    /// True when the first whole list is in the cache; false when `timeout` passed or a stop came.
    bool wait_synced(std::chrono::milliseconds timeout, std::stop_token stop = {}) const;

    [[nodiscard]] const Store& store() const;
    [[nodiscard]] InformerState state() const;

private:
    class Work;
    std::unique_ptr<Work> work_;
};

}  // namespace aliquot::kube_client
