// SPDX-License-Identifier: Apache-2.0
//   attacker NAME SECONDS SEED [READY_FILE]
//   attacker list
//   attacker attach TIMES   as a guard does: prints how many times the ledger was handed over, and the
//                           median and the longest time that it took, in microseconds
#include "tests/attack/attacker.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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

/// What it hands out, two descriptors at most; none: nothing.
std::vector<int> receive_from(const std::string& path) {
    std::vector<int> received;
    const int wire = connect_to(path, 0);
    if (wire < 0) return received;
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(wire, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    {
        constexpr std::size_t kMost = 2;
        char byte = 0;
        iovec part{.iov_base = &byte, .iov_len = 1};
        alignas(cmsghdr) char control[CMSG_SPACE(kMost * sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const auto length = ::recvmsg(wire, &message, MSG_CMSG_CLOEXEC);
        const cmsghdr* const header = CMSG_FIRSTHDR(&message);
        if (length >= 0 && header != nullptr && header->cmsg_type == SCM_RIGHTS) {
            received.resize((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            std::memcpy(received.data(), CMSG_DATA(header), received.size() * sizeof(int));
        }
    }
    ::close(wire);
    return received;
}

int attach(int times) {
    std::vector<long> took;
    for (int i = 0; i < times; ++i) {
        const auto begun = std::chrono::steady_clock::now();
        const std::vector<int> ledger = receive_from(kLedger);
        if (ledger.empty()) continue;
        for (const int one : ledger) ::close(one);
        took.push_back(static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(
                                             std::chrono::steady_clock::now() - begun)
                                             .count()));
    }
    std::sort(took.begin(), took.end());
    std::printf("%zu %ld %ld\n", took.size(), took.empty() ? 0 : took[took.size() / 2],
                took.empty() ? 0 : took.back());
    return 0;
}

}  // namespace

int connect_to(const std::string& path, int flags) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return -1;
    std::memcpy(address.sun_path, path.data(), path.size());
    for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
        const int wire = ::socket(AF_UNIX, type | SOCK_CLOEXEC | flags, 0);
        if (wire < 0) return -1;
        if (::connect(wire, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
            return wire;
        const bool is_other_type = errno == EPROTOTYPE;
        ::close(wire);
        if (!is_other_type) return -1;
    }
    return -1;
}

std::vector<std::string> sockets() {
    std::vector<std::string> found;
    DIR* const directory = ::opendir("/run/aliquot/guard");
    if (directory == nullptr) return found;
    while (const dirent* const entry = ::readdir(directory)) {
        if (entry->d_type != DT_SOCK) continue;
        found.push_back(std::string("/run/aliquot/guard/") + entry->d_name);
    }
    ::closedir(directory);
    return found;
}

std::vector<int> descriptors_of_sockets() {
    std::vector<int> got;
    for (const std::string& socket : sockets()) {
        const std::vector<int> files = receive_from(socket);
        got.insert(got.end(), files.begin(), files.end());
    }
    return got;
}

}  // namespace aliquot::attack

int main(int argc, char** argv) {
    using namespace aliquot::attack;
    std::vector<Attack> all = file_attacks();
    for (const Attack& one : turn_attacks()) all.push_back(one);
    for (const Attack& one : hidings()) all.push_back(one);
    for (const Attack& one : baits()) all.push_back(one);
    if (argc == 3 && std::strcmp(argv[1], "attach") == 0) return attach(std::atoi(argv[2]));
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
