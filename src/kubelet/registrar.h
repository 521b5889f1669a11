// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kubelet/back_off.h"
#include "kubelet/loop_timer.h"
#include "kubelet/plugin_options.h"
#include "kubelet/register_call.h"
#include "kubelet/socket_watch.h"
#include "kubelet/status_board.h"
#include "kubelet/stream_watchdog.h"
#include "os/root.h"

namespace aliquot::kubelet {

/// Keeps a plugin registered at kubelet.sock: calls Register when there is a new kubelet, when the
/// last call failed (with back-off), and when kubelet does not listen any more. Not thread-safe.
class Registrar {
public:
    /// wake   called from a gRPC thread when a call has ended and step() has something to do
    Registrar(const os::Root& root, const PluginOptions& options, StatusBoard& board,
              std::function<void()> wake);

    /// Looks at kubelet.sock. True when it is another one than that which knows our endpoint: the
    /// endpoint must then be closed fully and made anew before the next step(). kubelet removes the
    /// sockets of plugins before it makes its own: who looks at the endpoint's socket after this call
    /// and finds it in its place knows that this kubelet will find it too.
    bool kubelet_changed(LoopTimer& timer);

    /// Ends and begins calls, as is due.
    void step(Streams& streams, LoopTimer& timer);

    /// The endpoint is closed: ends a call under way (at once); the next step() registers.
    void forget();

    /// kubelet is there and has taken our registration.
    [[nodiscard]] bool registered() const { return present_ && registered_; }

private:
    void begin(Streams& streams, LoopTimer& timer);
    void finish(LoopTimer& timer);
    void fail(const Error& error, bool listens, LoopTimer& timer);

    const std::filesystem::path path_;  // of kubelet.sock
    const PluginOptions& options_;
    StatusBoard& board_;
    const std::function<void()> wake_;
    const std::string subject_;

    std::optional<PinnedSocket> kubelet_;  // the last one seen; who is called is this one
    bool present_ = false;
    bool registered_ = false;
    os::TimePoint appeared_at_{};
    os::TimePoint register_at_{};
    BackOff retry_;
    StreamWatchdog watchdog_;
    std::unique_ptr<RegisterCall> call_;
};

}  // namespace aliquot::kubelet
