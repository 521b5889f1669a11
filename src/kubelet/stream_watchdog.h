// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "kubelet/back_off.h"
#include "kubelet/loop_timer.h"
#include "kubelet/plugin_options.h"
#include "kubelet/streams.h"

namespace aliquot::kubelet {

/// Notices that kubelet has registered us but does not listen. kubelet never repairs this by
/// itself: it does not reconnect, and the end of an old stream can make it hang up on the new one,
/// since it looks clients up by resource name. Not thread-safe.
class StreamWatchdog {
public:
    explicit StreamWatchdog(const PluginOptions& options)
        : no_stream_limit_(options.no_stream_limit),
          retry_(options.retry_first, options.retry_limit) {}

    /// A registration begins; streams count from here.
    void begin(const Streams& streams) {
        opened_before_ = streams.opened_streams();
        lost_until_.reset();
    }

    /// It succeeded; a stream has to come within the limit.
    void confirm(os::TimePoint when) { registered_at_ = when; }

    /// Whether to register again: no stream ever came, or the one that came has ended.
    bool missing(const Streams& streams, LoopTimer& timer) {
        if (streams.open_streams() > 0) {
            lost_until_.reset();
            if (!open_since_) open_since_ = timer.now();
            if (timer.now() - *open_since_ > kSteady) retry_.reset();
            return false;
        }
        open_since_.reset();
        if (streams.opened_streams() == opened_before_)
            return timer.due(registered_at_ + no_stream_limit_);
        if (!lost_until_) lost_until_ = timer.now() + retry_.next();
        return timer.due(*lost_until_);
    }

private:
    static constexpr std::chrono::seconds kSteady{30};  // a stream this old was a good one

    const std::chrono::milliseconds no_stream_limit_;
    BackOff retry_;
    std::uint64_t opened_before_ = 0;
    os::TimePoint registered_at_{};
    std::optional<os::TimePoint> open_since_;
    std::optional<os::TimePoint> lost_until_;  // the stream has ended; register again then
};

}  // namespace aliquot::kubelet
