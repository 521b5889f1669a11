// SPDX-License-Identifier: Apache-2.0
#include "sim/node/liveness.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "sim/node/processes.h"

namespace aliquot::sim {
namespace {

constexpr unsigned kMostDescriptors = 256;

/// A process that is watched, at its place in the table.
struct Watched {
    std::uint32_t pid = 0;  // 0: none
    std::uint64_t start_time = 0;
    int descriptor = -1;
    bool ended = false;
};

struct Watch {
    std::mutex mutex;
    std::array<Watched, kMaxProcesses> entries;
    unsigned descriptors = 0;
    pid_t owner = 0;  // descriptors are not for the children of fork()
};

/// Not on the heap, so that unloading a library with it leaves nothing behind.
Watch& watch() {
    static Watch only;
    return only;
}

void drop(Watch& all, Watched& one) {
    if (one.descriptor >= 0) {
        ::close(one.descriptor);
        --all.descriptors;
    }
    one = {};
}

/// A forked child has the descriptors too and closes its own.
void check_owner(Watch& all) {
    const pid_t self = ::getpid();
    if (all.owner == self) return;
    for (Watched& one : all.entries) {
        if (one.pid != 0) drop(all, one);
    }
    all.owner = self;
}

}  // namespace

void Liveness::look(const State& state) {
    Watch& all = watch();
    const std::lock_guard lock(all.mutex);
    check_owner(all);
    if (all.descriptors == 0) return;
    std::array<pollfd, kMostDescriptors> asked;
    std::array<std::uint16_t, kMostDescriptors> entries;
    nfds_t count = 0;
    for (unsigned entry = 0; entry < kMaxProcesses && count < all.descriptors; ++entry) {
        if (all.entries[entry].descriptor < 0) continue;
        if (state.processes[entry].pid != all.entries[entry].pid) {
            drop(all, all.entries[entry]);
            continue;
        }
        asked[count] = {.fd = all.entries[entry].descriptor, .events = POLLIN, .revents = 0};
        entries[count++] = static_cast<std::uint16_t>(entry);
    }
    if (count == 0 || ::poll(asked.data(), count, 0) <= 0) return;
    for (nfds_t i = 0; i < count; ++i) {
        if (asked[i].revents != 0) all.entries[entries[i]].ended = true;
    }
}

bool Liveness::lives(const ProcessState& process, unsigned entry, std::uint64_t own_namespace) {
    if (process.pid_namespace != own_namespace) return true;  // its pid means nothing to us
    Watch& all = watch();
    const std::lock_guard lock(all.mutex);
    check_owner(all);
    Watched& one = all.entries[entry];
    if (one.pid == process.pid && one.start_time == process.start_time) return !one.ended;
    drop(all, one);
    int descriptor = -1;
#ifdef SYS_pidfd_open
    if (all.descriptors < kMostDescriptors) {
        descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    }
#endif
    // Asked after the descriptor was made: it is of this process, not of a later one.
    const bool alive = start_time_of(process.pid) == process.start_time;
    if (descriptor < 0) return alive;
    if (!alive) {
        ::close(descriptor);
        return false;
    }
    ++all.descriptors;
    one = {.pid = process.pid, .start_time = process.start_time, .descriptor = descriptor};
    return true;
}

void Liveness::forget(unsigned entry) {
    Watch& all = watch();
    const std::lock_guard lock(all.mutex);
    check_owner(all);
    if (all.entries[entry].pid != 0) drop(all, all.entries[entry]);
}

}  // namespace aliquot::sim
