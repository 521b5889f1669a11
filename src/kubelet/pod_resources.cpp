// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_resources.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/kubelet/podresources.pb.h"
#include "kubelet/message.h"
#include "kubelet/pod_resources_reply.h"
#include "kubelet/unix_socket.h"
#include "rpc/call.h"

namespace aliquot::kubelet {
namespace {

/// "a-0" of "k8s.gpu.example.com/claim=a-0".
std::string name_of_cdi(const std::string& id) { return id.substr(id.find('=') + 1); }

constexpr std::size_t kPodResourcesBytes = 16 << 20;  // what kubelet itself sends at most

}  // namespace

/// Every call has its own connection: they are seldom, a connection to a local socket is cheap, and
/// so none is ever left over from a kubelet that is gone.
class PodResources::Implementation {
public:
    Implementation(const os::Root& root, const std::string& socket_path)
        : socket_(root.resolve(socket_path)) {}

    /// method   of v1.PodResourcesLister, which is asked for with an empty message
    template <class Response>
    Result<Response> call(const std::string& method, std::chrono::milliseconds timeout) const {
        auto connection = connect_unix(socket_);
        if (!connection) {
            Error error = std::move(connection).error().during("PodResources " + method);
            error.code = ErrorCode::kUnavailable;  // for the caller all of it is: no kubelet
            return error;
        }
        const rpc::CallOptions options{
            .path = "/v1.PodResourcesLister/" + method,
            .timeout = timeout,
            .answer_bytes = kPodResourcesBytes,
            .subject = "PodResources " + method + " at " + socket_.native()};
        const auto answer = rpc::call(*std::move(connection), {}, options);
        if (!answer) return answer.error();
        Response response;
        const auto parsed = parse_answer(*answer, response, options.subject);
        if (!parsed) return parsed.error();
        return response;
    }

private:
    const std::filesystem::path socket_;
};

std::vector<Holder> holders_in(const v1::ListPodResourcesResponse& response) {
    using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
    std::map<Key, std::set<std::string>> holders;
    for (const auto& pod : response.pod_resources())
        for (const auto& container : pod.containers()) {
            for (const auto& devices : container.devices()) {
                if (devices.device_ids().empty()) continue;
                auto& ids = holders[{
                    pod.namespace_(), pod.name(), container.name(), devices.resource_name(), {}}];
                ids.insert(devices.device_ids().begin(), devices.device_ids().end());
            }
            for (const auto& claim : container.dynamic_resources()) {
                for (const auto& one : claim.claim_resources()) {
                    for (const auto& device : one.cdi_devices()) {
                        holders[{pod.namespace_(), pod.name(), container.name(), one.driver_name(),
                                 claim.claim_name()}]
                            .insert(name_of_cdi(device.name()));
                    }
                }
            }
        }

    std::vector<Holder> sorted;
    sorted.reserve(holders.size());
    for (const auto& [key, ids] : holders) {
        const auto& [pod_namespace, pod, container, resource, claim] = key;
        sorted.push_back(
            {pod_namespace, pod, container, resource, {ids.begin(), ids.end()}, claim});
    }
    return sorted;
}

PodResources::PodResources(const os::Root& root, const std::string& socket_path)
    : implementation_(std::make_unique<Implementation>(root, socket_path)) {}

PodResources::~PodResources() = default;

Result<ActivePods> PodResources::pods(std::chrono::milliseconds timeout) {
    const auto response = implementation_->call<v1::ListPodResourcesResponse>("List", timeout);
    if (!response) return response.error();
    ActivePods active{.pods = {}, .holders = holders_in(*response)};
    for (const auto& pod : response->pod_resources()) {
        active.pods.emplace_back(pod.namespace_(), pod.name());
    }
    std::ranges::sort(active.pods);
    return active;
}

Result<std::vector<Holder>> PodResources::list(std::chrono::milliseconds timeout) {
    auto active = pods(timeout);
    if (!active) return active.error();
    return std::move(active->holders);
}

Result<std::vector<std::string>> PodResources::allocatable(std::chrono::milliseconds timeout) {
    const auto response =
        implementation_->call<v1::AllocatableResourcesResponse>("GetAllocatableResources", timeout);
    if (!response) return response.error();
    std::set<std::string> ids;
    for (const auto& devices : response->devices())
        ids.insert(devices.device_ids().begin(), devices.device_ids().end());
    return std::vector<std::string>(ids.begin(), ids.end());
}

}  // namespace aliquot::kubelet
