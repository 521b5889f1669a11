// SPDX-License-Identifier: Apache-2.0
//   attacker NAME SECONDS SEED [READY_FILE]
//   attacker list
#include "tests/attack/attacker.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace aliquot::attack {

void breathe() {
    constexpr unsigned kPauseUs = 500;
    ::usleep(kPauseUs);
}

namespace {

int receive_from(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return -1;
    std::memcpy(address.sun_path, path.data(), path.size());
    const int wire = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(wire, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int received = -1;
    if (::connect(wire, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        char byte = 0;
        iovec part{.iov_base = &byte, .iov_len = 1};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const auto length = ::recvmsg(wire, &message, MSG_CMSG_CLOEXEC);
        const cmsghdr* const header = CMSG_FIRSTHDR(&message);
        if (length >= 0 && header != nullptr && header->cmsg_type == SCM_RIGHTS) {
            std::memcpy(&received, CMSG_DATA(header), sizeof received);
        }
    }
    ::close(wire);
    return received;
}

}  // namespace

std::vector<int> descriptors_of_sockets() {
    std::vector<int> got;
    DIR* const directory = ::opendir("/run/aliquot/guard");
    if (directory == nullptr) return got;
    while (const dirent* const entry = ::readdir(directory)) {
        if (entry->d_type != DT_SOCK) continue;
        const int one = receive_from(std::string("/run/aliquot/guard/") + entry->d_name);
        if (one >= 0) got.push_back(one);
    }
    ::closedir(directory);
    return got;
}

}  // namespace aliquot::attack

int main(int argc, char** argv) {
    using namespace aliquot::attack;
    std::vector<Attack> all = file_attacks();
    for (const Attack& one : hidings()) all.push_back(one);
    if (argc < 4) {
        for (const Attack& one : all) std::printf("%s\n", std::string(one.name).c_str());
        return 2;
    }
    const Deadline deadline{std::chrono::seconds(std::atoi(argv[2]))};
    std::minstd_rand dice(static_cast<unsigned>(std::atoi(argv[3])));
    for (const Attack& one : all) {
        if (one.name != argv[1]) continue;
        if (argc > 4) ::close(::open(argv[4], O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
        one.run(deadline, dice);
        return 0;
    }
    std::fprintf(stderr, "attacker: '%s' is none\n", argv[1]);
    return 2;
}
