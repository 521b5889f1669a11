// SPDX-License-Identifier: Apache-2.0
#include "dra/service.h"

#include <type_traits>

#include "api/kubelet/dra.pb.h"
#include "api/kubelet/dra_v1beta1.pb.h"
#include "api/kubelet/pluginregistration.pb.h"
#include "base/log.h"
#include "dra/claim_spec.h"
#include "kubelet/unary.h"

namespace aliquot::dra {
namespace {

namespace v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;

template <class Claim>
ClaimName name_of(const Claim& claim) {
    return {.name_space = claim.namespace_(), .name = claim.name(), .uid = claim.uid()};
}

/// Of one version of the protocol; the messages are called the same in both.
template <class PrepareRequest, class PrepareResponse, class UnprepareRequest,
          class UnprepareResponse>
void add_version(std::vector<rpc::Method>& methods, const std::string& service, Keeper& keeper) {
    methods.push_back(
        {service + "/NodePrepareResources",
         kubelet::unary<PrepareRequest, PrepareResponse>(
             [&keeper](const PrepareRequest& request, PrepareResponse& response) {
                 for (const auto& claim : request.claims()) {
                     auto& answer = (*response.mutable_claims())[claim.uid()];
                     const auto prepared = keeper.prepare(name_of(claim));
                     if (!prepared) {
                         log::warning("dra.refused", {{"why", prepared.error().message}});
                         answer.set_error(prepared.error().message);
                         continue;
                     }
                     for (const PreparedDevice& one : prepared->devices) {
                         auto& device = *answer.add_devices();
                         device.add_request_names(one.request);
                         device.set_pool_name(one.pool);
                         device.set_device_name(one.device);
                         device.add_cdi_device_ids(cdi_id(one));
                         if constexpr (std::is_same_v<PrepareResponse,
                                                      v1::NodePrepareResourcesResponse>) {
                             if (!one.share.empty()) device.set_share_id(one.share);
                         }
                     }
                 }
                 return rpc::Status{};
             })});
    methods.push_back(
        {service + "/NodeUnprepareResources",
         kubelet::unary<UnprepareRequest, UnprepareResponse>(
             [&keeper](const UnprepareRequest& request, UnprepareResponse& response) {
                 for (const auto& claim : request.claims()) {
                     auto& answer = (*response.mutable_claims())[claim.uid()];
                     const auto undone = keeper.unprepare(name_of(claim));
                     if (undone) continue;
                     log::warning("dra.not_unprepared", {{"why", undone.error().message}});
                     answer.set_error(undone.error().message);
                 }
                 return rpc::Status{};
             })});
}

}  // namespace

std::vector<rpc::Method> plugin_methods(Keeper& keeper, HealthFeed& health) {
    std::vector<rpc::Method> methods;
    add_version<v1::NodePrepareResourcesRequest, v1::NodePrepareResourcesResponse,
                v1::NodeUnprepareResourcesRequest, v1::NodeUnprepareResourcesResponse>(
        methods, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin", keeper);
    add_version<v1beta1::NodePrepareResourcesRequest, v1beta1::NodePrepareResourcesResponse,
                v1beta1::NodeUnprepareResourcesRequest, v1beta1::NodeUnprepareResourcesResponse>(
        methods, "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin", keeper);
    // The messages are the same in both; kubelet 1.37 knows the second.
    methods.push_back({"/v1alpha1.DRAResourceHealth/NodeWatchResources", &health});
    methods.push_back({"/v1.DRAResourceHealth/NodeWatchResources", &health});
    return methods;
}

std::vector<rpc::Method> registration_methods(std::string endpoint,
                                              std::function<void(const std::string& error)> told) {
    using namespace pluginregistration;  // NOLINT(google-build-using-namespace)
    std::vector<rpc::Method> methods;
    methods.push_back({"/pluginregistration.Registration/GetInfo",
                       kubelet::unary<InfoRequest, PluginInfo>(
                           [endpoint = std::move(endpoint)](const InfoRequest& /*request*/,
                                                            PluginInfo& response) {
                               response.set_type("DRAPlugin");
                               response.set_name(std::string(kDriver));
                               response.set_endpoint(endpoint);
                               // kubelet takes the first that it knows.
                               response.add_supported_versions("v1.DRAPlugin");
                               response.add_supported_versions("v1beta1.DRAPlugin");
                               response.add_supported_versions("v1alpha1.DRAResourceHealth");
                               response.add_supported_versions("v1.DRAResourceHealth");
                               return rpc::Status{};
                           })});
    methods.push_back({"/pluginregistration.Registration/NotifyRegistrationStatus",
                       kubelet::unary<RegistrationStatus, RegistrationStatusResponse>(
                           [told = std::move(told)](const RegistrationStatus& request,
                                                    RegistrationStatusResponse& /*response*/) {
                               std::string error;
                               if (!request.plugin_registered()) {
                                   error = request.error().empty() ? "kubelet gave no reason"
                                                                   : request.error();
                               }
                               told(error);
                               return rpc::Status{};
                           })});
    return methods;
}

}  // namespace aliquot::dra
