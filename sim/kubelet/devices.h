// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/root.h"
#include "sim/kubelet/device_accounts.h"
#include "sim/kubelet/kubelet.h"
#include "sim/kubelet/plugin_connection.h"
#include "sim/kubelet/pod_resources_server.h"
#include "sim/kubelet/registration_server.h"

namespace aliquot::sim {

/// kubelet's device manager without its sockets: clients of plugins, device choice, admission and
/// the checkpoint. Thread-safe. Owns one thread for each open ListAndWatch stream.
class Devices {
public:
    Devices(os::Root root, KubeletOptions options);
    ~Devices();  // as stop()

    /// Makes the directory, deletes every socket in it and reads the checkpoint.
    Result<Done> start();
    /// Breaks all connections; returns when no thread and no admission is left.
    void stop();

    /// The body of Register: checks, dials back, asks for the options, starts the stream.
    /// errors   the text for the plugin
    Result<Done> register_plugin(const RegisterCall& call);
    [[nodiscard]] Result<Done> validate(const std::string& resource,
                                        const std::vector<std::string>& versions) const;
    Result<Done> connect(const std::string& resource, const std::string& socket,
                         std::chrono::milliseconds patience, const Stopped& given_up);
    void disconnect(const std::string& resource);

    Result<std::vector<ContainerGrant>> admit(const PodRequest& pod);
    void remove(const std::string& uid);
    Result<ContainerGrant> start_container(const std::string& uid, const std::string& container);
    void forget_unknown_pods();

    [[nodiscard]] std::map<std::string, ResourceView> resources();
    bool wait_allocatable(const std::string& resource, unsigned count,
                          std::chrono::milliseconds timeout);
    [[nodiscard]] std::map<std::string, std::string> holders() const;
    [[nodiscard]] std::uint64_t registrations() const { return registrations_; }

    /// For PodResources: active pods only, init containers only if they keep running.
    [[nodiscard]] std::vector<PodHoldings> pod_holdings() const;
    [[nodiscard]] std::vector<HeldDevice> allocatable_devices() const;

private:
    using Connection = std::shared_ptr<PluginConnection>;
    using Clock = std::chrono::steady_clock;

    /// What kubelet knows of a resource's plugin.
    struct Endpoint {
        Connection connection;  // empty: known from the checkpoint only
        PluginConnection::Options options;
        std::optional<Clock::time_point> stopped;
    };
    struct Stream {
        std::string resource;
        Connection connection;
        std::atomic<bool> ended = false;
        std::jthread thread;
    };
    /// Devices that ended init containers of a pod leave to its next containers, by resource.
    using Reusable = std::map<std::string, Ids>;
    using Lock = std::unique_lock<std::mutex>;

    // Streams (devices.cpp)
    void watch(Stream& stream);
    void receive(const std::string& resource, const std::vector<ListedDevice>& devices);
    void close_after_stream(const std::string& resource, const Connection& ended);
    void mark_disconnected(const std::string& resource);
    void join_ended_streams();
    void drop_expired(const Lock& lock);
    void write_checkpoint();
    void read_checkpoint();
    Result<Done> delete_sockets() const;

    // Admission (admission.cpp)
    Result<Done> admit_containers(const PodRequest& pod);
    Result<Done> allocate_container(const PodRequest& pod, const ContainerRequest& container,
                                    const Reusable& reusable);
    Result<Done> allocate_resource(const PodRequest& pod, const ContainerRequest& container,
                                   const std::string& resource, unsigned count,
                                   const Ids& reusable);
    Result<Ids> choose(const std::string& resource, unsigned count, const Ids& reusable);
    Result<Ids> preferred(Lock& lock, const std::string& resource, const Ids& available,
                          const Ids& must_include, unsigned count);
    Result<Done> cached(const PodRequest& pod) const;
    [[nodiscard]] ContainerGrant grant_of(const std::string& uid, const std::string& container);
    Result<Connection> live_endpoint(const std::string& resource) const;  // under mutex_
    std::vector<std::string> shuffled(const Ids& ids);                    // under mutex_

    const os::Root root_;
    const KubeletOptions options_;

    std::mutex admission_mutex_;   // one pod at a time; before mutex_
    std::mutex checkpoint_mutex_;  // one writer, in order; before mutex_
    mutable std::mutex mutex_;     // of all below
    std::condition_variable changed_;
    bool running_ = false;
    DeviceAccounts accounts_;
    std::map<std::string, Ids> stranded_;  // by resource: see allocate_resource()
    std::map<std::string, Endpoint> endpoints_;
    std::map<std::string, Connection> clients_;  // the registration server's, also while dialling
    std::list<std::unique_ptr<Stream>> streams_;
    std::map<std::string, PodRequest> pods_;  // active ones, by uid; they outlive a restart
    std::set<std::string> gone_;              // pods removed while kubelet was away
    std::set<std::string> node_status_;       // resources once reported: kubelet never unlists them
    std::mt19937_64 random_;
    std::atomic<std::uint64_t> registrations_ = 0;
};

}  // namespace aliquot::sim
