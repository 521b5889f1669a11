// SPDX-License-Identifier: Apache-2.0
#include "agent/signals.h"

#include "base/log.h"

namespace aliquot::agent {

Signals::Signals() {
    ::sigemptyset(&set_);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set_, number);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    thread_ = std::jthread([this](const std::stop_token& stop) { wait(stop); });
}

void Signals::wait(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const timespec slice{.tv_sec = 0, .tv_nsec = 250'000'000};
        const int number = ::sigtimedwait(&set_, nullptr, &slice);
        if (number == SIGHUP) reload_ = true;
        if (number == SIGTERM || number == SIGINT) {
            log::info("agent.ending", {{"signal", number}});
            ended_.request_stop();
        }
    }
}

}  // namespace aliquot::agent
