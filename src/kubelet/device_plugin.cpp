// SPDX-License-Identifier: Apache-2.0
#include "kubelet/device_plugin.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/wake.h"
#include "kubelet/endpoint.h"
#include "kubelet/registrar.h"
#include "kubelet/socket_watch.h"

namespace aliquot::kubelet {
namespace {

constexpr std::chrono::milliseconds kWithdrawTimeout{2000};
constexpr std::size_t kSocketNameLimit = 64;

Result<Done> check(const PluginOptions& options) {
    const auto& name = options.socket_name;
    if (options.resource.empty())
        return Error{ErrorCode::kInvalidInput, "device plugin: the resource has no name"};
    if (name.empty() || name.size() > kSocketNameLimit || name.front() == '.' ||
        name.find('/') != std::string::npos)
        return Error{ErrorCode::kInvalidInput,
                     options.resource + ": socket name '" + name +
                         "' is not a file name of 1 to 64 bytes without a leading dot"};
    return Done{};
}

}  // namespace

std::string KubeletPaths::plugin_directory() const {
    return std::filesystem::path(kubelet_socket).parent_path().native();
}

/// One thread (run) drives the socket, its connections and the registration; it never waits for
/// kubelet, since kubelet calls back before it answers. the server's thread serves calls and wakes it.
class DevicePlugin::Implementation final : public ServiceEvents {
public:
    Implementation(const os::Root& root, PluginOptions options, Decider& decider)
        : options_(std::move(options)),
          decider_(decider),
          directory_(root.resolve(options_.registration == Registration::kRegister
                                      ? options_.paths.plugin_directory()
                                      : options_.paths.plugins_registry)),
          path_(directory_ / options_.socket_name),
          open_retry_(options_.retry_first, options_.retry_limit),
          taken_retry_(options_.retry_first, options_.retry_limit),
          registrar_(root, options_, board_, [this] { wake_.notify(); }),
          registry_watchdog_(options_) {}

    ~Implementation() override { stop(StopReason::kRestart); }
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    Result<Done> start(std::vector<grant::Device> devices) {
        if (auto checked = check(options_); !checked) return checked;
        const std::scoped_lock life(life_);
        if (thread_.joinable() || stopped_)
            return Error{ErrorCode::kInternal, options_.resource + ": started twice"};
        update(std::move(devices));
        watch_.emplace(directory_);
        timer_.begin(options_.poll_interval);
        const auto opened = open();
        // kubelet makes the directory when it first starts: wait for it.
        if (!opened && opened.error().code != ErrorCode::kNotFound)
            return Error(opened.error()).during(options_.resource);
        if (!opened)
            log::warning("plugin.no_directory",
                         {{"resource", options_.resource}, {"path", directory_.native()}});
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
        return Done{};
    }

    void update(std::vector<grant::Device> devices) {
        {
            const std::scoped_lock lock(mutex_);
            if (devices == devices_) return;
            devices_ = std::move(devices);
            dirty_ = true;
        }
        wake_.notify();
    }

    void stop(StopReason reason) {
        const std::scoped_lock life(life_);
        if (std::exchange(stopped_, true)) return;
        if (thread_.joinable()) {
            thread_.request_stop();
            wake_.notify();
            thread_.join();
        }
        registrar_.forget();
        if (endpoint_ && reason == StopReason::kResourceGone) {
            endpoint_->streams().set({});
            const bool written = endpoint_->streams().flush(kWithdrawTimeout);
            if (!written || !endpoint_->end_streams())
                log::warning("plugin.withdrawal_unread", {{"resource", options_.resource}});
        }
        endpoint_.reset();
        board_.set(PluginStatus::State::kStopped, 0);
    }

    PluginStatus status() const { return board_.read(); }

    void on_allocation() override { board_.note_allocation(); }

    void on_registry_status(const std::string& error) override {
        board_.note_registration(error);
        if (error.empty())
            log::info("plugin.registered",
                      {{"resource", options_.resource}, {"socket", options_.socket_name}});
        else
            log::warning("plugin.register_failed",
                         {{"resource", options_.resource}, {"reason", error}});
        {
            const std::scoped_lock lock(mutex_);
            registry_news_ = error.empty();
        }
        wake_.notify();
    }

private:
    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            timer_.begin(options_.poll_interval);
            watch_->ensure();
            if (options_.registration == Registration::kRegister &&
                registrar_.kubelet_changed(timer_)) {
                log::info("kubelet.restarted", {{"resource", options_.resource}});
                close();
            }
            look_at_socket();  // after kubelet's own: see Registrar::kubelet_changed
            if (!endpoint_ && timer_.due(open_at_)) reopen();
            if (endpoint_) {
                publish();
                drive_registration();
            }
            report();
            sleep();
        }
    }

    // Our own socket: kubelet removes it when it starts; another agent may put its own there.
    void look_at_socket() {
        if (!endpoint_) return;
        const auto place = endpoint_->listener().place();
        if (place == Listener::Place::kOurs) return;
        const bool taken = place == Listener::Place::kTaken;
        log::info(taken ? "plugin.socket_taken" : "plugin.socket_gone",
                  {{"resource", options_.resource}, {"path", path_.native()}});
        close();
        // Two agents that take the socket from each other shall not do it as fast as they can.
        if (taken) open_at_ = timer_.now() + taken_retry_.next();
    }

    void close() {
        registrar_.forget();
        endpoint_.reset();
        registry_known_ = false;
        open_at_ = timer_.now();
    }

    Result<Done> open() {
        std::vector<grant::Device> devices;
        {
            const std::scoped_lock lock(mutex_);
            devices = devices_;
            dirty_ = false;
            registry_news_.reset();
        }
        push_at_.reset();
        auto opened =
            Endpoint::open(path_, options_, decider_, *this, devices, [this] { wake_.notify(); });
        if (!opened) {
            open_at_ = timer_.now() + open_retry_.next();
            return std::move(opened).error();
        }
        endpoint_ = *std::move(opened);
        open_retry_.reset();
        registry_watchdog_.begin(endpoint_->streams());
        return Done{};
    }

    void reopen() {
        const auto opened = open();
        if (!opened)
            log::warning("plugin.no_socket",
                         {{"resource", options_.resource}, {"reason", opened.error().message}});
    }

    void publish() {
        std::vector<grant::Device> devices;
        bool changed = false;
        {
            const std::scoped_lock lock(mutex_);
            changed = std::exchange(dirty_, false);
            if (changed) devices = devices_;
        }
        if (changed) {
            endpoint_->streams().set(devices);
            if (!push_at_) push_at_ = timer_.now() + options_.debounce;
        }
        if (push_at_ && timer_.due(*push_at_)) {
            push_at_.reset();
            endpoint_->streams().push();
        }
    }

    void drive_registration() {
        if (options_.registration == Registration::kRegister) {
            registrar_.step(endpoint_->streams(), timer_);
            return;
        }
        {
            const std::scoped_lock lock(mutex_);
            if (registry_news_) {
                registry_known_ = *registry_news_;
                registry_watchdog_.confirm(timer_.now());
            }
            registry_news_.reset();
        }
        // kubelet finds the socket by itself, and registers it again only when it is a new one.
        if (!registry_known_ || !registry_watchdog_.missing(endpoint_->streams(), timer_)) return;
        log::warning("plugin.no_stream", {{"resource", options_.resource}});
        close();
        reopen();
    }

    void report() {
        using enum PluginStatus::State;
        const bool known = options_.registration == Registration::kRegister
                               ? registrar_.registered()
                               : registry_known_;
        const auto serving = known ? kServing : kWaitingForKubelet;
        board_.set(endpoint_ ? serving : kStarting,
                   endpoint_ ? endpoint_->streams().open_streams() : 0);
    }

    void sleep() {
        const bool accepting = endpoint_ && timer_.due(accept_at_);
        const int connections = accepting ? endpoint_->listener().descriptor() : -1;
        std::array<pollfd, 3> waits{{{wake_.descriptor(), POLLIN, 0},
                                     {watch_->descriptor(), POLLIN, 0},
                                     {connections, POLLIN, 0}}};
        const auto timeout = static_cast<int>(timer_.left().count());
        if (::poll(waits.data(), waits.size(), timeout) <= 0) return;
        if (waits[0].revents != 0) wake_.clear();
        if (waits[1].revents != 0) watch_->drain();
        if (waits[2].revents == 0) return;
        const auto accepted = endpoint_->accept();
        if (accepted) return;
        // The connection goes on waiting, and poll() would return at once.
        accept_at_ = timer_.now() + options_.retry_first;
        log::error("plugin.no_connection",
                   {{"resource", options_.resource}, {"reason", accepted.error().message}});
    }

    const PluginOptions options_;
    Decider& decider_;
    const std::filesystem::path directory_;
    const std::filesystem::path path_;  // of the socket
    const Wake wake_;
    StatusBoard board_;

    // What callers and the server's thread leave for the thread.
    std::mutex mutex_;
    std::vector<grant::Device> devices_;
    bool dirty_ = true;
    std::optional<bool> registry_news_;  // what the plugin watcher said last

    // Of the thread (before it starts and after it has ended: of the caller).
    LoopTimer timer_;
    std::optional<DirectoryWatch> watch_;
    std::unique_ptr<Endpoint> endpoint_;
    os::TimePoint open_at_{};
    os::TimePoint accept_at_{};
    std::optional<os::TimePoint> push_at_;
    BackOff open_retry_;
    BackOff taken_retry_;
    Registrar registrar_;
    StreamWatchdog registry_watchdog_;
    bool registry_known_ = false;

    std::mutex life_;  // start and stop
    bool stopped_ = false;
    std::jthread thread_;
};

DevicePlugin::DevicePlugin(const os::Root& root, PluginOptions options, Decider& decider)
    : implementation_(std::make_unique<Implementation>(root, std::move(options), decider)) {}

DevicePlugin::~DevicePlugin() = default;

Result<Done> DevicePlugin::start(std::vector<grant::Device> devices) {
    return implementation_->start(std::move(devices));
}

void DevicePlugin::update(std::vector<grant::Device> devices) {
    implementation_->update(std::move(devices));
}

void DevicePlugin::stop(StopReason reason) { implementation_->stop(reason); }

PluginStatus DevicePlugin::status() const { return implementation_->status(); }

}  // namespace aliquot::kubelet
