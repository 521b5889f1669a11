// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/claim_plugin.h"

#include "api/kubelet/dra.pb.h"
#include "api/kubelet/dra_v1beta1.pb.h"

namespace aliquot::sim {
namespace {

namespace v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace beta = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;

template <class Request>
Request request_of(const std::vector<ClaimReference>& claims) {
    Request request;
    for (const ClaimReference& one : claims) {
        auto* const claim = request.add_claims();
        claim->set_namespace_(one.claim_namespace);
        claim->set_uid(one.uid);
        claim->set_name(one.name);
    }
    return request;
}

std::string share_of(const v1::Device& device) { return device.share_id(); }
std::string share_of(const beta::Device&) { return {}; }

template <class Answer>
std::map<std::string, ClaimPlugin::Prepared> read_prepared(const Answer& answer,
                                                           const std::string& driver) {
    std::map<std::string, ClaimPlugin::Prepared> by_uid;
    for (const auto& [uid, one] : answer.claims()) {
        ClaimPlugin::Prepared& prepared = by_uid[uid];
        prepared.error = one.error();
        for (const auto& device : one.devices()) {
            prepared.devices.push_back(
                {.claim_uid = uid,
                 .driver = driver,
                 .requests = {device.request_names().begin(), device.request_names().end()},
                 .pool = device.pool_name(),
                 .device = device.device_name(),
                 .share = share_of(device),
                 .cdi_devices = {device.cdi_device_ids().begin(), device.cdi_device_ids().end()}});
        }
    }
    return by_uid;
}

template <class Request, class Answer>
Result<std::map<std::string, ClaimPlugin::Prepared>> prepare_with(
    LocalChannel& channel, const std::string& service, const std::string& driver,
    const std::vector<ClaimReference>& claims, std::chrono::milliseconds timeout) {
    Answer answer;
    const auto status = channel.call(service + "NodePrepareResources", request_of<Request>(claims),
                                     timeout, answer);
    if (!status.ok()) return Error{ErrorCode::kUnavailable, rpc_text(status)};
    return read_prepared(answer, driver);
}

template <class Request, class Answer>
Result<std::map<std::string, std::string>> unprepare_with(LocalChannel& channel,
                                                          const std::string& service,
                                                          const std::vector<ClaimReference>& claims,
                                                          std::chrono::milliseconds timeout) {
    Answer answer;
    const auto status = channel.call(service + "NodeUnprepareResources",
                                     request_of<Request>(claims), timeout, answer);
    if (!status.ok()) return Error{ErrorCode::kUnavailable, rpc_text(status)};
    std::map<std::string, std::string> by_uid;
    for (const auto& [uid, one] : answer.claims()) by_uid[uid] = one.error();
    return by_uid;
}

constexpr const char* kV1Service = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
constexpr const char* kBetaService = "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/";

}  // namespace

ClaimPlugin::ClaimPlugin(std::string driver, std::string socket, Version version)
    : driver_(std::move(driver)), socket_(std::move(socket)), version_(version) {}
ClaimPlugin::~ClaimPlugin() = default;

Result<Done> ClaimPlugin::dial(std::chrono::milliseconds timeout, const Stopped& stopped) {
    auto channel = LocalChannel::dial(socket_, timeout, stopped);
    if (!channel) return std::move(channel).error();
    channel_ = *std::move(channel);
    return Done{};
}

Result<std::map<std::string, ClaimPlugin::Prepared>> ClaimPlugin::prepare(
    const std::vector<ClaimReference>& claims, std::chrono::milliseconds timeout) {
    if (version_ == Version::kV1) {
        return prepare_with<v1::NodePrepareResourcesRequest, v1::NodePrepareResourcesResponse>(
            *channel_, kV1Service, driver_, claims, timeout);
    }
    return prepare_with<beta::NodePrepareResourcesRequest, beta::NodePrepareResourcesResponse>(
        *channel_, kBetaService, driver_, claims, timeout);
}

Result<std::map<std::string, std::string>> ClaimPlugin::unprepare(
    const std::vector<ClaimReference>& claims, std::chrono::milliseconds timeout) {
    if (version_ == Version::kV1) {
        return unprepare_with<v1::NodeUnprepareResourcesRequest,
                              v1::NodeUnprepareResourcesResponse>(*channel_, kV1Service, claims,
                                                                  timeout);
    }
    return unprepare_with<beta::NodeUnprepareResourcesRequest,
                          beta::NodeUnprepareResourcesResponse>(*channel_, kBetaService, claims,
                                                                timeout);
}

}  // namespace aliquot::sim
