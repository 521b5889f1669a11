// SPDX-License-Identifier: Apache-2.0
#include "controller/program.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigtimedwait is POSIX

#include "base/log.h"
#include "controller/controller.h"
#include "kube_client/connect.h"

namespace aliquot::controller {
namespace {

constexpr int kExitUsage = 2;
constexpr int kCouldNotRun = 3;

int fail(const Error& error) {
    log::error("controller.failed", {{"reason", error.message}});
    return error.code == ErrorCode::kInvalidInput ? kExitUsage : kCouldNotRun;
}

/// A stock kube-scheduler binds 50 pods a second, and before each of them is a PATCH of ours: with its leases, Events and
/// claims that is more than a client's usual limit.
constexpr unsigned kBurst = 400;
constexpr double kPerSecond = 200;

/// Blocks the signals that end us, for all threads from now on.
sigset_t block_signals() {
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGINT);
    ::sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    return ending;
}

}  // namespace

int run(const Options& options) {
    log::configure(options.log_level, options.log_format);
    const sigset_t ending = block_signals();
    auto connection = kube_client::connect({.kubeconfig = options.kubeconfig,
                                            .context = options.context,
                                            .user_agent = "aliquot-controller/" ALIQUOT_VERSION,
                                            .burst = kBurst,
                                            .per_second = kPerSecond,
                                            .limits = kube_client::kControllerLimits});
    if (!connection) return fail(std::move(connection).error().during("API server"));
    auto controller = Controller::start(options, {.api = *connection->api});
    if (!controller) return fail(controller.error());
    log::info("controller.started", {{"webhook_port", (*controller)->webhook_port()},
                                     {"health_port", (*controller)->health_port()},
                                     {"cluster", connection->origin}});
    int number = 0;
    ::sigwait(&ending, &number);
    log::info("controller.ending", {{"signal", number}, {"drain_seconds", options.drain.count()}});
    (*controller)->drain();
    const timespec patience{.tv_sec = static_cast<time_t>(options.drain.count()), .tv_nsec = 0};
    (void)::sigtimedwait(&ending, nullptr, &patience);
    return 0;
}

}  // namespace aliquot::controller
