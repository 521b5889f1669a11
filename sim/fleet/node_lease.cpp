// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet/node_lease.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/time_text.h"

namespace aliquot::sim::fleet {

void renew_lease(kube_client::Api& api, const std::string& node) {
    using Json = nlohmann::json;
    constexpr char kNamespace[] = "kube-node-lease";
    const kube_client::WriteOptions write{.field_manager = "kubelet",
                                          .call = {.deadline = std::chrono::seconds(10)}};
    const auto& leases = kube_client::resources::leases();
    const Json spec{{"holderIdentity", node},
                    {"leaseDurationSeconds", 40},
                    {"renewTime", rfc3339_micro(std::chrono::system_clock::now())}};
    const auto renewed =
        api.patch(leases, {kNamespace, node}, dumped(Json{{"spec", spec}}), {.write = write});
    if (renewed || renewed.failure().reason != kube_client::Reason::kNotFound) return;
    const Json lease{{"apiVersion", "coordination.k8s.io/v1"},
                     {"kind", "Lease"},
                     {"metadata", {{"name", node}}},
                     {"spec", spec}};
    (void)api.create(leases, kNamespace, dumped(lease), write);
}

}  // namespace aliquot::sim::fleet
