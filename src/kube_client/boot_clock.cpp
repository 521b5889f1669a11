// SPDX-License-Identifier: Apache-2.0
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime() is POSIX

#include <condition_variable>
#include <mutex>

#include "kube_client/election.h"

namespace aliquot::kube_client {

os::TimePoint BootClock::now() const {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return os::TimePoint(std::chrono::seconds(time.tv_sec) +
                         std::chrono::nanoseconds(time.tv_nsec));
}

bool BootClock::sleep_until(os::TimePoint when, std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        const auto left = when - now();
        if (left.count() <= 0) return true;
        // The other clock stands still while the machine sleeps: look again each second.
        never.wait_for(lock, stop,
                       std::min<std::chrono::nanoseconds>(left, std::chrono::seconds(1)),
                       [] { return false; });
    }
    return false;
}

}  // namespace aliquot::kube_client
