// SPDX-License-Identifier: Apache-2.0
//
// The functions of the C library that change a file system, as this test program has them: each may be the last thing
// that its process does. They stand before those of the library for everything in the program.
#include "dra/kill_points.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace aliquot::dra {
namespace {

std::atomic<bool> counts{false};
std::atomic<unsigned> steps_left{0};
std::atomic<bool> syncs{true};

void step() {
    if (counts && steps_left.fetch_sub(1) == 1) ::raise(SIGKILL);
}

}  // namespace

bool runs_until_killed(unsigned nth, const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
        syncs = false;
        steps_left = nth;
        counts = true;
        work();
        ::_exit(0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) throw std::runtime_error("waitpid");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    throw std::runtime_error("the child ended with status " + std::to_string(status));
}

void kill_point() { step(); }

NoSync::NoSync() { syncs = false; }
NoSync::~NoSync() { syncs = true; }

}  // namespace aliquot::dra

using aliquot::dra::step;

extern "C" {

int rename(const char* from, const char* to) noexcept {
    step();
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlink(const char* path) noexcept {
    step();
    return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int unlinkat(int directory, const char* path, int flags) noexcept {
    step();
    return static_cast<int>(::syscall(SYS_unlinkat, directory, path, flags));
}

int mkdir(const char* path, mode_t mode) noexcept {
    step();
    return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int fsync(int file) {
    step();
    return aliquot::dra::syncs ? static_cast<int>(::syscall(SYS_fsync, file)) : 0;
}

}  // extern "C"
