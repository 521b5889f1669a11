// SPDX-License-Identifier: Apache-2.0
#include "sim/mps/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <system_error>

#include "os/root.h"
#include "sim/mps/server.h"
#include "sim/node/model.h"

namespace aliquot::sim::mps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostConnections = 256;
constexpr std::array<const char*, 5> kFiles{"control", "control_privileged", "control_lock", "log",
                                            "nvidia-cuda-mps-control.pid"};
volatile sig_atomic_t asked_to_end = 0;

void note_signal(int /*number*/) { asked_to_end = 1; }

Result<int> listen_at(const fs::path& path, mode_t mode) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path) {
        return Error{ErrorCode::kInvalidInput, path.native() + ": too long for a socket"};
    }
    std::memcpy(address.sun_path, path.c_str(), path.native().size());
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return os::error_from_errno(errno, "socket");
    ::unlink(path.c_str());
    const bool bound =
        ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::chmod(path.c_str(), mode) == 0 && ::listen(descriptor, SOMAXCONN) == 0;
    if (bound) return descriptor;
    const int number = errno;
    ::close(descriptor);
    return os::error_from_errno(number, path.native());
}

}  // namespace

Daemon::Daemon(Node node, fs::path pipe_directory, bool multi_user)
    : node_(std::move(node)), pipe_directory_(std::move(pipe_directory)), multi_user_(multi_user) {}

Daemon::~Daemon() {
    if (lock_ < 0) return;  // another daemon has the directory
    for (const int listener : listeners_) ::close(listener);
    for (const char* name : kFiles) ::unlink((pipe_directory_ / name).c_str());
    ::close(lock_);
}

Result<std::unique_ptr<Daemon>> Daemon::open(const Options& options) {
    auto node = Node::open(options.node);
    if (!node) return std::move(node).error();
    std::unique_ptr<Daemon> daemon(
        new Daemon(*std::move(node), options.pipe_directory, options.multi_user));
    const auto all = daemon->node_.gpus();
    for (const GpuView& gpu : all) {
        std::istringstream names(options.visible_devices);
        bool wanted = options.visible_devices.empty();
        for (std::string name; std::getline(names, name, ',');) {
            wanted = wanted || name == std::to_string(gpu.index) ||
                     (name.size() > 4 && gpu.uuid.starts_with(name));
        }
        if (!wanted) continue;
        daemon->gpus_.push_back(gpu.index);
        constexpr int kVolta = 7;
        const Model* const model = find_model(gpu.model);
        if (model != nullptr && model->compute_major < kVolta) {
            daemon->most_clients_ = 16;
            daemon->has_limits_ = false;
        }
    }
    if (daemon->gpus_.empty()) {
        return Error{ErrorCode::kNotFound,
                     "no CUDA-capable device is detected (CUDA_VISIBLE_DEVICES is '" +
                         options.visible_devices + "')"};
    }
    if (auto listening = daemon->listen(); !listening) return std::move(listening).error();
    return daemon;
}

Result<Done> Daemon::listen() {
    std::error_code problem;
    fs::create_directories(pipe_directory_, problem);
    const fs::path lock = pipe_directory_ / "control_lock";
    const int descriptor = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return os::error_from_errno(errno, lock.native());
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        ::close(descriptor);
        return Error{ErrorCode::kConflict, "An instance of this daemon is already running"};
    }
    lock_ = descriptor;
    constexpr mode_t kEverybody = 0777;
    constexpr mode_t kOwner = 0700;
    for (const auto& [name, mode] :
         {std::pair("control", kEverybody), std::pair("control_privileged", kOwner)}) {
        auto listener = listen_at(pipe_directory_ / name, mode);
        if (!listener) return std::move(listener).error();
        listeners_.push_back(*listener);
    }
    std::ofstream(pipe_directory_ / "log") << "";
    std::ofstream(pipe_directory_ / "nvidia-cuda-mps-control.pid") << ::getpid() << "\n";
    say("Starting control daemon using socket " + (pipe_directory_ / "control").native());
    return Done{};
}

void Daemon::say(const std::string& text) const {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm local{};
    ::localtime_r(&now.tv_sec, &local);
    std::array<char, 40> date{};
    const std::size_t length = std::strftime(date.data(), date.size(), "%F %T", &local);
    std::fprintf(stderr, "[%.*s.%03ld Control %5d] %s\n", static_cast<int>(length), date.data(),
                 now.tv_nsec / 1'000'000, ::getpid(), text.c_str());
}

void Daemon::run() {
    struct sigaction action {};
    action.sa_handler = note_signal;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
    ::signal(SIGCHLD, SIG_IGN);  // servers need no burial
    while (asked_to_end == 0) {
        const bool idle = std::ranges::all_of(
            servers_, [](const Server& server) { return server.clients.empty(); });
        if (quit_at_ && (idle || std::chrono::steady_clock::now() >= *quit_at_)) break;
        poll_once();
        dispatch();
    }
    for (Server& server : servers_) server.socket.send("abandon 0\n");
    say("Exit");
}

void Daemon::poll_once() {
    std::vector<pollfd> sources;
    const auto add = [&](int descriptor) {
        sources.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    };
    for (const int listener : listeners_) add(listener);
    for (const LineSocket& connection : connections_) add(connection.descriptor());
    for (const Server& server : servers_) add(server.socket.descriptor());
    for (const Waiting& waiting : waiting_) add(waiting.socket.descriptor());
    constexpr int kLongest = 500;
    if (::poll(sources.data(), sources.size(), kLongest) <= 0) return;
    // From the back, since entries may go.
    std::size_t at = sources.size();
    for (std::size_t i = waiting_.size(); i-- > 0;) {
        if (sources[--at].revents != 0 && !waiting_[i].socket.receive()) {
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    for (std::size_t i = servers_.size(); i-- > 0;) {
        if (sources[--at].revents != 0) hear_server(i);
    }
    for (std::size_t i = connections_.size(); i-- > 0;) {
        if (sources[--at].revents != 0) hear(i);
    }
    for (std::size_t i = listeners_.size(); i-- > 0;) {
        if (sources[--at].revents != 0) accept(listeners_[i]);
    }
}

void Daemon::accept(int listener) {
    const int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) return;
    LineSocket socket(descriptor);
    if (connections_.size() < kMostConnections) connections_.push_back(std::move(socket));
}

void Daemon::hear(std::size_t connection) {
    LineSocket& socket = connections_[connection];
    const bool open = socket.receive();
    const auto peer = socket.peer();
    while (auto line = socket.take_line()) {
        if (line->starts_with("client ")) {
            Waiting waiting{
                .client = {.pid = peer.pid, .uid = peer.uid, .command = line->substr(7)},
                .socket = std::move(socket)};
            say("NEW CLIENT " + std::to_string(peer.pid) + " from user " +
                std::to_string(peer.uid));
            waiting_.push_back(std::move(waiting));
            connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(connection));
            return;
        }
        std::istringstream text(line->starts_with("command ") ? line->substr(8) : *line);
        Words words;
        for (std::string word; text >> word;) words.push_back(word);
        const Reply reply = obey(words, peer.uid);
        const auto lines = std::ranges::count(reply.text, '\n');
        socket.send("reply " + std::to_string(reply.code) + " " + std::to_string(lines) + "\n" +
                    reply.text);
    }
    if (!open) connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(connection));
}

void Daemon::hear_server(std::size_t index) {
    Server& server = servers_[index];
    const bool open = server.socket.receive();
    while (const auto line = server.socket.take_line()) {
        if (*line == "up") {
            server.up = true;
            say("NEW SERVER " + std::to_string(server.pid) + ": Ready");
        } else if (line->starts_with("failed ")) {
            say("Server " + std::to_string(server.pid) + " exited with status 1: " + *line);
            refuse_waiting(server.uid, line->substr(7));
        } else if (line->starts_with("gone ")) {
            std::erase_if(server.clients, [&](const Client& client) {
                return std::to_string(client.pid) == line->substr(5);
            });
        }
    }
    if (open) return;
    say("Server " + std::to_string(server.pid) + " exited");
    servers_.erase(servers_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Daemon::refuse_waiting(uid_t uid, const std::string& why) {
    std::erase_if(waiting_, [&](Waiting& waiting) {
        if (waiting.client.uid != uid && !multi_user_) return false;
        waiting.socket.send("refused " + why + "\n");
        return true;
    });
}

/// Gives waiting clients to servers, in their order; a server of another user must leave first.
void Daemon::dispatch() {
    if (quit_at_) return;
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
        if (hand_over(*waiting)) {
            waiting = waiting_.erase(waiting);
        } else {
            ++waiting;
        }
    }
}

bool Daemon::hand_over(Waiting& waiting) {
    const uid_t uid = waiting.client.uid;
    if (servers_.empty()) start_server(multi_user_ ? 0 : uid);
    if (servers_.empty()) return false;
    Server& server = servers_.front();
    if (server.ending || !server.up) return false;
    if (!multi_user_ && server.uid != uid) {
        if (server.clients.empty()) {
            server.ending = true;
            server.socket.send("shutdown 0\n");
        }
        return false;
    }
    const auto memory = server.limits.memory.find(gpus_.front());
    const bool limited = has_limits_ && memory != server.limits.memory.end();
    const auto threads = has_limits_ ? static_cast<unsigned>(server.limits.threads) : 100U;
    server.clients.push_back(waiting.client);
    return server.socket.send("client " + std::to_string(waiting.client.pid) + " " +
                                  std::to_string(limited ? memory->second : 0) + " " +
                                  std::to_string(threads) + "\n",
                              waiting.socket.descriptor());
}

Daemon::Server* Daemon::start_server(uid_t uid) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return nullptr;
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::signal(SIGTERM, SIG_DFL);
        ::signal(SIGINT, SIG_DFL);
        ::close(ends[0]);
        for (const int listener : listeners_) ::close(listener);
        ::close(lock_);  // the next daemon may have the directory while we live
        connections_.clear();
        waiting_.clear();
        servers_.clear();  // their ends of the sockets must close with the daemon alone
        const ServerOptions options{.uid = uid, .gpus = gpus_, .most_clients = most_clients_};
        ::_exit(serve(node_, options, LineSocket(ends[1])));
    }
    ::close(ends[1]);
    LineSocket socket(ends[0]);
    if (pid < 0) return nullptr;
    say("Starting new server " + std::to_string(pid) + " for user " + std::to_string(uid));
    servers_.push_back({.pid = pid, .uid = uid, .socket = std::move(socket), .limits = defaults_});
    return &servers_.back();
}

}  // namespace aliquot::sim::mps
