// SPDX-License-Identifier: Apache-2.0
#include "turns/shared_keeper.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <set>
#include <utility>

#include "abi/region.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "os/clock.h"
#include "turns/sockets.h"

namespace aliquot::turns {

namespace fs = std::filesystem;

SharedKeeper::SharedKeeper(guard_region::Runs runs)
    : runs_(std::move(runs)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void SharedKeeper::run(const std::stop_token& stop) const {
    os::SystemClock clock;
    do {
        const Descriptor lock(
            ::open(runs_.turns_lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) keep(stop);
    } while (clock.sleep_for(kBetweenLooks, stop));
}

/// Until the end of this process.
void SharedKeeper::keep(const std::stop_token& stop) const {
    Keeper keeper;
    Sockets sockets(keeper);
    std::set<fs::path> served;
    os::SystemClock clock;
    do {
        std::set<fs::path> there;
        for (const fs::path& place : runs_.directories()) {
            std::error_code problem;
            if (!fs::exists(place / abi::kConfigFile, problem)) continue;
            there.insert(place);
            if (served.contains(place)) continue;
            const auto opened =
                sockets.open(place.filename(), place / abi::kNodeFile, place / abi::kConfigFile);
            if (!opened) log::warning("guard.no_turns", {{"why", opened.error().message}});
        }
        for (const fs::path& place : served) {
            if (!there.contains(place)) sockets.close(place.filename());
        }
        served = std::move(there);
    } while (clock.sleep_for(kBetweenLooks, stop));
}

bool SharedKeeper::wait_for(const fs::path& socket, std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds kPause{5};
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
        std::error_code problem;
        if (fs::is_socket(socket, problem)) return true;
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(kPause);  // polled: another process makes it
    }
}

}  // namespace aliquot::turns
