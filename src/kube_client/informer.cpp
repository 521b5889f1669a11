// SPDX-License-Identifier: Apache-2.0
#include "kube_client/informer.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>

#include "base/log.h"
#include "kube_client/rate_limiter.h"
#include "kube_client/version_order.h"

namespace aliquot::kube_client {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// The last objects that were deleted, so that a late event does not bring one back. Bounded.
class Graves {
public:
    void dig(const Object& object) {
        constexpr std::size_t kMost = 10'000;
        const auto [at, added] = uids_.insert(object.uid);
        if (added) order_.push_back(*at);
        if (order_.size() > kMost) {
            uids_.erase(order_.front());
            order_.pop_front();
        }
    }
    [[nodiscard]] bool holds(const Object& object) const { return uids_.contains(object.uid); }

private:
    std::unordered_set<std::string> uids_;  // a uid never comes back
    std::deque<std::string> order_;
};

}  // namespace

class Informer::Work {
public:
    Work(Api& api, Resource resource, InformerOptions options, Handler handler)
        : api_(api),
          resource_(std::move(resource)),
          options_(std::move(options)),
          handler_(std::move(handler)),
          store_(options_.indexes),
          jitter_(static_cast<std::uint64_t>(SteadyClock::now().time_since_epoch().count())),
          wait_(options_.first_wait) {}

    void start() {
        if (thread_.joinable()) return;
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
        pthread_setname_np(thread_.native_handle(), "kube-informer");
    }

    bool wait_synced(std::chrono::milliseconds timeout, std::stop_token stop) const {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, stop, timeout, [this] { return state_.synced; });
    }

    [[nodiscard]] const Store& store() const { return store_; }
    [[nodiscard]] InformerState state() const {
        const std::scoped_lock lock(mutex_);
        return state_;
    }

private:
    enum class Next : std::uint8_t { kList, kWatch };

    void run(const std::stop_token& stop) {
        Next next = Next::kList;
        while (!stop.stop_requested()) {
            if (next == Next::kList && !list(stop)) {
                pause(stop);
                continue;
            }
            const auto began = SteadyClock::now();
            auto then = watch(stop);
            connected(false);
            // A server that ends each stream at once must not be asked in a tight loop.
            const bool short_lived = SteadyClock::now() - began < std::chrono::seconds(1);
            if (then.trouble || short_lived) pause(stop);
            next = then.next;
        }
    }

    /// Reads the whole list and makes the cache equal to it.
    bool list(const std::stop_token& stop) {
        constexpr unsigned kMostBeginnings = 3;
        for (unsigned beginning = 1; beginning <= kMostBeginnings; ++beginning) {
            std::set<ObjectKey> seen;
            std::string token;
            while (true) {
                auto page = api_.list_page(resource_,
                                           {.namespace_name = options_.namespace_name,
                                            .label_selector = options_.label_selector,
                                            .field_selector = options_.field_selector,
                                            .chunk = options_.chunk,
                                            .metadata_only = options_.metadata_only,
                                            .keep_managed_fields = options_.keep_managed_fields,
                                            .projection = options_.projection},
                                           token, {.stop = stop});
                if (!page) {
                    failed(page.failure());
                    if (page.failure().is_expired()) break;  // the list we read from is forgotten
                    return false;
                }
                heard();
                for (Object& object : page->items) {
                    seen.insert(object.key());
                    put(std::move(object), Source::kList);
                }
                token = page->next;
                if (!token.empty()) continue;
                forget_unseen(seen);
                listed(std::move(page->resource_version));
                return true;
            }
        }
        return false;
    }

    void forget_unseen(const std::set<ObjectKey>& seen) {
        for (const auto& key : store_.keys()) {
            if (!seen.contains(key)) erase(key);
        }
    }

    struct Then {
        Next next = Next::kWatch;
        bool trouble = false;
    };

    /// One stream, from the last version to its end.
    Then watch(const std::stop_token& stop) {
        // Between one and two durations, so that many clients do not come back at once.
        const auto most = std::max(std::chrono::seconds(1), options_.watch_duration);
        const auto duration = most + std::chrono::duration_cast<std::chrono::seconds>(
                                         (jitter_.around(most) - most * 4 / 5) * 2);
        auto opened = api_.watch(resource_,
                                 {.namespace_name = options_.namespace_name,
                                  .label_selector = options_.label_selector,
                                  .field_selector = options_.field_selector,
                                  .resource_version = version_,
                                  .duration = duration,
                                  .metadata_only = options_.metadata_only},
                                 {.stop = stop});
        if (!opened) return judged(opened.failure());
        Watch& stream = **opened;
        stream.keep_managed_fields(options_.keep_managed_fields);
        connected(true);
        const auto end = SteadyClock::now() + duration + std::chrono::seconds(30);
        while (!stop.stop_requested()) {
            auto batch = stream.next(std::chrono::seconds(5), stop);
            if (!batch) return judged(batch.failure());
            if (!batch->events.empty()) {
                heard();
                wait_ = options_.first_wait;
            }
            for (WatchEvent& event : batch->events) {
                if (!apply(std::move(event))) {
                    return judged(
                        {.reason = Reason::kExpired,
                         .message = "watch " + resource_.plural + ": versions went backwards"});
                }
            }
            remember_version(batch->events.size());
            if (batch->ended) {
                wait_ = options_.first_wait;
                return {};
            }
            if (SteadyClock::now() > end) {
                return judged({.reason = Reason::kUnreachable,
                               .message = "watch " + resource_.plural + ": silent past its end"});
            }
        }
        return {};
    }

    Then judged(const Failure& failure) {
        if (!failure.is(Reason::kStopped)) failed(failure);
        // What cannot be read may hide an event, so the state is read anew.
        const bool anew = failure.is_expired() || failure.is(Reason::kMalformed) ||
                          failure.is(Reason::kInvalid) || failure.is(Reason::kBadRequest);
        return {.next = anew ? Next::kList : Next::kWatch, .trouble = true};
    }

    /// False: the events are not in the order of their versions, so one may be missing.
    bool apply(WatchEvent event) {
        const std::string version = event.object.resource_version;
        if (is_older(version, version_)) return false;
        if (event.type == WatchEvent::Type::kDeleted) {
            graves_.dig(event.object);
            erase(event.object.key(), event.object.uid);
        } else if (event.type != WatchEvent::Type::kBookmark) {
            put(std::move(event.object), Source::kWatch);
        }
        if (!version.empty()) version_ = version;
        return true;
    }

    enum class Source : std::uint8_t { kList, kWatch };

    /// A list is the state, also where its versions are lower than ours: then the server's store was
    /// put back to an older one.
    void put(Object object, Source source) {
        if (graves_.holds(object)) return;
        const auto known = store_.head(object.key());
        if (known && known->uid == object.uid &&
            (known->resource_version == object.resource_version ||
             (source == Source::kWatch &&
              is_older(object.resource_version, known->resource_version)))) {
            return;
        }
        if (options_.projection && source == Source::kWatch)
            object.json = options_.projection(object.json);
        auto stored = std::make_shared<const Object>(std::move(object));
        const auto before = store_.put(stored, handler_ != nullptr);
        if (handler_) handler_(stored->key(), before, stored);
    }

    /// uid  empty: whatever is there
    void erase(const ObjectKey& key, std::string_view uid = {}) {
        // The name may belong to a newer object already, which a list has told us of.
        const auto known = store_.head(key);
        if (!known || (!uid.empty() && known->uid != uid)) return;
        const auto before = store_.erase(key);
        if (handler_) handler_(key, before, nullptr);
    }

    void pause(const std::stop_token& stop) {
        const auto wait = jitter_.around(wait_);
        wait_ = std::min(wait_ * 2, options_.longest_wait);
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, wait, [] { return false; });
    }

    void listed(std::string version) {
        version_ = std::move(version);
        const std::scoped_lock lock(mutex_);
        state_.synced = true;
        state_.resource_version = version_;
        ++state_.lists;
        changed_.notify_all();
    }
    void connected(bool is) {
        const std::scoped_lock lock(mutex_);
        state_.connected = is;
        if (is) ++state_.watches;
    }
    void heard() {
        const std::scoped_lock lock(mutex_);
        state_.last_heard = SteadyClock::now();
    }
    void remember_version(std::size_t events) {
        if (events == 0) return;
        const std::scoped_lock lock(mutex_);
        state_.resource_version = version_;
        state_.events += events;
    }
    void failed(const Failure& failure) {
        bool news = false;
        {
            const std::scoped_lock lock(mutex_);
            news = state_.last_failure != failure.message;
            state_.last_failure = failure.message;
        }
        // Streams end all the time; only what is new is worth a line.
        if (news && !failure.is_expired()) {
            log::warning("kube.informer",
                         {{"resource", resource_.plural}, {"reason", failure.message}});
        }
    }

    Api& api_;
    const Resource resource_;
    const InformerOptions options_;
    const Handler handler_;
    Store store_;

    // Of the thread.
    std::string version_;  // where a watch goes on
    Graves graves_;
    Jitter jitter_;
    std::chrono::milliseconds wait_;

    mutable std::mutex mutex_;
    mutable std::condition_variable_any changed_;
    InformerState state_;
    std::jthread thread_;
};

Informer::Informer(Api& api, Resource resource, InformerOptions options, Handler handler)
    : work_(std::make_unique<Work>(api, std::move(resource), std::move(options),
                                   std::move(handler))) {}
Informer::~Informer() = default;

void Informer::start() { work_->start(); }
bool Informer::wait_synced(std::chrono::milliseconds timeout, std::stop_token stop) const {
    return work_->wait_synced(timeout, std::move(stop));
}
const Store& Informer::store() const { return work_->store(); }
InformerState Informer::state() const { return work_->state(); }

}  // namespace aliquot::kube_client
