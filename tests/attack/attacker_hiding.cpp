// SPDX-License-Identifier: Apache-2.0
// Ways not to be seen. The process that calls them holds GPU memory without a guard, and stays the
// same process all the time. What this user may not do here it leaves out.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include "tests/attack/attacker.h"

namespace aliquot::attack {
namespace {

void write_text(const char* path, const std::string& text) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    (void)!::write(file, text.data(), text.size());
    ::close(file);
}

}  // namespace

bool become_root(int more) {
    const std::string uid = std::to_string(::getuid());
    const std::string gid = std::to_string(::getgid());
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | more) != 0) {
        std::puts("no user namespace");
        return false;
    }
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", "0 " + uid + " 1");
    write_text("/proc/self/gid_map", "0 " + gid + " 1");
    return true;
}

namespace {

void rest(const Deadline& deadline) {
    while (!deadline.over()) ::usleep(10'000);
}

void nothing(const Deadline& deadline, std::minstd_rand&) { rest(deadline); }

void mount_over(const Deadline& deadline, std::minstd_rand&) {
    if (become_root()) {
        for (const char* const place : {"/run/aliquot/guard", "/run/aliquot", "/run"}) {
            ::mount("none", place, "tmpfs", 0, nullptr);
        }
    }
    rest(deadline);
}

/// Another root, of which nothing leads to the old mounts.
void pivot(const Deadline& deadline, std::minstd_rand&) {
    if (become_root(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)) {
        ::mount("none", "/tmp", "tmpfs", 0, nullptr);
        ::mkdir("/tmp/old", 0755);
        if (::chdir("/tmp") == 0 && ::syscall(SYS_pivot_root, ".", "old") == 0) {
            ::umount2("/old", MNT_DETACH);
        }
    }
    rest(deadline);
}

void change_root(const Deadline& deadline, std::minstd_rand&) {
    if (become_root()) (void)!::chroot("/proc/self/fdinfo");
    rest(deadline);
}

/// A directory of the name of a neighbour's region at the place where guards look.
void fake_region(const Deadline& deadline, std::minstd_rand&) {
    const std::string id(32, 'f');
    if (become_root()) {
        ::mount("none", "/tmp", "tmpfs", 0, nullptr);
        ::mkdir(("/tmp/" + id).c_str(), 0755);
        ::mkdir(("/tmp/" + id + "/guard").c_str(), 0755);
        ::mount(("/tmp/" + id + "/guard").c_str(), "/run/aliquot/guard", nullptr, MS_BIND, nullptr);
    }
    rest(deadline);
}

void rename_itself(const Deadline& deadline, std::minstd_rand& dice) {
    for (std::array<char, 8> name{}; !deadline.over(); ::usleep(1000)) {
        for (char& c : name) c = static_cast<char>(dice() % 255 + 1);  // ')' and newlines, too
        name.back() = '\0';
        ::prctl(PR_SET_NAME, name.data());
    }
}

/// The process looks ended, and a thread of it runs on.
void leave_first_thread(const Deadline& deadline, std::minstd_rand&) {
    pthread_t thread{};
    static const Deadline* until = nullptr;
    until = &deadline;
    ::pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            rest(*until);
            ::_exit(0);
        },
        nullptr);
    ::pthread_exit(nullptr);
}

/// Every open() says that nothing is there: what a guard would see of its config.
void fake_absence(const Deadline& deadline, std::minstd_rand&) {
    std::array filter{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 2),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    rest(deadline);
}

void not_dumpable(const Deadline& deadline, std::minstd_rand&) {
    ::prctl(PR_SET_DUMPABLE, 0);
    rest(deadline);
}

}  // namespace

std::vector<Attack> hidings() {
    return {{"nothing", nothing},
            {"mount_over", mount_over},
            {"pivot", pivot},
            {"change_root", change_root},
            {"fake_region", fake_region},
            {"rename_itself", rename_itself},
            {"leave_first_thread", leave_first_thread},
            {"fake_absence", fake_absence},
            {"not_dumpable", not_dumpable}};
}

}  // namespace aliquot::attack
