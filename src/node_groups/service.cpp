// SPDX-License-Identifier: Apache-2.0
#include "node_groups/service.h"

#include <cmath>
#include <limits>

#include "api/externalgrpc/externalgrpc.pb.h"
#include "api/externalgrpc/node.pb.h"
#include "base/number.h"

namespace aliquot::node_groups {
namespace {

namespace wire = clusterautoscaler::cloudprovider::v1::externalgrpc;
using rpc::Status;

constexpr int kOutOfResources = 1;  // InstanceErrorClass of Cluster Autoscaler

/// One method from a function of the two messages.
template <class Request, class Answer, class Serve>
rpc::Method method(const char* name, Serve serve) {
    return {std::string("/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/") + name,
            rpc::Unary([serve](std::string_view bytes, std::string& out) -> Status {
                Request request;
                if (bytes.size() > std::numeric_limits<int>::max() ||
                    !request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
                    return {rpc::Code::kInvalidArgument, "no message of this call"};
                }
                Answer answer;
                const Status status = serve(request, answer);
                if (status.ok()) answer.SerializeToString(&out);
                return status;
            })};
}

Status status_of(const Result<Done>& result) {
    return result ? Status{} : rpc::to_status(result.error());
}

void describe(const Group& group, wire::NodeGroup& into) {
    into.set_id(group.pool.name);
    into.set_minsize(static_cast<int>(group.pool.min));
    into.set_maxsize(static_cast<int>(group.pool.most_nodes()));
    into.set_debug(group.pool.name + ": " + std::to_string(group.machines.size()) + " machines");
}

void describe(const std::string& id, const MachineStatus& machine, wire::Instance& into) {
    into.set_id(id);
    auto& status = *into.mutable_status();
    switch (machine.state) {
        case MachineState::kOn:
            status.set_instancestate(wire::InstanceStatus::instanceRunning);
            break;
        case MachineState::kStopping:
            status.set_instancestate(wire::InstanceStatus::instanceDeleting);
            break;
        case MachineState::kOff:
        case MachineState::kStarting:
        case MachineState::kFailed:
            status.set_instancestate(wire::InstanceStatus::instanceCreating);
            break;
    }
    if (machine.state != MachineState::kFailed) return;
    auto& error = *status.mutable_errorinfo();
    error.set_errorcode("StartFailed");
    error.set_errormessage(machine.problem);
    error.set_instanceerrorclass(kOutOfResources);
}

std::string provider_of(const wire::ExternalGrpcNode& node) {
    // Instances without a Node come with their id as name.
    return node.providerid().empty() ? node.name() : node.providerid();
}

std::string quantity(const std::string& resource, double amount) {
    if (resource != "cpu") return fixed_text(std::floor(amount), 0);
    return fixed_text(std::floor(amount * 1000), 0) + "m";
}

class Calls {
public:
    Calls(SharedFleet& shared, std::function<void()> changed)
        : shared_(shared), changed_(std::move(changed)) {}

    /// Reads or changes the fleet under its lock.
    template <class Do>
    Status with(const Do& act) const {
        const std::scoped_lock lock(shared_.mutex);
        return act(shared_.fleet);
    }
    template <class Do>
    Status change(const Do& act) const {
        const Status status = with(act);
        if (status.ok()) changed_();
        return status;
    }

private:
    SharedFleet& shared_;
    std::function<void()> changed_;
};

void add_reads(const Calls& calls, std::vector<rpc::Method>& all) {
    all.push_back(method<wire::NodeGroupsRequest, wire::NodeGroupsResponse>(
        "NodeGroups", [calls](const auto&, auto& answer) {
            return calls.with([&](Fleet& fleet) -> Status {
                for (const Group& group : fleet.groups()) describe(group, *answer.add_nodegroups());
                return {};
            });
        }));
    all.push_back(method<wire::NodeGroupForNodeRequest, wire::NodeGroupForNodeResponse>(
        "NodeGroupForNode", [calls](const auto& request, auto& answer) {
            return calls.with([&](Fleet& fleet) -> Status {
                const auto name = fleet.group_of(provider_of(request.node()));
                const Group* const group = fleet.find(name);
                if (group != nullptr) {
                    describe(*group, *answer.mutable_nodegroup());
                } else {
                    answer.mutable_nodegroup()->set_id("");
                }
                return {};
            });
        }));
    all.push_back(method<wire::NodeGroupTargetSizeRequest, wire::NodeGroupTargetSizeResponse>(
        "NodeGroupTargetSize", [calls](const auto& request, auto& answer) {
            return calls.with([&](Fleet& fleet) -> Status {
                // Never an error: one would end the autoscaler's look at all groups.
                answer.set_targetsize(static_cast<int>(fleet.target(request.id())));
                return {};
            });
        }));
    all.push_back(method<wire::NodeGroupNodesRequest, wire::NodeGroupNodesResponse>(
        "NodeGroupNodes", [calls](const auto& request, auto& answer) {
            return calls.with([&](Fleet& fleet) -> Status {
                for (const auto& [name, status] : fleet.instances(request.id())) {
                    describe(provider_id(request.id(), name), status, *answer.add_instances());
                }
                return {};
            });
        }));
    all.push_back(
        method<wire::NodeGroupTemplateNodeInfoRequest, wire::NodeGroupTemplateNodeInfoResponse>(
            "NodeGroupTemplateNodeInfo", [calls](const auto& request, auto& answer) {
                return calls.with([&](Fleet& fleet) -> Status {
                    const Group* const group = fleet.find(request.id());
                    if (group == nullptr) return {rpc::Code::kNotFound, "no such node group"};
                    answer.set_nodebytes(template_node(*group));
                    answer.set_nodeinfo(answer.nodebytes());
                    return {};
                });
            }));
}

void add_writes(const Calls& calls, std::vector<rpc::Method>& all) {
    all.push_back(method<wire::NodeGroupIncreaseSizeRequest, wire::NodeGroupIncreaseSizeResponse>(
        "NodeGroupIncreaseSize", [calls](const auto& request, auto&) {
            return calls.change([&](Fleet& fleet) -> Status {
                if (request.delta() <= 0) {
                    return {rpc::Code::kInvalidArgument, "the size increase must be positive"};
                }
                return status_of(fleet.increase(request.id(), request.delta()));
            });
        }));
    all.push_back(method<wire::NodeGroupDeleteNodesRequest, wire::NodeGroupDeleteNodesResponse>(
        "NodeGroupDeleteNodes", [calls](const auto& request, auto&) {
            return calls.change([&](Fleet& fleet) {
                std::vector<std::string> ids;
                for (const auto& node : request.nodes()) ids.push_back(provider_of(node));
                return status_of(fleet.remove(request.id(), ids));
            });
        }));
    all.push_back(
        method<wire::NodeGroupDecreaseTargetSizeRequest, wire::NodeGroupDecreaseTargetSizeResponse>(
            "NodeGroupDecreaseTargetSize", [calls](const auto& request, auto&) {
                return calls.change([&](Fleet& fleet) {
                    return status_of(fleet.decrease(request.id(), request.delta()));
                });
            }));
}

}  // namespace

std::vector<rpc::Method> methods(SharedFleet& fleet, std::function<void()> changed) {
    const Calls calls(fleet, std::move(changed));
    std::vector<rpc::Method> all;
    add_reads(calls, all);
    add_writes(calls, all);
    const auto nothing = [](const auto&, auto&) { return Status{}; };
    all.push_back(method<wire::RefreshRequest, wire::RefreshResponse>("Refresh", nothing));
    all.push_back(method<wire::CleanupRequest, wire::CleanupResponse>("Cleanup", nothing));
    all.push_back(method<wire::GPULabelRequest, wire::GPULabelResponse>("GPULabel", nothing));
    all.push_back(method<wire::GetAvailableGPUTypesRequest, wire::GetAvailableGPUTypesResponse>(
        "GetAvailableGPUTypes", nothing));
    return all;
}

std::string template_node(const Group& group) {
    kube::Node node;
    auto& metadata = *node.mutable_metadata();
    metadata.set_name(group.pool.name + "-template");
    auto& labels = *metadata.mutable_labels();
    for (const auto& [key, value] : group.pool.node.labels) labels[key] = value;
    labels[std::string(pools::kPoolLabel)] = group.pool.name;
    labels["kubernetes.io/hostname"] = metadata.name();
    labels["kubernetes.io/os"] = "linux";
    for (const auto& taint : group.pool.node.taints) {
        auto& made = *node.mutable_spec()->add_taints();
        made.set_key(taint.key);
        made.set_value(taint.value);
        made.set_effect(taint.effect);
    }
    auto amounts = group.pool.node.amounts;
    amounts.try_emplace("pods", 110);
    constexpr double kDisk = 100.0 * 1024 * 1024 * 1024;
    amounts.try_emplace("ephemeral-storage", kDisk);
    for (const auto& [resource, amount] : amounts) {
        const std::string text = quantity(resource, amount);
        (*node.mutable_status()->mutable_capacity())[resource].set_string(text);
        (*node.mutable_status()->mutable_allocatable())[resource].set_string(text);
    }
    auto& ready = *node.mutable_status()->add_conditions();
    ready.set_type("Ready");
    ready.set_status("True");
    return node.SerializeAsString();
}

}  // namespace aliquot::node_groups
