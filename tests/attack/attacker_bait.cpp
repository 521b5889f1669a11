// SPDX-License-Identifier: Apache-2.0
// What bears the names by which an agent that starts looks for the memory it has handed out, and is
// none: whoever opens it waits, starts a device, or reads without end. Prints "baited", then "opened
// NAME" for each that somebody opens.
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "abi/region.h"
#include "tests/attack/attacker.h"

namespace aliquot::attack {
namespace {

/// A root directory of our own, so that "/NAME" is what /proc/PID/fd says.
bool own_root() {
    const bool allowed = ::getuid() == 0 ? ::unshare(CLONE_NEWNS) == 0 : become_root();
    if (!allowed || ::mount("none", "/tmp", "tmpfs", 0, nullptr) != 0) return false;
    ::mkdir("/tmp/old", 0755);
    if (::chdir("/tmp") != 0 || ::syscall(SYS_pivot_root, ".", "old") != 0) return false;
    return ::umount2("/old", MNT_DETACH) == 0;
}

/// Opened by nobody but us, until somebody takes the bait.
class Baits {
public:
    Baits() : watch_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

    void put(const std::string& name, int flags) {
        if (::open(name.c_str(), flags | O_CLOEXEC) < 0) return;
        names_[::inotify_add_watch(watch_, name.c_str(), IN_OPEN | IN_DONT_FOLLOW)] = name;
    }
    /// As a file that gives way to nobody for as long as the kernel lets it.
    void put_leased(const std::string& name) {
        const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        (void)!::ftruncate(file, sizeof(abi::Ledger));
        ::fcntl(file, F_SETLEASE, F_WRLCK);
        names_[::inotify_add_watch(watch_, name.c_str(), IN_OPEN)] = name;
    }
    void tell() {
        alignas(inotify_event) std::array<char, 4096> events{};
        const ssize_t got = ::read(watch_, events.data(), events.size());
        for (ssize_t at = 0; at < got;) {
            inotify_event event{};
            std::memcpy(&event, events.data() + at, sizeof event);
            std::printf("opened %s\n", names_[event.wd].c_str());
            at += static_cast<ssize_t>(sizeof event + event.len);
        }
        std::fflush(stdout);
    }

private:
    int watch_;
    std::map<int, std::string> names_;
};

void bait(const Deadline& deadline, std::minstd_rand&) {
    ::signal(SIGIO, SIG_IGN);
    const bool own = own_root();
    Baits baits;
    for (const std::string& name :
         {std::string("/memfd:aliquot-ledger"), std::string("/memfd:aliquot-turns")}) {
        if (!own) break;
        ::mkfifo((name + "-pipe").c_str(), 0666);
        baits.put(name + "-pipe", O_RDWR);
        ::mknod((name + "-device").c_str(), S_IFCHR | 0666, makedev(1, 3));  // as root of the host
        baits.put(name + "-device", O_PATH);
        (void)!::symlink("/dev/zero", (name + "-link").c_str());
        baits.put(name + "-link", O_PATH | O_NOFOLLOW);
        ::mkdir((name + "-directory").c_str(), 0755);
        baits.put(name + "-directory", O_RDONLY | O_DIRECTORY);
        const std::string huge = name + "-huge";
        ::close(::open(huge.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
        (void)!::truncate(huge.c_str(), off_t{1} << 40U);
        baits.put(huge, O_RDONLY);
        constexpr int kLeases = 64;
        for (int i = 0; i < kLeases; ++i) baits.put_leased(name + "-" + std::to_string(i));
        // Memory of the right kind, of the wrong size or held by a lease.
        const int memory = ::memfd_create(name.substr(name.find(':') + 1).c_str(),
                                          MFD_CLOEXEC | MFD_ALLOW_SEALING);
        (void)!::ftruncate(memory, sizeof(abi::Ledger));
        ::fcntl(memory, F_SETLEASE, F_WRLCK);
    }
    std::printf(own ? "baited\n" : "not allowed\n");
    while (!deadline.over()) {
        baits.tell();
        ::usleep(10'000);
    }
}

}  // namespace

std::vector<Attack> baits() { return {{"bait", bait}}; }

}  // namespace aliquot::attack
