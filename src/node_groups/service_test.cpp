// SPDX-License-Identifier: Apache-2.0
#include "node_groups/service.h"

#include <gtest/gtest.h>

#include "api/externalgrpc/externalgrpc.pb.h"
#include "api/externalgrpc/node.pb.h"

namespace aliquot::node_groups {
namespace {

namespace wire = clusterautoscaler::cloudprovider::v1::externalgrpc;

std::vector<Group> lab() {
    Group group;
    group.pool.name = "lab";
    group.pool.max = 3;
    group.pool.node = {.amounts = {{"cpu", 7.5}, {"memory", 1024}, {"nvidia.com/gpu.shared", 4}},
                       .labels = {{"role", "gpu"}},
                       .taints = {{"nvidia.com/gpu", "true", "NoSchedule"}}};
    for (const char* const name : {"a", "b", "c"}) group.machines.push_back({.name = name});
    return {group};
}

struct Provider {
    SharedFleet fleet{lab()};
    unsigned changes = 0;
    std::vector<rpc::Method> all = methods(fleet, [this] { ++changes; });

    template <class Answer, class Request>
    Answer call(const char* name, const Request& request, rpc::Code code = rpc::Code::kOk) {
        Answer answer;
        for (const auto& one : all) {
            if (!one.path.ends_with(std::string("CloudProvider/") + name)) continue;
            std::string out;
            const auto status = std::get<rpc::Unary>(one.serve)(request.SerializeAsString(), out);
            EXPECT_EQ(status.code, code) << name << ": " << status.message;
            EXPECT_TRUE(answer.ParseFromString(out));
            return answer;
        }
        ADD_FAILURE() << name << " is missing";
        return answer;
    }
    int target() {
        wire::NodeGroupTargetSizeRequest request;
        request.set_id("lab");
        return call<wire::NodeGroupTargetSizeResponse>("NodeGroupTargetSize", request).targetsize();
    }
    void increase(int delta, rpc::Code code = rpc::Code::kOk) {
        wire::NodeGroupIncreaseSizeRequest request;
        request.set_id("lab");
        request.set_delta(delta);
        call<wire::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", request, code);
    }
    auto instances() {
        wire::NodeGroupNodesRequest request;
        request.set_id("lab");
        return call<wire::NodeGroupNodesResponse>("NodeGroupNodes", request).instances();
    }
};

TEST(ExternalGrpc, TellsItsGroups) {
    Provider provider;
    const auto groups =
        provider.call<wire::NodeGroupsResponse>("NodeGroups", wire::NodeGroupsRequest());
    ASSERT_EQ(groups.nodegroups_size(), 1);
    EXPECT_EQ(groups.nodegroups(0).id(), "lab");
    EXPECT_EQ(groups.nodegroups(0).maxsize(), 3);
}

TEST(ExternalGrpc, RaisesItsTargetBeforeMachinesExist) {
    Provider provider;
    provider.increase(3);
    EXPECT_EQ(provider.target(), 3);
    EXPECT_EQ(provider.changes, 1U);
    ASSERT_EQ(provider.instances().size(), 3);
    EXPECT_EQ(provider.instances()[0].id(), "aliquot://lab/a");
    EXPECT_EQ(provider.instances()[0].status().instancestate(),
              wire::InstanceStatus::instanceCreating);
    provider.increase(1, rpc::Code::kInvalidArgument);
    provider.increase(0, rpc::Code::kInvalidArgument);
    EXPECT_EQ(provider.target(), 3);
}

TEST(ExternalGrpc, FindsTheGroupOfANodeAndOfAnInstanceWithoutOne) {
    Provider provider;
    wire::NodeGroupForNodeRequest request;
    request.mutable_node()->set_providerid("aliquot://lab/b");
    EXPECT_EQ(
        provider.call<wire::NodeGroupForNodeResponse>("NodeGroupForNode", request).nodegroup().id(),
        "lab");
    request.mutable_node()->clear_providerid();
    request.mutable_node()->set_name("aliquot://lab/c");
    EXPECT_EQ(
        provider.call<wire::NodeGroupForNodeResponse>("NodeGroupForNode", request).nodegroup().id(),
        "lab");
    request.mutable_node()->set_providerid("aws:///eu/i-1");
    const auto foreign = provider.call<wire::NodeGroupForNodeResponse>("NodeGroupForNode", request);
    EXPECT_TRUE(foreign.has_nodegroup());
    EXPECT_EQ(foreign.nodegroup().id(), "");
}

TEST(ExternalGrpc, LetsNodesGoAndRefusesForeignOnes) {
    Provider provider;
    provider.increase(2);
    wire::NodeGroupDeleteNodesRequest request;
    request.set_id("lab");
    request.add_nodes()->set_providerid("aliquot://lab/a");
    provider.call<wire::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", request);
    EXPECT_EQ(provider.target(), 1);
    provider.call<wire::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", request);
    EXPECT_EQ(provider.target(), 1);
    request.add_nodes()->set_providerid("aws:///eu/i-1");
    provider.call<wire::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", request,
                                                      rpc::Code::kInvalidArgument);
}

TEST(ExternalGrpc, TellsAMachineThatDoesNotStartAsOutOfStock) {
    Provider provider;
    provider.increase(1);
    for (const Task& task : provider.fleet.fleet.take_tasks())
        provider.fleet.fleet.done(task, "no answer");
    const auto all = provider.instances();
    ASSERT_EQ(all.size(), 1);
    EXPECT_EQ(all[0].status().instancestate(), wire::InstanceStatus::instanceCreating);
    EXPECT_EQ(all[0].status().errorinfo().errorcode(), "StartFailed");
    EXPECT_EQ(all[0].status().errorinfo().instanceerrorclass(), 1);
}

TEST(ExternalGrpc, SaysWhatANodeWillHaveToOldAndNewAutoscalers) {
    Provider provider;
    wire::NodeGroupTemplateNodeInfoRequest request;
    request.set_id("lab");
    const auto answer = provider.call<wire::NodeGroupTemplateNodeInfoResponse>(
        "NodeGroupTemplateNodeInfo", request);
    EXPECT_EQ(answer.nodeinfo(), answer.nodebytes());
    kube::Node node;
    ASSERT_TRUE(node.ParseFromString(answer.nodebytes()));
    EXPECT_EQ(node.status().allocatable().at("nvidia.com/gpu.shared").string(), "4");
    EXPECT_EQ(node.status().allocatable().at("cpu").string(), "7500m");
    EXPECT_EQ(node.status().capacity().at("pods").string(), "110");
    EXPECT_EQ(node.metadata().labels().at("aliquot.dev/pool"), "lab");
    EXPECT_EQ(node.spec().taints(0).effect(), "NoSchedule");
    EXPECT_EQ(node.status().conditions(0).type(), "Ready");
}

TEST(ExternalGrpc, AnswersNoErrorForTheSizeOfAGroupThatIsGone) {
    Provider provider;
    wire::NodeGroupTargetSizeRequest request;
    request.set_id("gone");
    EXPECT_EQ(provider.call<wire::NodeGroupTargetSizeResponse>("NodeGroupTargetSize", request)
                  .targetsize(),
              0);
    const auto found = std::ranges::find_if(
        provider.all, [](const auto& one) { return one.path.ends_with("NodeGroupGetOptions"); });
    EXPECT_EQ(found, provider.all.end())
        << "its answer would take the start time of every group away";
}

}  // namespace
}  // namespace aliquot::node_groups
