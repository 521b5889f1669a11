// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "page/feed.h"
#include "page/history.h"
#include "page/node_tables.h"

namespace aliquot::page {

struct LiveOptions {
    std::string title;  // "node gpu-1", "aliquot up"
    /// The views that are offered, of those that web/app.js knows, as a JSON array; []: all that have a table.
    std::string views = "[]";
    std::chrono::milliseconds interval{2'000};  // between two looks while somebody watches
    /// Without a viewer for so long it only looks for the history.
    std::chrono::milliseconds quiet_after{30'000};
};

/// Looks at what the page shows, on a thread of its own: as often as viewers want to see it, and for the
/// history when there is none. However many viewers there are, there is one look. Thread-safe.
class Live {
public:
    using Look = std::function<Sight()>;  // called by that thread only; takes what time it needs

    Live(Look look, LiveOptions options);
    ~Live();
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;

    /// Different parts of the whole that are kept for viewers at one time.
    static constexpr std::size_t kMostParts = 64;

    [[nodiscard]] const Feed& feed() const { return *whole_.feed; }

    // only   the namespace whose pods may be seen (narrow.h); empty: all of it

    /// Somebody is there: looks at once when the last look is old. Waits for the first one, `patience` at most. Null:
    /// too many look at different parts.
    std::shared_ptr<const Feed> visit(std::chrono::milliseconds patience,
                                      const std::string& only = {});
    /// Shares of some nodes as JSON, of the last look; {} before it.
    [[nodiscard]] std::string shares_json(const std::vector<std::string>& nodes,
                                          const std::string& only = {}) const;
    /// As History::json(); of a part only its own GPUs.
    [[nodiscard]] std::string history_json(const std::string& gpu,
                                           const std::string& only = {}) const;

private:
    using Steady = std::chrono::steady_clock::time_point;
    void run(const std::stop_token& stop);
    struct Part {
        std::shared_ptr<Feed> feed;
        std::shared_ptr<const Sight> sight;  // of the last look; null before it
        Steady last_visit;
    };
    void look();
    enum class Which : std::uint8_t { kAll, kNew };
    void look_at_parts(const std::shared_ptr<const Sight>& sight, Moment at, Which which);
    void publish(Feed& feed, const Sight& sight, const std::string& only, Moment at) const;
    Part* part_of(const std::string& only);
    [[nodiscard]] std::shared_ptr<const Sight> sight_of(const std::string& only) const;
    [[nodiscard]] bool is_watched() const;
    [[nodiscard]] std::chrono::milliseconds pause() const;

    const Look look_;
    const LiveOptions options_;
    History history_;
    mutable std::mutex mutex_;  // guards what follows
    std::condition_variable_any visited_;
    Steady last_visit_;
    std::chrono::milliseconds took_{0};  // the last look
    bool waited_for_ = false;            // somebody has come who has nothing yet
    Part whole_;                         // its feed stays
    std::map<std::string, Part> parts_;  // by namespace
    std::jthread thread_;                // last: it uses the others
};

}  // namespace aliquot::page
