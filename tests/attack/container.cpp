// SPDX-License-Identifier: Apache-2.0
// Starts a program as in a container: a mount namespace with what the agent's grant mounts, control
// groups, a user without rights.
//
//   attack_container UID GUARD_DIRECTORY LIBRARY_DIRECTORY GROUPS PROGRAM...
//
// GROUPS   directories of control groups to be in, with ":" between them; "-": none
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/take_text.h"

namespace {

void need(bool done, const char* what) {
    if (done) return;
    std::fprintf(stderr, "attack_container: %s: %s\n", what, std::strerror(errno));
    std::exit(125);
}

void join(const std::string& group) {
    const int file = ::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
    need(file >= 0 && ::write(file, "0", 1) == 1, group.c_str());
    ::close(file);
}

void bind_read_only(const std::string& source, const std::string& place) {
    need(::mount(source.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0, source.c_str());
    need(::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0,
         place.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) return 125;
    const std::string_view user = argv[1];
    unsigned uid = 0;
    std::from_chars(user.data(), user.data() + user.size(), uid);
    const std::string guard = argv[2];
    std::string_view groups = argv[4];
    while (groups != "-" && !groups.empty()) join(std::string(aliquot::take_until(groups, ':')));
    need(::unshare(CLONE_NEWNS) == 0, "unshare");
    need(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount /");
    need(::mount("none", "/run", "tmpfs", 0, "mode=0755") == 0, "mount /run");
    for (const char* const made : {"/run/aliquot", "/run/aliquot/guard", "/run/aliquot/lib"}) {
        need(::mkdir(made, 0755) == 0, made);
    }
    bind_read_only(guard, "/run/aliquot/guard");
    bind_read_only(argv[3], "/run/aliquot/lib");
    need(::setgroups(0, nullptr) == 0 && ::setgid(uid) == 0 && ::setuid(uid) == 0, "setuid");
    ::execvp(argv[5], argv + 5);
    need(false, argv[5]);
}
