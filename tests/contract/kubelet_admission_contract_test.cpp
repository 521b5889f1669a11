// SPDX-License-Identifier: Apache-2.0
//
// What kubelet does with each answer of a plugin, right or wrong, while it admits a pod; and what
// it tells of the result.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include "api/kubelet/podresources.grpc.pb.h"
#include "tests/contract/kubelet_world.h"
#include "tests/contract/scripted_plugin.h"

namespace aliquot::contract {
namespace {

using grant::Device;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Script = ScriptedPlugin::Script;
using Strings = std::vector<std::string>;

class KubeletAdmission : public KubeletWorld {
protected:
    void serve(const std::vector<Device>& devices, const Script& script = {}) {
        plugin_.script(script);
        plugin_.set_devices(devices);
        ASSERT_TRUE(plugin_.start(plugin_socket()));
        ASSERT_EQ(ScriptedPlugin::register_with(kubelet_socket(), "test.sock"), "");
        ASSERT_TRUE(allocatable(static_cast<unsigned>(devices.size())));
    }
    [[nodiscard]] std::string refusal(const sim::PodRequest& request) const {
        const auto grants = kubelet_->admit(request);
        if (grants) return "";
        EXPECT_EQ(grants.error().code, ErrorCode::kUnavailable);
        return grants.error().message;
    }
    [[nodiscard]] Strings given(const std::string& uid, unsigned count) const {
        const auto grants = kubelet_->admit(pod(uid, count));
        EXPECT_TRUE(grants) << grants.error().message;
        return grants ? grants->at(0).devices.at(kGpu) : Strings{};
    }

    ScriptedPlugin plugin_;
};

// devicesToAllocate: the preference is asked for also when nothing is left to choose.
TEST_F(KubeletAdmission, ThePluginsPreferenceIsFollowed) {
    serve({{"a"}, {"b"}, {"c"}}, {.prefer = [](auto, auto, unsigned) { return Strings{"c"}; }});
    EXPECT_THAT(given("one", 1), ElementsAre("c"));
    EXPECT_THAT(plugin_.seen().last_available, UnorderedElementsAre("a", "b", "c"));
    EXPECT_THAT(plugin_.seen().last_must_include, IsEmpty());
    EXPECT_THAT(given("two", 2), ElementsAre("a", "b"));
    EXPECT_EQ(plugin_.seen().preferences, 2U);
    EXPECT_EQ(plugin_.seen().allocations, 2U);
}

// The options that count are those of GetDevicePluginOptions, not those in RegisterRequest.
TEST_F(KubeletAdmission, WithoutTheOptionNoPreferenceIsAskedFor) {
    serve({{"a"}, {"b"}}, {.preferred_allocation = false});
    EXPECT_EQ(given("one", 1).size(), 1U);
    EXPECT_EQ(plugin_.seen().preferences, 0U);
}

TEST_F(KubeletAdmission, AShortOrForeignPreferenceIsFilledUp) {
    serve({{"a"}, {"b"}, {"c"}}, {.prefer = [](auto, auto, unsigned) { return Strings{"b"}; }});
    const auto three = given("one", 2);
    EXPECT_EQ(three.size(), 2U);
    EXPECT_THAT(three, testing::Contains("b"));
    kubelet_->remove("one");
    plugin_.script({.prefer = [](auto, auto, unsigned) { return Strings{"x", "y", ""}; }});
    EXPECT_EQ(given("two", 2).size(), 2U);
    kubelet_->remove("two");
    plugin_.script({.prefer = [](auto, auto, unsigned) { return Strings{}; }});
    EXPECT_EQ(given("three", 3).size(), 3U);
}

TEST_F(KubeletAdmission, APreferenceForTooManyIsCut) {
    serve({{"a"}, {"b"}, {"c"}}, {.prefer = [](auto all, auto, unsigned) { return all; }});
    EXPECT_EQ(given("one", 1).size(), 1U);
}

// An error where an empty answer would do costs the pod its life.
TEST_F(KubeletAdmission, AnErrorOfThePreferenceEndsThePod) {
    serve({{"a"}}, {.prefer_error = "no topology"});
    EXPECT_EQ(refusal(pod("one", 1)),
              "UnexpectedAdmissionError: Allocate failed due to device plugin "
              "GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = no "
              "topology, which is unexpected");
    EXPECT_THAT(kubelet_->holders(), IsEmpty());
    EXPECT_EQ(plugin_.seen().allocations, 0U);
}

TEST_F(KubeletAdmission, AnErrorOfAllocateEndsThePodAndKeepsNothing) {
    serve({{"a"}, {"b"}}, {.allocate_error = "at most 1"});
    EXPECT_EQ(refusal(pod("one", 1)),
              "UnexpectedAdmissionError: Allocate failed due to rpc error: code = Unknown desc = "
              "at most 1, which is unexpected");
    EXPECT_THAT(kubelet_->holders(), IsEmpty());
    EXPECT_EQ(view().allocated, 0U);
    plugin_.script({});
    EXPECT_EQ(given("two", 2).size(), 2U);
}

// allocateContainerResources: this way out forgets to count allocatedDevices anew.
TEST_F(KubeletAdmission, AnAnswerWithoutContainersLosesTheDevicesUntilAnotherPodEnds) {
    serve({{"a"}, {"b"}, {"c"}});
    ASSERT_TRUE(kubelet_->admit(pod("other", 1)));
    plugin_.script({.answer_nothing = true});
    EXPECT_EQ(refusal(pod("one", 1)),
              "UnexpectedAdmissionError: Allocate failed due to no containers return in allocation "
              "response , which is unexpected");
    EXPECT_EQ(kubelet_->holders().size(), 1U);
    plugin_.script({});
    const auto refused = kubelet_->admit(pod("two", 2));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("Requested: 2, Available: 1"));
    kubelet_->remove("other");
    EXPECT_EQ(given("three", 3).size(), 3U);
}

// One failing container takes all of the pod's with it.
TEST_F(KubeletAdmission, AContainerThatFailsFreesItsPodsOtherContainers) {
    serve({{"a"}, {"b"}});
    auto request = pod("one", 1);
    request.containers.push_back({.name = "greedy", .limits = {{kGpu, 2}}});
    const auto refused = kubelet_->admit(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_THAT(refused.error().message, HasSubstr("Requested: 2, Available: 1"));
    EXPECT_THAT(kubelet_->holders(), IsEmpty());
}

// One Allocate for each container and resource, never several containers in one request.
TEST_F(KubeletAdmission, EveryContainerIsAllocatedByItself) {
    serve({{"a"}, {"b"}, {"c"}});
    auto request = pod("one", 1);
    request.containers.push_back({.name = "second", .limits = {{kGpu, 2}}});
    request.containers.push_back({.name = "without", .limits = {}});
    const auto grants = kubelet_->admit(request);
    ASSERT_TRUE(grants) << grants.error().message;
    EXPECT_EQ(plugin_.seen().allocations, 2U);
    EXPECT_EQ(grants->at(0).devices.at(kGpu).size(), 1U);
    EXPECT_EQ(grants->at(1).devices.at(kGpu).size(), 2U);
    EXPECT_THAT(grants->at(2).devices, IsEmpty());
}

// must_include: what the init container left is in `available` too, and stays chosen.
TEST_F(KubeletAdmission, ReusedDevicesMustBeIncluded) {
    serve({{"a"}, {"b"}}, {.prefer = [](auto, auto, unsigned) { return Strings{"b"}; }});
    auto request = pod("one", 2);
    request.init_containers = {{.name = "prepare", .limits = {{kGpu, 1}}}};
    const auto grants = kubelet_->admit(request);
    ASSERT_TRUE(grants) << grants.error().message;
    EXPECT_THAT(plugin_.seen().last_must_include, ElementsAre("b"));
    EXPECT_THAT(plugin_.seen().last_available, UnorderedElementsAre("a", "b"));
    EXPECT_THAT(grants->at(1).devices.at(kGpu), ElementsAre("a", "b"));
    EXPECT_EQ(kubelet_->holders().at("b"), "one/main");
}

// deviceRunContainerOptions: of equal names the first resource wins, and CDI names are united.
TEST_F(KubeletAdmission, AnswersForSeveralResourcesAreMerged) {
    grant::Grant gpu;
    gpu.environment = {{"SAME", "gpu"}, {"GPU", "1"}};
    gpu.mounts = {{.container_path = "/same", .host_path = "/gpu"}};
    gpu.cdi_devices = {"vendor/class=a", "vendor/class=b"};
    serve({{"a"}}, {.grant = gpu});
    grant::Grant net = gpu;
    net.environment = {{"SAME", "net"}, {"NET", "1"}};
    net.mounts = {{.container_path = "/same", .host_path = "/net"}};
    net.cdi_devices = {"vendor/class=b"};
    ScriptedPlugin other;
    other.script({.grant = net});
    other.set_devices({{"n"}});
    ASSERT_TRUE(other.start(path(kDirectory + "/net.sock"), "example.com/net"));
    ASSERT_EQ(ScriptedPlugin::register_with(kubelet_socket(), "net.sock", "example.com/net"), "");
    ASSERT_TRUE(allocatable(1, "example.com/net"));

    auto request = pod("one", 1);
    request.containers[0].limits["example.com/net"] = 1;
    const auto grants = kubelet_->admit(request);
    ASSERT_TRUE(grants) << grants.error().message;
    const auto& grant = grants->at(0).grant;
    EXPECT_EQ(grants->at(0).devices.size(), 2U);
    EXPECT_TRUE(grant.environment.contains("GPU") && grant.environment.contains("NET"));
    EXPECT_THAT(grant.environment.at("SAME"), testing::AnyOf("gpu", "net"));
    ASSERT_EQ(grant.mounts.size(), 1U);
    EXPECT_THAT(grant.cdi_devices, UnorderedElementsAre("vendor/class=a", "vendor/class=b"));
}

// PreStartContainer: at every start, only when asked for, and a refusal ends no pod.
TEST_F(KubeletAdmission, ThePluginSeesEveryStartOfAContainerIfItWants) {
    serve({{"a"}}, {.pre_start_required = true, .pre_start_error = "not reset yet"});
    ASSERT_TRUE(kubelet_->admit(pod("one", 1)));
    EXPECT_EQ(plugin_.seen().pre_starts, 0U);
    const auto refused = kubelet_->start_container("one", "main");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc "
              "= not reset yet");
    plugin_.script({.pre_start_required = true});
    const auto started = kubelet_->start_container("one", "main");
    ASSERT_TRUE(started) << started.error().message;
    EXPECT_EQ(started->grant.environment.at("DEVICES"), "a;");
    EXPECT_EQ(plugin_.seen().pre_starts, 2U);
    EXPECT_EQ(plugin_.seen().allocations, 1U);
    EXPECT_FALSE(kubelet_->start_container("one", "other"));
}

TEST_F(KubeletAdmission, UnknownResourcesAreRefused) {
    EXPECT_THAT(refusal(pod("one", 1)), HasSubstr("cannot allocate unregistered device"));
}

TEST_F(KubeletAdmission, AStoppedPluginIsNotAsked) {
    serve({{"a"}});
    plugin_.stop();
    ASSERT_TRUE(allocatable(0));
    EXPECT_THAT(refusal(pod("one", 1)), HasSubstr("no healthy devices present"));
}

TEST_F(KubeletAdmission, APodThatAsksForMoreAfterARestartIsRefusedAndLivesOn) {
    serve({{"a"}, {"b"}});
    ASSERT_TRUE(kubelet_->admit(pod("one", 1)));
    ASSERT_TRUE(kubelet_->restart());
    EXPECT_THAT(refusal(pod("one", 2)),
                HasSubstr("changed request for resource \"nvidia.com/gpu\" from 1 to 2"));
    EXPECT_EQ(kubelet_->holders().size(), 1U);
}

// UpdateAllocatedDevices: what only the checkpoint knows is dropped once all pods are known.
TEST_F(KubeletAdmission, PodsThatEndedWhileKubeletWasAwayAreFreed) {
    serve({{"a"}, {"b"}, {"c"}});
    ASSERT_TRUE(kubelet_->admit(pod("one", 1)));
    ASSERT_TRUE(kubelet_->admit(pod("two", 1)));
    kubelet_->stop();
    kubelet_->remove("one");
    ASSERT_TRUE(kubelet_->start());
    EXPECT_EQ(kubelet_->holders().size(), 1U);
    make_kubelet();  // another process: nothing is known but the checkpoint
    EXPECT_EQ(kubelet_->holders().size(), 1U);
    kubelet_->forget_unknown_pods();
    EXPECT_THAT(kubelet_->holders(), IsEmpty());
}

class PodResources : public KubeletAdmission {
protected:
    std::unique_ptr<v1::PodResourcesLister::Stub> stub() {
        return v1::PodResourcesLister::NewStub(grpc::CreateChannel(
            "unix:" + path(options_.pod_resources_socket), grpc::InsecureChannelCredentials()));
    }
};

// containerDevicesFromResourceDeviceInstances: an entry per device and NUMA node. No init
// containers, no order.
TEST_F(PodResources, ListsEveryDeviceByItself) {
    serve({{"a", true, 0}, {"b"}, {"c"}});
    auto request = pod("one", 3);
    request.init_containers = {{.name = "prepare", .limits = {{kGpu, 1}}}};
    request.containers.push_back({.name = "without", .limits = {}});
    ASSERT_TRUE(kubelet_->admit(request));
    grpc::ClientContext context;
    v1::ListPodResourcesResponse list;
    ASSERT_TRUE(stub()->List(&context, {}, &list).ok());
    ASSERT_EQ(list.pod_resources_size(), 1);
    const auto& listed = list.pod_resources(0);
    EXPECT_EQ(listed.name(), "one");
    EXPECT_EQ(listed.namespace_(), "default");
    ASSERT_EQ(listed.containers_size(), 2);
    EXPECT_EQ(listed.containers(1).devices_size(), 0);
    Strings ids;
    for (const auto& device : listed.containers(0).devices()) {
        ASSERT_EQ(device.device_ids_size(), 1);
        ids.push_back(device.device_ids(0));
        EXPECT_EQ(device.has_topology(), device.device_ids(0) == "a");
    }
    EXPECT_THAT(ids, UnorderedElementsAre("a", "b", "c"));
}

TEST_F(PodResources, AllocatableAreTheHealthyDevicesNotTheFreeOnes) {
    serve({{"a"}, {"b"}});
    ASSERT_TRUE(kubelet_->admit(pod("one", 1)));
    plugin_.set_devices({{"a"}, {"b"}, {"c", false}});
    ASSERT_TRUE(plugin_.wait([](const auto& seen) { return seen.streams == 1; }));
    grpc::ClientContext context;
    v1::AllocatableResourcesResponse answer;
    ASSERT_TRUE(stub()->GetAllocatableResources(&context, {}, &answer).ok());
    EXPECT_EQ(answer.devices_size(), 2);
}

TEST_F(PodResources, GetTellsOfOnePodOrThatThereIsNone) {
    serve({{"a"}});
    ASSERT_TRUE(kubelet_->admit(pod("one", 1)));
    v1::GetPodResourcesRequest request;
    request.set_pod_name("one");
    request.set_pod_namespace("default");
    grpc::ClientContext context;
    v1::GetPodResourcesResponse answer;
    ASSERT_TRUE(stub()->Get(&context, request, &answer).ok());
    EXPECT_EQ(answer.pod_resources().containers(0).devices_size(), 1);
    request.set_pod_namespace("other");
    grpc::ClientContext again;
    const auto status = stub()->Get(&again, request, &answer);
    EXPECT_EQ(status.error_message(), "pod one in namespace other not found");
}

TEST_F(PodResources, TooManyCallsOfAllClientsTogetherAreRejected) {
    options_.pod_resources_qps = 0.001;
    options_.pod_resources_burst = 3;
    make_kubelet();
    unsigned good = 0;
    for (int i = 0; i < 5; ++i) {
        grpc::ClientContext context;
        v1::ListPodResourcesResponse list;
        const auto status = stub()->List(&context, {}, &list);
        if (status.ok()) {
            ++good;
            continue;
        }
        EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
        EXPECT_EQ(status.error_message(), "rejected by rate limit");
    }
    EXPECT_EQ(good, 3U);
}

}  // namespace
}  // namespace aliquot::contract
