// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/plugin_watcher.h"

#include <algorithm>
#include <map>
#include <stop_token>
#include <thread>
#include <utility>

#include "api/kubelet/pluginregistration.pb.h"
#include "base/log.h"
#include "os/clock.h"

namespace aliquot::sim {
namespace {

constexpr auto kDialTimeout = std::chrono::seconds(10);
constexpr auto kInfoTimeout = std::chrono::seconds(1);
constexpr auto kNotifyTimeout = std::chrono::seconds(5);
constexpr auto kFirstBackoff = std::chrono::milliseconds(500);
constexpr auto kLastBackoff = std::chrono::milliseconds(122'000);
constexpr int kDepthLimit = 4;  // of directories below the registry

using Identity = os::FileStatus::Identity;

Error failed(const std::string& reason) {
    return {ErrorCode::kUnavailable, "RegisterPlugin error -- " + reason};
}

std::string watcher_path(const char* method) {
    return std::string("/pluginregistration.Registration/") + method;
}

Result<Done> notify(LocalChannel& channel, const std::string& problem) {
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(problem.empty());
    status.set_error(problem);
    pluginregistration::RegistrationStatusResponse answer;
    const auto sent =
        channel.call(watcher_path("NotifyRegistrationStatus"), status, kNotifyTimeout, answer);
    if (!sent.ok()) return failed("failed to send registration status: " + rpc_text(sent));
    return Done{};
}

}  // namespace

class PluginWatcher::Implementation {
public:
    Implementation(const os::Root& root, std::string directory, Handlers handlers)
        : root_(root), directory_(std::move(directory)), handlers_(std::move(handlers)) {}
    ~Implementation() {
        thread.request_stop();
        if (thread.joinable()) thread.join();
    }

    void run(const std::stop_token& stop, std::chrono::milliseconds interval) {
        os::SystemClock clock;
        do {
            reconcile(stop);
        } while (clock.sleep_for(interval, stop));
    }

    std::jthread thread;

private:
    struct Registered {
        Identity identity;
        std::string name;
        std::string endpoint;
        const Handler* handler = nullptr;
    };
    struct Failure {
        Identity identity;
        std::chrono::milliseconds pause{};
        std::chrono::steady_clock::time_point again;
    };

    void reconcile(const std::stop_token& stop) {
        std::map<std::string, Identity> wanted;
        collect(directory_, kDepthLimit, wanted);
        for (auto entry = registered_.begin(); entry != registered_.end();) {
            const auto found = wanted.find(entry->first);
            if (found != wanted.end() && found->second == entry->second.identity) {
                ++entry;
                continue;
            }
            const Registered gone = entry->second;
            entry = registered_.erase(entry);
            gone.handler->disconnect(gone.name, gone.endpoint);
        }
        std::erase_if(failures_, [&](const auto& item) { return !wanted.contains(item.first); });
        for (const auto& [path, identity] : wanted) {
            if (stop.stop_requested()) return;
            if (!registered_.contains(path)) attempt(path, identity, stop);
        }
    }

    void collect(const std::string& directory, int depth, std::map<std::string, Identity>& to) {
        const auto names = root_.list(directory);
        if (!names) return;
        for (const auto& name : *names) {
            if (name.starts_with('.')) continue;
            const std::string path = directory + "/" + name;
            const auto status = root_.status(path, false);
            if (!status) continue;
            if (status->kind == os::FileStatus::Kind::kSocket) to[path] = status->identity;
            if (status->kind == os::FileStatus::Kind::kDirectory && depth > 0) {
                collect(path, depth - 1, to);
            }
        }
    }

    void attempt(const std::string& path, const Identity& identity, const std::stop_token& stop) {
        const auto now = std::chrono::steady_clock::now();
        const auto before = failures_.find(path);
        if (before != failures_.end() && before->second.identity == identity &&
            now < before->second.again) {
            return;
        }
        const auto done = register_plugin(path, identity, stop);
        if (done) {
            failures_.erase(path);
            return;
        }
        log::info("sim.kubelet.plugin_refused",
                  {{"socket", path}, {"error", done.error().message}});
        auto& failure = failures_[path];
        failure.pause =
            std::clamp<std::chrono::milliseconds>(failure.pause * 2, kFirstBackoff, kLastBackoff);
        failure.identity = identity;
        failure.again = std::chrono::steady_clock::now() + failure.pause;
    }

    Result<Done> register_plugin(const std::string& path, const Identity& identity,
                                 const std::stop_token& stop) {
        const Stopped stopped = [&stop] { return stop.stop_requested(); };
        const std::string socket = root_.resolve(path).string();
        const auto dialled = LocalChannel::dial(socket, kDialTimeout, stopped);
        if (!dialled) return failed("dial failed at socket " + socket);
        auto& channel = **dialled;
        pluginregistration::PluginInfo info;
        const auto status = channel.call(watcher_path("GetInfo"), pluginregistration::InfoRequest(),
                                         kInfoTimeout, info);
        if (!status.ok()) {
            return failed("failed to get plugin info using RPC GetInfo at socket " + socket +
                          ", err: " + rpc_text(status));
        }
        const auto handler = handlers_.find(info.type());
        if (handler == handlers_.end()) {
            return refuse(channel, "no handler registered for plugin type: " + info.type() +
                                       " at socket " + socket);
        }
        const auto& versions = info.supported_versions();
        const auto valid =
            handler->second.validate(info.name(), {versions.begin(), versions.end()});
        if (!valid) {
            return refuse(channel, "plugin validation failed with err: " + valid.error().message);
        }
        const std::string endpoint = info.endpoint().empty() ? socket : resolve(info.endpoint());
        registered_[path] = {.identity = identity,
                             .name = info.name(),
                             .endpoint = endpoint,
                             .handler = &handler->second};
        const auto connected = handler->second.connect(info.name(), endpoint, stopped);
        if (!connected) {
            registered_.erase(path);
            return refuse(channel,
                          "plugin registration failed with err: " + connected.error().message);
        }
        if (auto told = notify(channel, ""); !told) {
            registered_.erase(path);
            handler->second.disconnect(info.name(), endpoint);
            return told;
        }
        return Done{};
    }

    /// An endpoint is a host path, or a path as a plugin outside of any root sees it.
    [[nodiscard]] std::string resolve(const std::string& endpoint) const {
        const std::string base = root_.base().string();
        if (base != "/" && endpoint.starts_with(base + "/")) return endpoint;
        return root_.resolve(endpoint).string();
    }

    static Result<Done> refuse(LocalChannel& channel, const std::string& reason) {
        Error error = failed(reason);
        (void)notify(channel, error.message);  // that it could not be told changes nothing
        return error;
    }

    const os::Root root_;
    const std::string directory_;
    const Handlers handlers_;
    std::map<std::string, Registered> registered_;  // by host path of the socket
    std::map<std::string, Failure> failures_;
};

PluginWatcher::PluginWatcher(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
PluginWatcher::~PluginWatcher() = default;

Result<std::unique_ptr<PluginWatcher>> PluginWatcher::start(const os::Root& root,
                                                            const std::string& directory,
                                                            std::chrono::milliseconds interval,
                                                            Handlers handlers) {
    if (auto made = root.make_directories(directory); !made) return std::move(made).error();
    auto implementation = std::make_unique<Implementation>(root, directory, std::move(handlers));
    implementation->thread =
        std::jthread([target = implementation.get(), interval](const std::stop_token& stop) {
            target->run(stop, interval);
        });
    return std::unique_ptr<PluginWatcher>(new PluginWatcher(std::move(implementation)));
}

}  // namespace aliquot::sim
