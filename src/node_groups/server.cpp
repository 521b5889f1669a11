// SPDX-License-Identifier: Apache-2.0
#include "node_groups/server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <list>
#include <thread>

#include "base/log.h"
#include "http/address.h"
#include "http/tls.h"
#include "node_groups/power.h"
#include "node_groups/relay.h"
#include "node_groups/service.h"
#include "os/replace_file.h"
#include "os/root.h"
#include "rpc/server.h"

namespace aliquot::node_groups {
namespace {

constexpr int kAcceptPollMs = 200;
constexpr std::size_t kMostRelays = 16;
constexpr std::size_t kWorkers = 4;
constexpr std::chrono::seconds kLookAgain{2};
constexpr std::chrono::milliseconds kNoDescriptor{200};

}  // namespace

class Server::Running {
public:
    Running(std::vector<Group> groups, const ServerOptions& options)
        : options_(options), shared_(std::move(groups)) {}
    ~Running() {
        acceptor_ = {};
        for (auto& worker : workers_) worker.request_stop();
        changed_.notify_all();
        workers_ = {};
        relays_.clear();
        if (server_ != nullptr) server_->stop(std::chrono::milliseconds(500));
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    Result<Done> start() {
        if (auto restored = restore(); !restored) return restored;
        if (options_.tls) {
            auto tls = http::TlsContext::load(*options_.tls, "h2");
            if (!tls) return std::move(tls).error();
            tls_ = *std::move(tls);
        } else if (auto local = http::check_local(options_.listen); !local) {
            return Error{ErrorCode::kInvalidInput,
                         options_.listen +
                             ": others can reach it: a certificate is needed (--tls-cert, "
                             "--tls-key, --client-ca)"};
        }
        auto socket = http::listen_on(options_.listen);
        if (!socket) return std::move(socket).error();
        listener_ = *std::move(socket);
        auto server = rpc::Server::start(methods(shared_, [this] { wake(); }));
        if (!server) return std::move(server).error();
        server_ = *std::move(server);
        acceptor_ = std::jthread([this](const std::stop_token& stop) { accept(stop); });
        for (auto& worker : workers_) {
            worker = std::jthread([this](const std::stop_token& stop) { work(stop); });
        }
        return Done{};
    }
    [[nodiscard]] unsigned port() const { return http::port_of(listener_); }

private:
    Result<Done> restore() {
        if (options_.state_file.empty()) return Done{};
        const auto text = os::Root().read(std::filesystem::absolute(options_.state_file).native());
        if (!text)
            return text.error().code == ErrorCode::kNotFound ? Result<Done>(Done{}) : text.error();
        auto restored = shared_.fleet.restore(*text);
        if (!restored) return Error{restored.error()}.during(options_.state_file);
        return Done{};
    }

    /// Writes down what was decided, then has it carried out.
    void wake() {
        keep();
        changed_.notify_all();
    }
    void keep() {
        if (options_.state_file.empty()) return;
        const std::scoped_lock lock(shared_.mutex);
        const auto written = os::replace_file(options_.state_file, shared_.fleet.to_json(), 0600);
        if (!written)
            log::error("node_groups.state_not_written", {{"reason", written.error().message}});
    }

    std::optional<Task> next(const std::stop_token& stop) {
        std::unique_lock lock(shared_.mutex);
        for (Task& task : shared_.fleet.take_tasks()) tasks_.push_back(std::move(task));
        if (tasks_.empty()) {
            changed_.wait_for(lock, stop, kLookAgain, [] { return false; });
            for (Task& task : shared_.fleet.take_tasks()) tasks_.push_back(std::move(task));
        }
        if (tasks_.empty() || stop.stop_requested()) return std::nullopt;
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
    }
    void work(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const auto task = next(stop);
            if (!task) continue;
            const std::string problem = carry_out(*shared_.fleet.find(task->group), *task, stop);
            {
                const std::scoped_lock lock(shared_.mutex);
                shared_.fleet.done(*task, problem);
            }
            keep();
        }
    }

    void accept(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd wait{listener_.get(), POLLIN, 0};
            if (::poll(&wait, 1, kAcceptPollMs) <= 0) continue;
            Descriptor connection(
                ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (connection.get() < 0) {
                // No descriptor is left, and the next look would say the same at once.
                if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(kNoDescriptor);
                continue;
            }
            if (tls_ == nullptr) {
                server_->serve(std::move(connection));
            } else {
                serve_tls(std::move(connection));
            }
        }
        relays_.clear();
    }
    void serve_tls(Descriptor connection) {
        relays_.remove_if([](const Relay& one) { return one.over->load(); });
        // Who has not shown a certificate yet keeps nobody out.
        if (relays_.size() >= kMostRelays) {
            const auto oldest = std::ranges::find_if(
                relays_, [](const Relay& one) { return !one.greeted->load(); });
            if (oldest != relays_.end()) relays_.erase(oldest);
        }
        std::array<int, 2> pair{-1, -1};
        if (relays_.size() >= kMostRelays ||
            ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) !=
                0) {
            log::warning("node_groups.too_many_connections", {{"limit", kMostRelays}});
            return;
        }
        server_->serve(Descriptor(pair[0]));
        Relay one;
        one.thread = std::jthread([outside = std::move(connection), inside = Descriptor(pair[1]),
                                   tls = tls_, over = one.over,
                                   greeted = one.greeted](const std::stop_token& stop) mutable {
            relay(std::move(outside), std::move(inside), std::move(tls), *greeted, stop);
            *over = true;
        });
        relays_.push_back(std::move(one));
    }

    struct Relay {
        std::shared_ptr<std::atomic<bool>> over = std::make_shared<std::atomic<bool>>(false);
        std::shared_ptr<std::atomic<bool>> greeted = std::make_shared<std::atomic<bool>>(false);
        std::jthread thread;
    };

    const ServerOptions options_;
    SharedFleet shared_;
    std::deque<Task> tasks_;  // under shared_.mutex
    std::condition_variable_any changed_;
    std::shared_ptr<const http::TlsContext> tls_;
    Descriptor listener_;
    std::unique_ptr<rpc::Server> server_;
    std::list<Relay> relays_;  // of the acceptor
    std::array<std::jthread, kWorkers> workers_;
    std::jthread acceptor_;
};

Server::Server(std::unique_ptr<Running> running) : running_(std::move(running)) {}
Server::~Server() = default;
unsigned Server::port() const { return running_->port(); }

Result<std::unique_ptr<Server>> Server::start(std::vector<Group> groups,
                                              const ServerOptions& options) {
    auto running = std::make_unique<Running>(std::move(groups), options);
    if (auto started = running->start(); !started) return std::move(started).error();
    return std::unique_ptr<Server>(new Server(std::move(running)));
}

}  // namespace aliquot::node_groups
