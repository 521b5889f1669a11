// SPDX-License-Identifier: Apache-2.0
#include "agent/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "os/root.h"

namespace aliquot::agent {

namespace {

using Sets = std::array<__user_cap_data_struct, 2>;

constexpr unsigned kBits = 32;  // in one word of a set

std::uint32_t bit_of(int capability) { return 1U << (static_cast<unsigned>(capability) % kBits); }
std::size_t word_of(int capability) { return static_cast<unsigned>(capability) / kBits; }

bool read_sets(Sets& sets) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    return ::syscall(SYS_capget, &header, sets.data()) == 0;
}

}  // namespace

std::span<const int> mps_capabilities() {
    static constexpr std::array kNeeded{CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_KILL};
    return kNeeded;
}

bool has_capabilities(std::span<const int> capabilities) {
    Sets sets{};
    if (!read_sets(sets)) return false;
    return std::ranges::all_of(
        capabilities, [&](int one) { return (sets[word_of(one)].effective & bit_of(one)) != 0; });
}

Result<Done> drop_capabilities(std::span<const int> kept) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return os::error_from_errno(errno, "no_new_privs");
    }
    // The bounding set can only be cut by who holds CAP_SETPCAP; without it there is nothing to
    // cut.
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
        if (std::ranges::find(kept, capability) != kept.end()) continue;
        ::prctl(PR_CAPBSET_DROP, capability);
    }
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    Sets had{};
    Sets left{};
    if (!kept.empty() && !read_sets(had)) return os::error_from_errno(errno, "capget");
    for (const int capability : kept) {
        const std::uint32_t bit = had[word_of(capability)].permitted & bit_of(capability);
        left[word_of(capability)].permitted |= bit;
        left[word_of(capability)].effective |= bit;
    }
    if (::syscall(SYS_capset, &header, left.data()) != 0) {
        return os::error_from_errno(errno, "capset");
    }
    return Done{};
}

void take_room_for_descriptors() {
    constexpr rlim_t kEnough = 65'536;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kEnough) return;
    limit.rlim_cur = std::min(limit.rlim_max, kEnough);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace aliquot::agent
