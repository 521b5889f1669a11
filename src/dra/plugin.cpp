// SPDX-License-Identifier: Apache-2.0
#include "dra/plugin.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/wake.h"
#include "dra/health_feed.h"
#include "dra/service.h"
#include "kubelet/unix_socket.h"
#include "rpc/server.h"

namespace aliquot::dra {
namespace {

constexpr std::size_t kLongestPath = 107;  // of a socket address
constexpr std::chrono::milliseconds kLook{1000};
constexpr std::chrono::seconds kTakenPatience{5};
constexpr std::chrono::milliseconds kCloseGrace{2000};
constexpr int kAcceptAtOnce = 64;

std::string short_hash(std::string_view text) {
    std::uint32_t hash = 0x811c9dc5U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
    std::array<char, 9> hex{};
    std::snprintf(hex.data(), hex.size(), "%08x", hash);
    return hex.data();
}

/// One listening socket and the server behind it.
class Socket {
public:
    /// changed   called with a server that has begun, with nullptr before it ends; may be empty
    Socket(std::filesystem::path path, kubelet::Making making, std::vector<rpc::Method> methods,
           std::function<void(rpc::Server*)> changed = {})
        : path_(std::move(path)),
          making_(making),
          methods_(std::move(methods)),
          changed_(std::move(changed)) {}
    ~Socket() { close(); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    /// Opens it where it is not there (any more).
    void look(std::chrono::steady_clock::time_point now) {
        using Place = kubelet::Listener::Place;
        const Place place = listener_ ? listener_->place() : Place::kGone;
        if (place == Place::kOurs) {
            taken_since_.reset();
            return;
        }
        if (place == Place::kTaken) {
            // Another instance with the same path: it goes on, unless nobody answers there.
            if (!taken_since_) taken_since_ = now;
            if (now - *taken_since_ < kTakenPatience || kubelet::connect_unix(path_)) return;
        }
        if (listener_) log::info("dra.socket_gone", {{"path", path_.native()}});
        close();
        open();
    }

    void accept() {
        for (int i = 0; listener_ && i < kAcceptAtOnce; ++i) {
            auto connection = listener_->accept();
            if (!connection || !*connection) return;
            server_->serve(*std::move(connection));
        }
    }

    void close() {
        if (listener_) listener_->remove();  // first: nobody shall come while the rest ends
        if (server_ && changed_) changed_(nullptr);
        if (server_) server_->stop(kCloseGrace);
        server_.reset();
        listener_.reset();
        taken_since_.reset();
    }

    [[nodiscard]] int descriptor() const { return listener_ ? listener_->descriptor() : -1; }
    [[nodiscard]] bool is_open() const { return listener_.has_value(); }

private:
    void open() {
        auto server = rpc::Server::start(methods_);
        auto listener = server ? kubelet::Listener::open(path_, making_)
                               : Result<kubelet::Listener>(server.error());
        if (!listener) {
            if (complained_ != listener.error().message) {
                log::warning("dra.no_socket",
                             {{"path", path_.native()}, {"why", listener.error().message}});
            }
            complained_ = listener.error().message;
            return;
        }
        complained_.clear();
        server_ = *std::move(server);
        listener_.emplace(*std::move(listener));
        if (changed_) changed_(server_.get());
    }

    const std::filesystem::path path_;
    const kubelet::Making making_;
    const std::vector<rpc::Method> methods_;
    const std::function<void(rpc::Server*)> changed_;
    std::optional<kubelet::Listener> listener_;
    std::unique_ptr<rpc::Server> server_;
    std::optional<std::chrono::steady_clock::time_point> taken_since_;
    std::string complained_;
};

}  // namespace

std::string PluginPaths::service_socket() const {
    const std::string base = plugins + "/" + std::string(kDriver) + "/dra";
    if (pod_uid.empty()) return base + ".sock";
    std::string path = base + "-" + pod_uid + ".sock";
    return path.size() <= kLongestPath ? path : base + "-" + short_hash(pod_uid) + ".sock";
}

std::string PluginPaths::registration_socket() const {
    const std::string base = plugins_registry + "/" + std::string(kDriver);
    if (pod_uid.empty()) return base + "-reg.sock";
    std::string path = base + "-" + pod_uid + "-reg.sock";
    return path.size() <= kLongestPath ? path : base + "-" + short_hash(pod_uid) + "-reg.sock";
}

class Plugin::Implementation {
public:
    Implementation(const os::Root& root, PluginPaths paths, Keeper& keeper)
        : root_(root),
          paths_(std::move(paths)),
          service_(root.resolve(paths_.service_socket()), kubelet::Making::kRenamed,
                   plugin_methods(keeper, health_),
                   [this](rpc::Server* server) { connect_health(server); }),
          registration_(root.resolve(paths_.registration_socket()), kubelet::Making::kInPlace,
                        registration_methods(root.resolve(paths_.service_socket()).native(),
                                             [this](const std::string& error) { note(error); })) {}

    ~Implementation() {
        thread_.request_stop();
        wake_.notify();
        if (thread_.joinable()) thread_.join();
        registration_.close();
        service_.close();
    }
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    void start() {
        look();
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }

    void tell_health(const std::string& pool, std::span<const Device> devices) {
        const std::scoped_lock lock(mutex_);
        pool_ = pool;
        devices_.assign(devices.begin(), devices.end());
        tell();
    }

    Status status() const {
        const std::scoped_lock lock(mutex_);
        return status_;
    }

private:
    void tell() {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        health_.set(pool_, devices_, std::chrono::duration_cast<std::chrono::seconds>(now).count());
        told_ = std::chrono::steady_clock::now();
    }

    /// Whom kubelet has not heard of for a while it calls Unknown.
    void tell_again() {
        const std::scoped_lock lock(mutex_);
        if (!pool_.empty() && std::chrono::steady_clock::now() - told_ >= kHealthInterval) tell();
    }

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            look();
            tell_again();
            std::array<pollfd, 3> waits{{{wake_.descriptor(), POLLIN, 0},
                                         {service_.descriptor(), POLLIN, 0},
                                         {registration_.descriptor(), POLLIN, 0}}};
            if (::poll(waits.data(), waits.size(), static_cast<int>(kLook.count())) <= 0) continue;
            if (waits[0].revents != 0) wake_.clear();
            if (waits[1].revents != 0) service_.accept();
            if (waits[2].revents != 0) registration_.accept();
        }
    }

    /// The service comes first: kubelet calls it as soon as it finds the other.
    void look() {
        const auto now = std::chrono::steady_clock::now();
        if (!service_.is_open()) {
            (void)root_.make_directories(paths_.plugins + "/" + std::string(kDriver), 0750);
        }
        service_.look(now);
        if (service_.is_open()) registration_.look(now);
        const std::scoped_lock lock(mutex_);
        status_.serving = service_.is_open() && registration_.is_open();
    }

    void connect_health(rpc::Server* server) {
        if (server == nullptr) {
            health_.attach({});
        } else {
            health_.attach([server] { server->wake(); });
        }
    }

    void note(const std::string& error) {
        if (error.empty()) {
            log::info("dra.registered", {{"driver", kDriver}});
        } else {
            log::warning("dra.register_failed", {{"driver", kDriver}, {"reason", error}});
        }
        const std::scoped_lock lock(mutex_);
        status_.last_error = error;
        if (error.empty()) ++status_.registrations;
    }

    const os::Root& root_;
    const PluginPaths paths_;
    const Wake wake_;
    mutable std::mutex mutex_;
    Status status_;
    std::string pool_;
    std::vector<Device> devices_;
    std::chrono::steady_clock::time_point told_{};
    HealthFeed health_;
    Socket service_;
    Socket registration_;
    std::jthread thread_;
};

Plugin::Plugin(const os::Root& root, PluginPaths paths, Keeper& keeper)
    : implementation_(std::make_unique<Implementation>(root, std::move(paths), keeper)) {}

Plugin::~Plugin() = default;

void Plugin::start() { implementation_->start(); }

void Plugin::tell_health(const std::string& pool, std::span<const Device> devices) {
    implementation_->tell_health(pool, devices);
}

Plugin::Status Plugin::status() const { return implementation_->status(); }

}  // namespace aliquot::dra
