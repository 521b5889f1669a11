// SPDX-License-Identifier: Apache-2.0
#include "kubelet/registrar.h"

#include "base/log.h"
#include "kubelet/socket_watch.h"
#include "kubelet/unix_socket.h"

namespace aliquot::kubelet {
namespace {

// A new kubelet.sock is there a moment before kubelet listens on it.
constexpr std::chrono::milliseconds kNewSocketRetry{20};
constexpr std::chrono::milliseconds kNewSocketWindow{1000};

}  // namespace

Registrar::Registrar(const os::Root& root, const PluginOptions& options, StatusBoard& board,
                     std::function<void()> wake)
    : path_(root.resolve(options.paths.kubelet_socket)),
      options_(options),
      board_(board),
      wake_(std::move(wake)),
      subject_("Register at " + path_.native()),
      retry_(options.retry_first, options.retry_limit),
      watchdog_(options) {}

bool Registrar::kubelet_changed(LoopTimer& timer) {
    if (present_ && kubelet_->still_at(path_)) return false;
    auto found = PinnedSocket::at(path_);
    if (!found && found.error().code != ErrorCode::kNotFound) {
        board_.note_registration(found.error().message);  // and look again in the next round
        return false;
    }
    if (present_ && !found) log::info("kubelet.gone", {{"resource", options_.resource}});
    present_ = found.ok();
    if (!present_ || (kubelet_ && kubelet_->still_at(path_))) return false;
    kubelet_ = *std::move(found);
    appeared_at_ = register_at_ = timer.now();
    retry_.reset();
    return registered_ || call_;
}

void Registrar::step(Streams& streams, LoopTimer& timer) {
    if (call_) finish(timer);
    if (call_ || !present_) return;
    if (registered_) {
        if (!watchdog_.missing(streams, timer)) return;
        log::warning("plugin.no_stream", {{"resource", options_.resource}});
        registered_ = false;
    }
    if (timer.due(register_at_)) begin(streams, timer);
}

void Registrar::forget() {
    call_.reset();
    registered_ = false;
    register_at_ = {};
}

void Registrar::begin(Streams& streams, LoopTimer& timer) {
    watchdog_.begin(streams);
    auto connection = connect_unix(path_);
    if (!kubelet_->still_at(path_)) {
        // Another kubelet may have taken the connection, one that the endpoint was not made for.
        timer.due(timer.now());
        return;
    }
    if (!connection) {
        fail(std::move(connection).error().during("Register"), false, timer);
        return;
    }
    call_ = RegisterCall::start(*std::move(connection), options_.resource, options_.socket_name,
                                subject_, options_.register_timeout, wake_);
}

void Registrar::finish(LoopTimer& timer) {
    const auto result = call_->result();
    if (!result) return;
    call_.reset();
    if (!*result) {
        fail(result->error(), true, timer);
        return;
    }
    registered_ = true;
    retry_.reset();
    watchdog_.confirm(timer.now());
    board_.note_registration({});
    log::info("plugin.registered",
              {{"resource", options_.resource}, {"socket", options_.socket_name}});
}

void Registrar::fail(const Error& error, bool listens, LoopTimer& timer) {
    const bool starting = !listens && timer.now() - appeared_at_ < kNewSocketWindow;
    const auto wait = starting ? kNewSocketRetry : retry_.next();
    register_at_ = timer.now() + wait;
    timer.due(register_at_);
    board_.note_registration(error.message);
    if (starting) return;
    log::warning("plugin.register_failed", {{"resource", options_.resource},
                                            {"reason", error.message},
                                            {"retry_milliseconds", wait.count()}});
}

}  // namespace aliquot::kubelet
