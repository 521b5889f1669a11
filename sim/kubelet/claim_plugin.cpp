// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/claim_plugin.h"

#include <grpcpp/grpcpp.h>

#include "api/kubelet/dra.grpc.pb.h"
#include "api/kubelet/dra_v1beta1.grpc.pb.h"

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

void set_deadline(grpc::ClientContext& context, std::chrono::milliseconds timeout) {
    context.set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace

class ClaimPlugin::Stubs {
public:
    explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
        : v1_(v1::DRAPlugin::NewStub(channel)), beta_(beta::DRAPlugin::NewStub(channel)) {}
    v1::DRAPlugin::Stub& operator()(const v1::Claim&) { return *v1_; }
    beta::DRAPlugin::Stub& operator()(const beta::Claim&) { return *beta_; }

private:
    std::unique_ptr<v1::DRAPlugin::Stub> v1_;
    std::unique_ptr<beta::DRAPlugin::Stub> beta_;
};

namespace {

template <class Claim, class Request, class Answer, class Stubs>
Result<std::map<std::string, ClaimPlugin::Prepared>> prepare_with(
    Stubs& stubs, const std::string& driver, const std::vector<ClaimReference>& claims,
    std::chrono::milliseconds timeout) {
    grpc::ClientContext context;
    set_deadline(context, timeout);
    Answer answer;
    const auto status =
        stubs(Claim()).NodePrepareResources(&context, request_of<Request>(claims), &answer);
    if (!status.ok()) return Error{ErrorCode::kUnavailable, rpc_text(status)};
    return read_prepared(answer, driver);
}

template <class Claim, class Request, class Answer, class Stubs>
Result<std::map<std::string, std::string>> unprepare_with(Stubs& stubs,
                                                          const std::vector<ClaimReference>& claims,
                                                          std::chrono::milliseconds timeout) {
    grpc::ClientContext context;
    set_deadline(context, timeout);
    Answer answer;
    const auto status =
        stubs(Claim()).NodeUnprepareResources(&context, request_of<Request>(claims), &answer);
    if (!status.ok()) return Error{ErrorCode::kUnavailable, rpc_text(status)};
    std::map<std::string, std::string> by_uid;
    for (const auto& [uid, one] : answer.claims()) by_uid[uid] = one.error();
    return by_uid;
}

}  // namespace

ClaimPlugin::ClaimPlugin(std::string driver, std::string socket, Version version)
    : driver_(std::move(driver)), socket_(std::move(socket)), version_(version) {}
ClaimPlugin::~ClaimPlugin() = default;

Result<Done> ClaimPlugin::dial(std::chrono::milliseconds timeout, const Stopped& stopped) {
    auto channel = dial_local(socket_, timeout, stopped);
    if (!channel) return std::move(channel).error();
    stubs_ = std::make_unique<Stubs>(*channel);
    return Done{};
}

Result<std::map<std::string, ClaimPlugin::Prepared>> ClaimPlugin::prepare(
    const std::vector<ClaimReference>& claims, std::chrono::milliseconds timeout) {
    if (version_ == Version::kV1) {
        return prepare_with<v1::Claim, v1::NodePrepareResourcesRequest,
                            v1::NodePrepareResourcesResponse>(*stubs_, driver_, claims, timeout);
    }
    return prepare_with<beta::Claim, beta::NodePrepareResourcesRequest,
                        beta::NodePrepareResourcesResponse>(*stubs_, driver_, claims, timeout);
}

Result<std::map<std::string, std::string>> ClaimPlugin::unprepare(
    const std::vector<ClaimReference>& claims, std::chrono::milliseconds timeout) {
    if (version_ == Version::kV1) {
        return unprepare_with<v1::Claim, v1::NodeUnprepareResourcesRequest,
                              v1::NodeUnprepareResourcesResponse>(*stubs_, claims, timeout);
    }
    return unprepare_with<beta::Claim, beta::NodeUnprepareResourcesRequest,
                          beta::NodeUnprepareResourcesResponse>(*stubs_, claims, timeout);
}

}  // namespace aliquot::sim
