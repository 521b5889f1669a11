// SPDX-License-Identifier: Apache-2.0
//
// nvidia-cuda-mps-control of a simulated node: the daemon (-d, -f), and the program that speaks to
// it (no argument: commands from the standard input, one a line).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "sim/mps/daemon.h"

namespace aliquot::sim::mps {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr || *value == '\0' ? otherwise : value;
}

/// The node whose program this is.
fs::path node_directory() {
    const std::string named = variable("ALIQUOT_SIM_STATE", "");
    if (!named.empty()) return named;
    std::error_code problem;
    const fs::path program = fs::read_symlink("/proc/self/exe", problem);
    for (fs::path directory = program.parent_path(); directory.has_relative_path();
         directory = directory.parent_path()) {
        if (fs::exists(directory / kStateFile, problem)) return directory;
    }
    return {};
}

constexpr char kListens = 1;  // begins no text

/// Until the daemon that was forked listens, as NVIDIA's -d: the next line of a script speaks to it. It sends kListens, or
/// why it ends.
int wait_until_it_listens(int pipe) {
    std::string told;
    for (;;) {
        std::array<char, 512> room{};
        const ssize_t got = ::read(pipe, room.data(), room.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        told.append(room.data(), static_cast<std::size_t>(got));
    }
    if (told == std::string(1, kListens)) return 0;
    std::cerr << told;
    return 1;
}

int run_daemon(bool background, bool multi_user) {
    std::array<int, 2> listens{-1, -1};
    const fs::path log = variable("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps");
    if (background) {
        std::error_code ignored;
        fs::create_directories(log, ignored);
        const int file =
            ::open((log / "control.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        if (::pipe2(listens.data(), O_CLOEXEC) != 0) return 1;
        const pid_t pid = ::fork();
        if (pid < 0) return 1;
        ::close(listens[pid == 0 ? 0 : 1]);
        if (pid > 0) return wait_until_it_listens(listens[0]);
        ::setsid();
        ::dup2(nothing, 0);
        ::dup2(nothing, 1);
        ::dup2(file >= 0 ? file : nothing, 2);
    }
    auto daemon =
        Daemon::open({.node = node_directory(),
                      .pipe_directory = variable("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"),
                      .visible_devices = variable("CUDA_VISIBLE_DEVICES", ""),
                      .multi_user = multi_user});
    const std::string told = daemon ? std::string(1, kListens) : daemon.error().message + "\n";
    if (!daemon) std::cerr << told;
    if (background) {
        if (::write(listens[1], told.data(), told.size()) < 0) return 1;
        ::close(listens[1]);
    }
    if (!daemon) return 1;
    (*daemon)->run();
    return 0;
}

int ask() {
    const std::string directory = variable("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps");
    auto socket = LineSocket::connect(directory + "/control");
    if (!socket) {
        std::cout << "Cannot find MPS control daemon process\n";
        return 1;
    }
    int code = 0;
    constexpr std::chrono::milliseconds kPatience{30'000};
    for (std::string line; std::getline(std::cin, line);) {
        if (!socket->send("command " + line + "\n")) return 1;
        const auto head = socket->wait_line(kPatience);
        if (!head) return 1;
        std::istringstream words(*head);
        std::string word;
        std::size_t lines = 0;
        words >> word >> code >> lines;
        for (; lines > 0; --lines) {
            std::cout << socket->wait_line(kPatience).value_or("") << "\n";
        }
    }
    return code;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    bool background = false;
    bool foreground = false;
    bool multi_user = false;
    for (const std::string& argument : arguments) {
        background = background || argument == "-d";
        foreground = foreground || argument == "-f";
        multi_user = multi_user || argument == "-multiuser-server";
        if (argument != "-d" && argument != "-f" && argument != "-multiuser-server") {
            std::cerr << "usage: nvidia-cuda-mps-control [-d | -f] [-multiuser-server]\n";
            return 1;
        }
    }
    if (background || foreground) return run_daemon(background, multi_user);
    return ask();
}

}  // namespace aliquot::sim::mps

int main(int argc, char** argv) { return aliquot::sim::mps::run({argv + 1, argv + argc}); }
