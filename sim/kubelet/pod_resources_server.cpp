// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/pod_resources_server.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>
#include <utility>

#include "api/kubelet/podresources.pb.h"
#include "kubelet/unary.h"
#include "sim/kubelet/socket_server.h"

namespace aliquot::sim {
namespace {

using DeviceMessages = google::protobuf::RepeatedPtrField<v1::ContainerDevices>;

/// A token bucket that starts full.
class Bucket {
public:
    explicit Bucket(PodResourcesServer::Limit limit) : limit_(limit), tokens_(limit.burst) {}

    bool take() {
        if (limit_.qps <= 0) return true;
        const std::lock_guard lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        tokens_ += std::chrono::duration<double>(now - filled_).count() * limit_.qps;
        tokens_ = std::min(tokens_, static_cast<double>(limit_.burst));
        filled_ = now;
        if (tokens_ < 1) return false;
        tokens_ -= 1;
        return true;
    }

private:
    const PodResourcesServer::Limit limit_;
    std::mutex mutex_;
    double tokens_;
    std::chrono::steady_clock::time_point filled_ = std::chrono::steady_clock::now();
};

v1::ContainerDevices& add(const HeldDevice& device, DeviceMessages& to) {
    auto& entry = *to.Add();
    entry.set_resource_name(device.resource);
    entry.add_device_ids(device.id);
    return entry;
}

}  // namespace

class PodResourcesServer::Implementation {
public:
    Implementation(Source source, Limit limit, std::uint64_t seed)
        : source_(std::move(source)), bucket_(limit), random_(seed) {}
    Result<Done> listen(const std::string& path) {
        auto server = SocketServer::start(path, [this] { return methods(); });
        if (!server) return std::move(server).error();
        server_ = *std::move(server);
        return Done{};
    }
    void leave_socket() { server_->leave_socket(); }

private:
    std::vector<rpc::Method> methods() {
        const std::string service = "/v1.PodResourcesLister/";
        std::vector<rpc::Method> all;
        all.push_back({service + "List",
                       kubelet::unary<v1::ListPodResourcesRequest, v1::ListPodResourcesResponse>(
                           [this](const auto&, auto& answer) { return list(answer); })});
        all.push_back(
            {service + "GetAllocatableResources",
             kubelet::unary<v1::AllocatableResourcesRequest, v1::AllocatableResourcesResponse>(
                 [this](const auto&, auto& answer) { return allocatable(answer); })});
        all.push_back(
            {service + "Get",
             kubelet::unary<v1::GetPodResourcesRequest, v1::GetPodResourcesResponse>(
                 [this](const auto& request, auto& answer) { return get(request, answer); })});
        return all;
    }

    rpc::Status list(v1::ListPodResourcesResponse& answer) {
        if (!bucket_.take()) return exhausted();
        auto pods = source_.pods();
        shuffle(pods);
        for (auto& pod : pods) fill(std::move(pod), *answer.add_pod_resources());
        return {};
    }

    rpc::Status allocatable(v1::AllocatableResourcesResponse& answer) {
        if (!bucket_.take()) return exhausted();
        fill(source_.allocatable(), *answer.mutable_devices());
        return {};
    }

    rpc::Status get(const v1::GetPodResourcesRequest& request,
                    v1::GetPodResourcesResponse& answer) {
        if (!bucket_.take()) return exhausted();
        for (auto& pod : source_.pods()) {
            if (pod.name != request.pod_name() || pod.pod_namespace != request.pod_namespace()) {
                continue;
            }
            fill(std::move(pod), *answer.mutable_pod_resources());
            return {};
        }
        return {rpc::Code::kUnknown, "pod " + request.pod_name() + " in namespace " +
                                         request.pod_namespace() + " not found"};
    }

    static rpc::Status exhausted() {
        return {rpc::Code::kResourceExhausted, "rejected by rate limit"};
    }

    void fill(PodHoldings pod, v1::PodResources& to) {
        to.set_name(pod.name);
        to.set_namespace_(pod.pod_namespace);
        for (auto& container : pod.containers) {
            auto& entry = *to.add_containers();
            entry.set_name(container.name);
            fill(std::move(container.devices), *entry.mutable_devices());
            for (const ClaimUse& use : container.claims) fill(use, *entry.add_dynamic_resources());
        }
    }

    static void fill(const ClaimUse& use, v1::DynamicResource& to) {
        to.set_claim_namespace(use.claim_namespace);
        to.set_claim_name(use.claim);
        for (const PreparedDevice& device : use.devices) {
            auto& entry = *to.add_claim_resources();
            entry.set_driver_name(device.driver);
            entry.set_pool_name(device.pool);
            entry.set_device_name(device.device);
            for (const std::string& id : device.cdi_devices) entry.add_cdi_devices()->set_name(id);
            if (!device.share.empty()) entry.set_share_id(device.share);
        }
    }

    void fill(std::vector<HeldDevice> devices, DeviceMessages& to) {
        shuffle(devices);
        for (const auto& device : devices) {
            if (device.numa_nodes.empty()) add(device, to);
            for (const auto node : device.numa_nodes) {
                add(device, to).mutable_topology()->add_nodes()->set_id(node);
            }
        }
    }

    template <class T>
    void shuffle(std::vector<T>& values) {
        const std::lock_guard lock(mutex_);
        std::shuffle(values.begin(), values.end(), random_);
    }

    const Source source_;
    Bucket bucket_;
    std::mutex mutex_;
    std::mt19937_64 random_;
    std::unique_ptr<SocketServer> server_;  // last: it ends before what it uses
};

PodResourcesServer::PodResourcesServer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
PodResourcesServer::~PodResourcesServer() = default;
void PodResourcesServer::leave_socket() { implementation_->leave_socket(); }

Result<std::unique_ptr<PodResourcesServer>> PodResourcesServer::listen(const std::string& socket,
                                                                       Source source, Limit limit,
                                                                       std::uint64_t seed) {
    auto implementation = std::make_unique<Implementation>(std::move(source), limit, seed);
    if (auto done = implementation->listen(socket); !done) return done.error();
    return std::unique_ptr<PodResourcesServer>(new PodResourcesServer(std::move(implementation)));
}

}  // namespace aliquot::sim
