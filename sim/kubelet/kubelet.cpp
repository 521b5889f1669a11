// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/kubelet.h"

#include <filesystem>
#include <mutex>
#include <utility>

#include "sim/kubelet/claim_drivers.h"
#include "sim/kubelet/devices.h"
#include "sim/kubelet/plugin_watcher.h"
#include "sim/kubelet/pod_resources_server.h"
#include "sim/kubelet/registration_server.h"

namespace aliquot::sim {
namespace {

std::string parent_of(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
}

}  // namespace

class Kubelet::Implementation {
public:
    Implementation(const os::Root& root, KubeletOptions options)
        : root_(root),
          options_(std::move(options)),
          devices(root_, options_),
          claims(root_, options_.claim_state, options_.claim_timeout) {}

    Result<Done> start() {
        const std::lock_guard lock(mutex_);
        if (registration_) return Done{};
        if (auto read = claims.start(); !read) return read;
        if (auto ready = devices.start(); !ready) return ready;
        if (auto listening = listen(); !listening) {
            end();
            return listening;
        }
        return Done{};
    }

    void stop() {
        const std::lock_guard lock(mutex_);
        end();
    }

    void kill() {
        const std::lock_guard lock(mutex_);
        if (!registration_) return;
        registration_->leave_socket();
        pod_resources_->leave_socket();
        end();
    }

private:
    [[nodiscard]] std::string kubelet_socket() const {
        return options_.plugin_directory + "/kubelet.sock";
    }

    Result<Done> listen() {
        const auto& pod_socket = options_.pod_resources_socket;
        if (auto made = root_.make_directories(parent_of(pod_socket), 0750); !made) return made;
        auto pod_resources = PodResourcesServer::listen(
            root_.resolve(pod_socket).string(),
            {.pods =
                 [this] {
                     auto pods = devices.pod_holdings();
                     claims.add_to(pods);
                     return pods;
                 },
             .allocatable = [this] { return devices.allocatable_devices(); }},
            {.qps = options_.pod_resources_qps, .burst = options_.pod_resources_burst},
            options_.seed);
        if (!pod_resources) return std::move(pod_resources).error();
        pod_resources_ = *std::move(pod_resources);

        auto registration = RegistrationServer::listen(
            root_.resolve(kubelet_socket()).string(),
            [this](const RegisterCall& call) { return devices.register_plugin(call); });
        if (!registration) return std::move(registration).error();
        registration_ = *std::move(registration);

        auto watcher = PluginWatcher::start(
            root_, options_.plugins_registry, options_.reconcile_interval,
            {{"DevicePlugin", device_handler()}, {"DRAPlugin", claim_handler()}});
        if (!watcher) return std::move(watcher).error();
        watcher_ = *std::move(watcher);
        return Done{};
    }

    PluginWatcher::Handler device_handler() {
        return {
            .validate =
                [this](const std::string& name, const std::vector<std::string>& versions) {
                    return devices.validate(name, versions);
                },
            .connect =
                [this](const std::string& name, const std::string& socket, const Stopped& stopped) {
                    return devices.connect(name, socket, options_.dial_timeout, stopped);
                },
            .disconnect = [this](const std::string& name,
                                 const std::string&) { devices.disconnect(name); }};
    }

    PluginWatcher::Handler claim_handler() {
        return {
            .validate =
                [this](const std::string& name, const std::vector<std::string>& versions) {
                    return claims.validate(name, versions);
                },
            .connect =
                [this](const std::string& name, const std::string& socket, const Stopped& stopped) {
                    return claims.connect(name, socket, options_.dial_timeout, stopped);
                },
            .disconnect = [this](const std::string& name,
                                 const std::string& socket) { claims.disconnect(name, socket); }};
    }

    void end() {
        claims.stop();
        devices.stop();  // first: it breaks the calls that the servers would wait for
        watcher_.reset();
        registration_.reset();
        pod_resources_.reset();
    }

    const os::Root root_;
    const KubeletOptions options_;

public:
    Devices devices;
    ClaimDrivers claims;

private:
    std::mutex mutex_;  // of start and stop
    std::unique_ptr<PodResourcesServer> pod_resources_;
    std::unique_ptr<RegistrationServer> registration_;
    std::unique_ptr<PluginWatcher> watcher_;
};

Kubelet::Kubelet(const os::Root& root, KubeletOptions options)
    : implementation_(std::make_unique<Implementation>(root, std::move(options))) {}
Kubelet::~Kubelet() { stop(); }

Result<Done> Kubelet::start() { return implementation_->start(); }
void Kubelet::stop() { implementation_->stop(); }
void Kubelet::kill() { implementation_->kill(); }
Result<Done> Kubelet::restart() {
    implementation_->stop();
    return implementation_->start();
}

Result<std::vector<ContainerGrant>> Kubelet::admit(const PodRequest& pod) {
    return implementation_->devices.admit(pod);
}
void Kubelet::remove(const std::string& uid) { implementation_->devices.remove(uid); }
Result<ContainerGrant> Kubelet::start_container(const std::string& uid,
                                                const std::string& container) {
    return implementation_->devices.start_container(uid, container);
}
void Kubelet::forget_unknown_pods() { implementation_->devices.forget_unknown_pods(); }

std::map<std::string, ResourceView> Kubelet::resources() const {
    return implementation_->devices.resources();
}
bool Kubelet::wait_allocatable(const std::string& resource, unsigned count,
                               std::chrono::milliseconds timeout) const {
    return implementation_->devices.wait_allocatable(resource, count, timeout);
}
std::map<std::string, std::string> Kubelet::holders() const {
    return implementation_->devices.holders();
}
Result<std::vector<PreparedDevice>> Kubelet::prepare_claims(
    const std::string& uid, const std::vector<ClaimReference>& claims) {
    return implementation_->claims.prepare(uid, claims);
}
void Kubelet::use_claims(const PodRequest& pod,
                         std::map<std::string, std::vector<ClaimUse>> containers) {
    implementation_->claims.use(
        pod.uid,
        {.pod_namespace = pod.pod_namespace, .pod = pod.name, .containers = std::move(containers)});
}
Result<Done> Kubelet::unprepare_claims(const std::string& uid) {
    return implementation_->claims.unprepare(uid);
}
std::vector<std::string> Kubelet::claim_drivers() const {
    return implementation_->claims.drivers();
}
std::uint64_t Kubelet::registrations() const { return implementation_->devices.registrations(); }

}  // namespace aliquot::sim
