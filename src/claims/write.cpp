// SPDX-License-Identifier: Apache-2.0
#include "claims/claim.h"
#include "document/build.h"

namespace aliquot::claims {
namespace {

using document::Built;
using document::make_mapping;
using document::make_sequence;
using document::only_if;

document::Value write_device(const Allocated& one) {
    document::Value consumed = document::make_mapping();
    for (const auto& [name, amount] : one.consumed) {
        document::append(consumed, name, amount.canonical());
    }
    return make_mapping({
        {"request", one.request},
        {"driver", one.device.driver},
        {"pool", one.device.pool},
        {"device", one.device.device},
        {"adminAccess", only_if(one.admin, true)},
        {"tolerations", only_if(!one.tolerations_node.items.empty(), one.tolerations_node)},
        {"bindingConditions", only_if(!one.binding_conditions.empty(), one.binding_conditions)},
        {"bindingFailureConditions", only_if(!one.binding_failures.empty(), one.binding_failures)},
        {"shareID", only_if(!one.share.empty(), one.share)},
        {"consumedCapacity", only_if(!one.consumed.empty(), std::move(consumed))},
    });
}

document::Value write_configuration(const std::pair<std::string, Configuration>& one) {
    return make_mapping({
        {"source", one.first},
        {"requests", only_if(!one.second.requests.empty(), one.second.requests)},
        {"opaque", one.second.opaque},
    });
}

document::Value write_node(const std::string& name) {
    const auto field = make_mapping(
        {{"key", "metadata.name"}, {"operator", "In"}, {"values", std::vector<std::string>{name}}});
    const auto term = make_mapping({{"matchFields", std::vector<document::Value>{field}}});
    return make_mapping({{"nodeSelectorTerms", std::vector<document::Value>{term}}});
}

}  // namespace

document::Value write_allocation(const Allocation& allocation) {
    auto devices = make_mapping({
        {"results", make_sequence(allocation.devices, write_device)},
        {"config", only_if(!allocation.configurations.empty(),
                           make_sequence(allocation.configurations, write_configuration))},
    });
    return make_mapping({
        {"devices", std::move(devices)},
        {"nodeSelector", only_if(!allocation.node_name.empty(), write_node(allocation.node_name))},
    });
}

}  // namespace aliquot::claims
