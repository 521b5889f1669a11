// SPDX-License-Identifier: Apache-2.0
// Attacks on all that a container may write or connect to: its ledger and what sockets hand out.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "abi/region.h"
#include "tests/attack/attacker.h"

namespace aliquot::attack {
namespace {

/// Everything that is a file in the tenant's hands, opened to be written.
std::vector<int> writable() {
    std::vector<int> files;
    const int ledger = ::open(kLedger, O_RDWR | O_CLOEXEC);
    if (ledger >= 0) files.push_back(ledger);
    for (const int one : descriptors_of_sockets()) {
        // A page that is given to be read only is asked for once more, to be written.
        const std::string again = "/proc/self/fd/" + std::to_string(one);
        const int file = ::open(again.c_str(), O_RDWR | O_CLOEXEC);
        files.push_back(file >= 0 ? file : one);
    }
    return files;
}

std::size_t size_of(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

void grow(const Deadline& deadline, std::minstd_rand&) {
    static std::array<char, 1U << 20U> block{};
    block.fill('x');
    constexpr std::size_t kMost = std::size_t{1} << 30U;
    while (!deadline.over()) {
        for (const int file : writable()) {
            auto at = static_cast<off_t>(size_of(file));
            while (!deadline.over() && static_cast<std::size_t>(at) < kMost) {
                const auto done = ::pwrite(file, block.data(), block.size(), at);
                if (done <= 0) break;
                at += done;
            }
            ::close(file);
        }
        breathe();
    }
}

/// The holes of a sparse file are room on the host's disk, too.
void fill_holes(const Deadline& deadline, std::minstd_rand&) {
    while (!deadline.over()) {
        for (const int file : writable()) {
            (void)::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, off_t{1} << 30U);
            (void)::posix_fallocate(file, 0, off_t{1} << 28U);
            ::close(file);
        }
        breathe();
    }
}

void truncate(const Deadline& deadline, std::minstd_rand& dice) {
    while (!deadline.over()) {
        for (const int file : writable()) {
            (void)!::ftruncate(file, static_cast<off_t>(dice() % (2 * sizeof(abi::Ledger))));
            (void)::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20U);
            (void)!::ftruncate(file, 0);
            ::close(file);
        }
        breathe();
    }
}

/// Random bytes, and words that matter: zero, all ones, pids, sizes.
void scribble(const Deadline& deadline, std::minstd_rand& dice) {
    constexpr std::array<std::uint64_t, 7> kWords{0,           1,      ~0ULL, 1ULL << 63U,
                                                  1ULL << 32U, 0xffff, 4096};
    while (!deadline.over()) {
        for (const int file : writable()) {
            const std::size_t size = size_of(file);
            for (int i = 0; i < 2000 && size > 8; ++i) {
                const auto word = dice() % 2 == 0 ? kWords[dice() % kWords.size()]
                                                  : (std::uint64_t{dice()} << 32U) | dice();
                const std::size_t length = dice() % 8 + 1;
                (void)!::pwrite(file, &word, length, static_cast<off_t>(dice() % (size - 8)));
            }
            ::close(file);
        }
        breathe();
    }
}

/// As before but by a mapping, and over all of it.
void overwrite(const Deadline& deadline, std::minstd_rand& dice) {
    while (!deadline.over()) {
        for (const int file : writable()) {
            const std::size_t size = size_of(file);
            void* const place =
                ::mmap(nullptr, size == 0 ? 1 : size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            // In chunks by pwrite() as well, for what cannot be mapped or shrinks meanwhile.
            if (place != MAP_FAILED && size > 0 && size_of(file) >= size) {
                const pid_t child = ::fork();  // it may die of what it does
                if (child == 0) {
                    std::memset(place, static_cast<int>(dice() % 256), size);
                    ::_exit(0);
                }
                ::waitpid(child, nullptr, 0);
            }
            if (place != MAP_FAILED) ::munmap(place, size == 0 ? 1 : size);
            ::close(file);
        }
        breathe();
    }
}

/// Every byte that a lock may be on, for as long as possible.
void hold_locks(const Deadline& deadline, std::minstd_rand&) {
    std::vector<int> files = writable();
    while (!deadline.over()) {
        for (const int file : files) {
            struct flock lock {};
            lock.l_type = F_WRLCK;
            lock.l_whence = SEEK_SET;
            (void)::fcntl(file, F_OFD_SETLK, &lock);
            lock.l_start = static_cast<off_t>(abi::kSlotLockOffset - 1);
            lock.l_len = 1;
            (void)::fcntl(file, F_OFD_SETLK, &lock);
        }
        ::usleep(20'000);
    }
}

/// Says that it is inside of every lock word, and never leaves.
void hold_words(const Deadline& deadline, std::minstd_rand& dice) {
    while (!deadline.over()) {
        for (const int file : writable()) {
            const std::uint32_t owner = dice() % 4 + 1;
            (void)!::pwrite(file, &owner, sizeof owner, offsetof(abi::Ledger, lock));
            ::close(file);
        }
        breathe();
    }
}

/// CUDA programs of the same container that come and are killed in the middle of anything.
void fork_storm(const Deadline& deadline, std::minstd_rand& dice) {
    constexpr int kAtOnce = 24;
    ::setenv("LD_PRELOAD", "/run/aliquot/lib/libaliquot-guard.so", 1);
    std::array<char, 4096> self{};
    (void)!::readlink("/proc/self/exe", self.data(), self.size() - 1);
    std::string tenant = self.data();
    tenant = tenant.substr(0, tenant.rfind('/')) + "/cuda_tenant";
    while (!deadline.over()) {
        std::array<pid_t, kAtOnce> children{};
        for (pid_t& child : children) {
            child = ::fork();
            if (child != 0) continue;
            (void)!::freopen("/dev/null", "w", stdout);
            ::execl(tenant.c_str(), "cuda_tenant", "alloc:1048576", "spin:2", nullptr);
            ::_exit(1);
        }
        ::usleep(static_cast<useconds_t>(dice() % 100'000));
        for (const pid_t child : children) {
            if (child <= 0) continue;
            ::kill(child, dice() % 2 == 0 ? SIGKILL : SIGSTOP);
        }
        ::usleep(static_cast<useconds_t>(dice() % 50'000));
        for (const pid_t child : children) {
            if (child <= 0) continue;
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
    }
}

/// As many as this user may have.
void allow_descriptors() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    constexpr rlim_t kMost = 100'000;
    limit.rlim_cur = std::min(limit.rlim_max, kMost);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Connections that take nothing, all at once and again and again.
void flood_sockets(const Deadline& deadline, std::minstd_rand&) {
    const std::vector<std::string> all = sockets();
    std::vector<int> held;
    constexpr std::size_t kMost = 900;
    while (!deadline.over()) {
        bool full = held.size() >= kMost;
        for (const std::string& socket : all) {
            const int wire = connect_to(socket, SOCK_NONBLOCK);
            if (wire >= 0) held.push_back(wire);
            full = full || (wire < 0 && errno == EMFILE);
        }
        if (!full) continue;
        for (const int one : held) ::close(one);
        held.clear();
        breathe();
    }
}

/// A thousand connections to each socket that take nothing, never go, and say a byte now and then.
void sit_on_sockets(const Deadline& deadline, std::minstd_rand& dice) {
    allow_descriptors();
    ::signal(SIGPIPE, SIG_IGN);
    std::vector<int> held;
    constexpr std::size_t kMost = 1000;
    for (const std::string& socket : sockets()) {
        for (std::size_t i = 0; i < kMost; ++i) {
            const int wire = connect_to(socket, SOCK_NONBLOCK);
            if (wire >= 0) held.push_back(wire);
        }
    }
    while (!deadline.over()) {
        if (!held.empty()) {
            (void)!::send(held[dice() % held.size()], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        for (const std::string& socket : sockets()) {  // in place of those that were closed
            const int wire = connect_to(socket, SOCK_NONBLOCK);
            if (wire < 0) continue;
            held.push_back(wire);
            if (held.size() < 4 * kMost) continue;
            std::swap(held[dice() % held.size()], held.back());
            ::close(held.back());
            held.pop_back();
        }
        breathe();
    }
}

/// Takes what is handed out again and again, until nothing more is to be had, and keeps it.
void hoard(const Deadline& deadline, std::minstd_rand&) {
    allow_descriptors();
    while (!deadline.over()) {
        if (descriptors_of_sockets().empty()) breathe();
    }
}

}  // namespace

std::vector<Attack> file_attacks() {
    return {{"grow", grow},
            {"fill_holes", fill_holes},
            {"truncate", truncate},
            {"scribble", scribble},
            {"overwrite", overwrite},
            {"hold_locks", hold_locks},
            {"hold_words", hold_words},
            {"fork_storm", fork_storm},
            {"flood_sockets", flood_sockets},
            {"sit_on_sockets", sit_on_sockets},
            {"hoard", hoard}};
}

}  // namespace aliquot::attack
