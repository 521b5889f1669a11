// SPDX-License-Identifier: Apache-2.0
#include "page/live.h"

#include <pthread.h>

#include <algorithm>

#include "base/json_text.h"
#include "base/log.h"
#include "page/share_tables.h"

namespace aliquot::page {
namespace {

std::string epoch_of_now() {
    return std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
}

}  // namespace

Live::Live(Look look, LiveOptions options)
    : look_(std::move(look)), options_(std::move(options)), feed_(epoch_of_now()) {
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
        const Breadth breadth = breadth_of(sight->cluster);
        State state{.tables = tables_of(*sight, breadth),
                    .about = "{\"title\":" +
                             json_quoted(sight->title.empty() ? options_.title : sight->title) +
                             ",\"partial\":" + (breadth == Breadth::kWhole ? "false" : "true") +
                             ",\"views\":" + options_.views + "}"};
        settle(state);
        {
            const std::scoped_lock lock(mutex_);
            sight_ = std::move(sight);
        }
        feed_.publish(std::move(state), now);
    } catch (const std::exception& problem) {
        log::error("page.look_failed", {{"why", problem.what()}});
    }
    const std::scoped_lock lock(mutex_);
    took_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                  begun);
}

void Live::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        look();
        std::unique_lock lock(mutex_);
        const bool watched = is_watched();
        // The first viewer after a silence does not wait for the history's next look.
        visited_.wait_for(lock, stop, pause(), [&] { return !watched && is_watched(); });
    }
}

void Live::visit(std::chrono::milliseconds patience) {
    bool was_watched = false;
    {
        const std::scoped_lock lock(mutex_);
        was_watched = is_watched();
        last_visit_ = std::chrono::steady_clock::now();
    }
    visited_.notify_all();
    const std::uint64_t version = feed_.wait_newer(0, patience);
    if (!was_watched) feed_.wait_newer(version, std::min(patience, options_.interval));
}

std::string Live::shares_json(const std::vector<std::string>& nodes) const {
    std::shared_ptr<const Sight> sight;
    {
        const std::scoped_lock lock(mutex_);
        sight = sight_;
    }
    if (!sight) return "{}";
    State state{.tables = share_tables(sight->cluster, nodes), .about = "{}"};
    settle(state);
    return tables_json(state);
}

}  // namespace aliquot::page
