// SPDX-License-Identifier: Apache-2.0
#include "page/live.h"

#include <pthread.h>

#include <algorithm>

#include "base/json_text.h"
#include "base/log.h"
#include "page/narrow.h"
#include "page/share_tables.h"

namespace aliquot::page {
namespace {

/// Another one at each call, and after each start.
std::string epoch_of_now() {
    static std::atomic<std::uint64_t> number{0};
    return std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + "." +
           std::to_string(++number);
}

}  // namespace

Live::Live(Look look, LiveOptions options) : look_(std::move(look)), options_(std::move(options)) {
    whole_.feed = std::make_shared<Feed>(epoch_of_now());
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    ::pthread_setname_np(thread_.native_handle(), "page");
}

Live::~Live() {
    thread_.request_stop();
    visited_.notify_all();
}

bool Live::is_watched() const {
    return last_visit_ != Steady{} &&
           std::chrono::steady_clock::now() - last_visit_ < options_.quiet_after;
}

std::chrono::milliseconds Live::pause() const {
    if (!is_watched()) return History::kStep;
    constexpr int kRest = 10;  // a look takes at most a tenth of this thread's time
    return std::max(options_.interval, took_ * kRest);
}

void Live::look() {
    const auto begun = std::chrono::steady_clock::now();
    try {
        auto sight = std::make_shared<const Sight>(look_());
        const auto now = std::chrono::system_clock::now();
        history_.note(sight->cluster, now);
        {
            const std::scoped_lock lock(mutex_);
            whole_.sight = sight;
        }
        publish(*whole_.feed, *sight, "", now);
        look_at_parts(sight, now, Which::kAll);
    } catch (const std::exception& problem) {
        log::error("page.look_failed", {{"why", problem.what()}});
    }
    const std::scoped_lock lock(mutex_);
    took_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                  begun);
}

void Live::publish(Feed& feed, const Sight& sight, const std::string& only, Moment at) const {
    const Breadth breadth = breadth_of(sight.cluster);
    State state{
        .tables = tables_of(sight, breadth),
        .about = "{\"title\":" + json_quoted(sight.title.empty() ? options_.title : sight.title) +
                 ",\"partial\":" + (breadth == Breadth::kWhole ? "false" : "true") +
                 ",\"only\":" + json_quoted(only) + ",\"views\":" + options_.views + "}"};
    settle(state);
    feed.publish(std::move(state), at);
}

void Live::look_at_parts(const std::shared_ptr<const Sight>& sight, Moment at, Which which) {
    if (!sight) return;
    std::map<std::string, std::shared_ptr<Feed>> feeds;
    {
        const std::scoped_lock lock(mutex_);
        const Steady now = std::chrono::steady_clock::now();
        std::erase_if(parts_, [&](const auto& one) {
            return now - one.second.last_visit > options_.quiet_after;
        });
        for (const auto& [only, part] : parts_) {
            if (which == Which::kAll || !part.sight) feeds[only] = part.feed;
        }
    }
    for (const auto& [only, feed] : feeds) {
        auto narrowed = std::make_shared<const Sight>(only_of(*sight, only));
        publish(*feed, *narrowed, only, at);
        const std::scoped_lock lock(mutex_);
        const auto found = parts_.find(only);
        if (found != parts_.end()) found->second.sight = std::move(narrowed);
    }
}

Live::Part* Live::part_of(const std::string& only) {
    if (only.empty()) return &whole_;
    const auto found = parts_.find(only);
    if (found != parts_.end()) return &found->second;
    if (parts_.size() >= kMostParts) return nullptr;
    waited_for_ = true;
    Part& part = parts_[only];
    part.feed = std::make_shared<Feed>(epoch_of_now());
    return &part;
}

void Live::run(const std::stop_token& stop) {
    Steady next{};  // when to look
    while (!stop.stop_requested()) {
        const bool due = std::chrono::steady_clock::now() >= next;
        if (due) {
            look();
        } else {
            look_at_parts(sight_of(""), std::chrono::system_clock::now(), Which::kNew);
        }
        std::unique_lock lock(mutex_);
        if (due) next = std::chrono::steady_clock::now() + pause();
        const bool watched = is_watched();
        const auto is_news = [&] { return waited_for_ || (!watched && is_watched()); };
        visited_.wait_until(lock, stop, next, is_news);
        // Who comes after a silence does not wait for the history's next look; who comes to a part that nobody has
        // seen yet gets it out of the last look.
        if (!watched && is_watched()) next = {};
        waited_for_ = false;
    }
}

std::shared_ptr<const Feed> Live::visit(std::chrono::milliseconds patience,
                                        const std::string& only) {
    bool was_watched = false;
    std::shared_ptr<const Feed> feed;
    {
        const std::scoped_lock lock(mutex_);
        Part* const part = part_of(only);
        if (part == nullptr) return nullptr;
        was_watched = is_watched();
        last_visit_ = std::chrono::steady_clock::now();
        part->last_visit = last_visit_;
        feed = part->feed;
    }
    visited_.notify_all();
    const std::uint64_t version = feed->wait_newer(0, patience);
    if (!was_watched) feed->wait_newer(version, std::min(patience, options_.interval));
    return feed;
}

std::shared_ptr<const Sight> Live::sight_of(const std::string& only) const {
    const std::scoped_lock lock(mutex_);
    if (only.empty()) return whole_.sight;
    const auto found = parts_.find(only);
    return found == parts_.end() ? nullptr : found->second.sight;
}

std::string Live::history_json(const std::string& gpu, const std::string& only) const {
    constexpr std::string_view kNothing = "\n";  // no GPU has this name
    if (only.empty()) return history_.json(gpu);
    const auto sight = sight_of(only);
    if (!sight) return history_.json(std::string(kNothing));
    for (const top::Agent& agent : sight->cluster.agents) {
        for (const telemetry::Device& device : agent.snapshot->devices) {
            if (gpu_row_key(agent.snapshot->node, device.gpu.index) == gpu) {
                return history_.json(gpu);
            }
        }
    }
    return history_.json(std::string(kNothing));
}

std::string Live::shares_json(const std::vector<std::string>& nodes,
                              const std::string& only) const {
    const auto sight = sight_of(only);
    if (!sight) return "{}";
    State state{.tables = share_tables(sight->cluster, nodes), .about = "{}"};
    settle(state);
    return tables_json(state);
}

}  // namespace aliquot::page
