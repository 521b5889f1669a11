// SPDX-License-Identifier: Apache-2.0
#include "dra/publisher.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "document/json.h"
#include "document/path.h"
#include "kube_client/informer.h"

namespace aliquot::dra {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kFirstRetry{1000};

const kube_client::Resource& slices_resource() {
    static const kube_client::Resource kResource{"resource.k8s.io", "v1", "resourceslices",
                                                 "ResourceSlice", false};
    return kResource;
}

std::string selector_of(const std::string& node) {
    return "spec.nodeName=" + node + ",spec.driver=" + std::string(kDriver);
}

Result<NodeIdentity> identity_of(kube_client::Api& api, const std::string& node,
                                 const kube_client::Call& call) {
    const auto found = api.get(kube_client::resources::nodes(), {"", node}, call);
    if (!found) return found.error();
    return NodeIdentity{.name = node, .uid = found->uid};
}

Result<std::vector<StoredSlice>> stored_slices(kube_client::Api& api, const NodeIdentity& node,
                                               const kube_client::Call& call) {
    const auto page = api.list(slices_resource(), {.field_selector = selector_of(node.name)}, call);
    if (!page) return page.error();
    std::vector<StoredSlice> slices;
    for (const kube_client::Object& object : page->items) {
        const auto value = document::parse_json(object.json);
        if (!value) return value.error();
        if (document::text_at(*value, "spec.driver") != kDriver ||
            document::text_at(*value, "spec.nodeName") != node.name) {
            continue;
        }
        slices.push_back(read_stored_slice(*value, node));
    }
    return slices;
}

Result<Done> remove_slice(kube_client::Api& api, const StoredSlice& slice,
                          const kube_client::Call& call) {
    const auto removed =
        api.remove(slices_resource(), {"", slice.name},
                   {.uid = slice.uid, .resource_version = slice.resource_version, .call = call});
    if (removed || removed.failure().is(kube_client::Reason::kNotFound)) return Done{};
    return removed.error();
}

Result<std::vector<std::string>> write_slice(kube_client::Api& api,
                                             const SliceChanges::Write& write,
                                             const kube_client::Call& call) {
    const std::string json = document::to_json_line(write.object);
    const auto stored = write.present ? api.replace(slices_resource(), {"", write.present->name},
                                                    json, {.call = call})
                                      : api.create(slices_resource(), "", json, {.call = call});
    if (!stored) return stored.error();
    const auto value = document::parse_json(stored->json);
    if (!value) return value.error();
    return dropped_fields(write.object, *value);
}

}  // namespace

Result<Published> publish_slices(kube_client::Api& api, const std::string& node,
                                 const std::optional<std::vector<Device>>& devices,
                                 const kube_client::Call& call) {
    const auto identity = identity_of(api, node, call);
    if (!identity) return identity.error();
    const auto stored = stored_slices(api, *identity, call);
    if (!stored) return stored.error();
    SliceChanges changes;
    if (devices) {
        changes = plan_slices(*identity, *devices, *stored);
    } else {
        changes.remove = *stored;
    }
    Published published;
    for (const StoredSlice& slice : changes.remove) {
        if (auto removed = remove_slice(api, slice, call); !removed) return removed.error();
        ++published.writes;
    }
    for (const SliceChanges::Write& write : changes.write) {
        auto dropped = write_slice(api, write, call);
        if (!dropped) return dropped.error();
        ++published.writes;
        published.dropped.insert(published.dropped.end(), dropped->begin(), dropped->end());
    }
    return published;
}

Result<bool> keeps(kube_client::Api& api, const std::string& node, Feature feature,
                   const kube_client::Call& call) {
    const auto identity = identity_of(api, node, call);
    if (!identity) return identity.error();
    const document::Value probe = probe_slice(*identity, feature);
    const auto stored = api.create(slices_resource(), "", document::to_json_line(probe),
                                   {.dry_run = true, .call = call});
    if (!stored) return stored.error();
    const auto value = document::parse_json(stored->json);
    if (!value) return value.error();
    return dropped_fields(probe, *value).empty();
}

class Publisher::Implementation {
public:
    Implementation(kube_client::Api& api, std::string node, Options options)
        : api_(api),
          node_(std::move(node)),
          options_(options),
          slices_(api_, slices_resource(),
                  {.field_selector = selector_of(node_), .metadata_only = true},
                  [this](const auto& /*key*/, const auto& /*before*/, const auto& /*after*/) {
                      note_event();
                  }) {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }

    void set(std::optional<std::vector<Device>> devices) {
        const std::scoped_lock lock(mutex_);
        if (is_set_ && same(devices, devices_)) return;
        // Another way to publish may be one that this API server keeps.
        if (is_set_ && features(devices) != features(devices_)) refused_.clear();
        devices_ = std::move(devices);
        is_set_ = true;
        status_.current = false;
        look_at_ = SteadyClock::now();
        changed_.notify_all();
    }

    Status status() const {
        const std::scoped_lock lock(mutex_);
        return status_;
    }

private:
    static bool same(const std::optional<std::vector<Device>>& a,
                     const std::optional<std::vector<Device>>& b) {
        if (!a || !b) return a.has_value() == b.has_value();
        return std::ranges::equal(*a, *b, [](const Device& one, const Device& other) {
            return document::to_json_line(one.published) == document::to_json_line(other.published);
        });
    }
    /// What an API server may drop of them.
    static std::pair<bool, bool> features(const std::optional<std::vector<Device>>& devices) {
        if (!devices) return {};
        return {
            std::ranges::any_of(*devices, &Device::consumable),
            std::ranges::any_of(*devices, [](const Device& one) { return !one.counters.empty(); })};
    }

    void note_event() {
        const std::scoped_lock lock(mutex_);
        auto at = SteadyClock::now() + options_.settle;
        // Somebody who undoes what we do shall not make both of us busy.
        if (undone_at_) at = std::max(at, *undone_at_ + options_.patience);
        look_at_ = std::min(look_at_, at);
        by_event_ = true;
        changed_.notify_all();
    }

    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        bool started = false;
        while (!stop.stop_requested()) {
            const auto due = [this] { return is_set_ && SteadyClock::now() >= look_at_; };
            const auto limit = is_set_ ? look_at_ : SteadyClock::now() + options_.resync;
            if (!due()) {
                // An event that is to be looked at before then ends the wait, though not yet due itself.
                changed_.wait_until(lock, stop, limit,
                                    [&] { return due() || (is_set_ && look_at_ < limit); });
                continue;
            }
            const auto devices = wanted();
            const bool by_event = std::exchange(by_event_, false) && status_.current;
            look_at_ = SteadyClock::now() + options_.resync;
            lock.unlock();
            if (!std::exchange(started, true)) slices_.start();
            const bool followed = slices_.state().synced;
            const auto published = publish_slices(api_, node_, devices, {.stop = stop});
            lock.lock();
            note(published, devices, by_event);
            if (published && !followed) look_again();
        }
    }

    /// What somebody has removed before the first list of what is there is never told as an event.
    void look_again() {
        unfollowed_ = std::clamp(unfollowed_ * 2, options_.settle, options_.resync);
        look_at_ = std::min(look_at_, SteadyClock::now() + unfollowed_);
    }

    /// What may be published on this API server.
    [[nodiscard]] std::optional<std::vector<Device>> wanted() const {
        if (!refused_.empty() || !devices_) return std::nullopt;
        std::vector<Device> devices = *devices_;
        if (no_taints_) {
            std::erase_if(devices, [](const Device& one) { return !one.health.ok(); });
        }
        return devices;
    }

    void note(const Result<Published>& published, const std::optional<std::vector<Device>>& devices,
              bool by_event) {
        if (!published) {
            retry_ = std::clamp(retry_ * 2, kFirstRetry, options_.retry_limit);
            look_at_ = std::min(look_at_, SteadyClock::now() + retry_);
            complain(published.error().message);
            return;
        }
        retry_ = milliseconds{};
        status_.writes += published->writes;
        if (published->writes > 0) {
            log::info("dra.published",
                      {{"devices", devices ? devices->size() : 0}, {"writes", published->writes}});
            if (by_event) undone_at_ = SteadyClock::now();
        }
        note_dropped(published->dropped);
        status_.devices = devices ? devices->size() : 0;
        status_.current = look_at_ > SteadyClock::now();
        status_.refused = refused_;
        complain(refused_);
    }

    void note_dropped(const std::vector<std::string>& dropped) {
        for (const std::string& field : dropped) {
            if (field.starts_with("taints ")) {
                if (!std::exchange(no_taints_, true)) {
                    log::warning("dra.no_taints", {{"why", "the API server dropped " + field}});
                }
            } else if (refused_.empty()) {
                refused_ = "the API server dropped " + field +
                           "; GPUs are not published: switch the gate on, or serve --dra=fixed";
            } else {
                continue;
            }
            look_at_ = SteadyClock::now();
        }
    }

    void complain(const std::string& problem) {
        if (status_.problem == problem) return;
        status_.problem = problem;
        if (!problem.empty()) log::error("dra.not_published", {{"why", problem}});
    }

    kube_client::Api& api_;
    const std::string node_;
    const Options options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    bool is_set_ = false;
    std::optional<std::vector<Device>> devices_;
    SteadyClock::time_point look_at_{};
    bool by_event_ = false;
    std::optional<SteadyClock::time_point> undone_at_;
    milliseconds retry_{};
    milliseconds unfollowed_{};  // until the next look, while no event would tell
    bool no_taints_ = false;
    std::string refused_;  // why nothing is published; empty: it is
    Status status_;
    kube_client::Informer slices_;
    std::jthread thread_;
};

Publisher::Publisher(kube_client::Api& api, std::string node, Options options)
    : implementation_(std::make_unique<Implementation>(api, std::move(node), options)) {}

Publisher::~Publisher() = default;

void Publisher::set(std::optional<std::vector<Device>> devices) {
    implementation_->set(std::move(devices));
}

Publisher::Status Publisher::status() const { return implementation_->status(); }

}  // namespace aliquot::dra
