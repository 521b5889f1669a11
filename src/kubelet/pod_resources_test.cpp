// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod_resources.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "api/kubelet/podresources.grpc.pb.h"
#include "os/temporary_directory.h"

namespace aliquot::kubelet {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

constexpr milliseconds kTimeout{10'000};

void hold(v1::ContainerResources& container, const std::string& resource, const std::string& id,
          std::int64_t node) {
    auto& devices = *container.add_devices();
    devices.set_resource_name(resource);
    devices.add_device_ids(id);
    devices.mutable_topology()->add_nodes()->set_id(node);
}

class Lister final : public v1::PodResourcesLister::Service {
public:
    grpc::Status List(grpc::ServerContext* context, const v1::ListPodResourcesRequest* /*request*/,
                      v1::ListPodResourcesResponse* response) override {
        if (hang) {
            std::unique_lock lock(mutex);
            released.wait(lock, [&] { return !hang || context->IsCancelled(); });
        }
        *response = list;
        return status;
    }
    grpc::Status GetAllocatableResources(grpc::ServerContext* /*context*/,
                                         const v1::AllocatableResourcesRequest* /*request*/,
                                         v1::AllocatableResourcesResponse* response) override {
        *response = allocatable;
        return status;
    }

    v1::ListPodResourcesResponse list;
    v1::AllocatableResourcesResponse allocatable;
    grpc::Status status;
    bool hang = false;
    std::mutex mutex;
    std::condition_variable released;
};

class PodResourcesTest : public testing::Test {
protected:
    void serve() {
        grpc::ServerBuilder builder;
        builder.AddListeningPort("unix:" + (temporary_.path() / "kubelet.sock").native(),
                                 grpc::InsecureServerCredentials());
        builder.RegisterService(&lister_);
        server_ = builder.BuildAndStart();
    }

    os::TemporaryDirectory temporary_;
    os::Root root_{temporary_.path()};
    Lister lister_;
    std::unique_ptr<grpc::Server> server_;
    PodResources client_{root_, "/kubelet.sock"};
};

TEST_F(PodResourcesTest, ListsWhoHoldsWhatSortedAndEachDeviceOnce) {
    auto& pod = *lister_.list.add_pod_resources();
    pod.set_namespace_("team-b");
    pod.set_name("train");
    auto& worker = *pod.add_containers();
    worker.set_name("worker");
    hold(worker, "nvidia.com/gpu", "GPU-b::1", 0);
    hold(worker, "nvidia.com/gpu", "GPU-a::0", 0);
    hold(worker, "nvidia.com/gpu", "GPU-a::0", 1);  // the same device on a second NUMA node
    pod.add_containers()->set_name("sidecar");      // holds nothing
    auto& other = *lister_.list.add_pod_resources();
    other.set_namespace_("team-a");
    other.set_name("serve");
    auto& server = *other.add_containers();
    server.set_name("main");
    hold(server, "nvidia.com/gpu.shared", "GPU-c::0", 0);
    serve();

    const auto holders = client_.list(kTimeout);
    ASSERT_TRUE(holders) << holders.error().message;
    EXPECT_THAT(
        *holders,
        ElementsAre(
            Holder{"team-a", "serve", "main", "nvidia.com/gpu.shared", {"GPU-c::0"}},
            Holder{"team-b", "train", "worker", "nvidia.com/gpu", {"GPU-a::0", "GPU-b::1"}}));
}

TEST_F(PodResourcesTest, ListsTheAllocatableDevicesOfAllResources) {
    for (const auto* id : {"GPU-b", "GPU-a", "GPU-a"}) {
        auto& devices = *lister_.allocatable.add_devices();
        devices.set_resource_name("nvidia.com/gpu");
        devices.add_device_ids(id);
    }
    auto& others = *lister_.allocatable.add_devices();
    others.set_resource_name("other.com/nic");
    others.add_device_ids("NIC-0");
    serve();
    const auto ids = client_.allocatable(kTimeout);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_THAT(*ids, ElementsAre("GPU-a", "GPU-b", "NIC-0"));
}

TEST_F(PodResourcesTest, TakesAnAnswerAboveGrpcsDefaultLimit) {
    auto& pod = *lister_.list.add_pod_resources();
    pod.set_name("big");
    auto& container = *pod.add_containers();
    container.set_name("main");
    for (int i = 0; i < 100'000; ++i)
        hold(container, "nvidia.com/gpu",
             "GPU-00000000-0000-0000-0000-000000000000::" + std::to_string(i), 0);
    ASSERT_GT(lister_.list.ByteSizeLong(), 4U << 20);
    serve();
    const auto holders = client_.list(kTimeout);
    ASSERT_TRUE(holders) << holders.error().message;
    EXPECT_EQ(holders->at(0).ids.size(), 100'000U);
}

TEST_F(PodResourcesTest, IsUnavailableWithoutKubeletAndWorksAfterIt) {
    const auto nobody = client_.list(kTimeout);
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(nobody.error().message, testing::HasSubstr("kubelet.sock"));
    for (int restart = 0; restart < 3; ++restart) {
        serve();
        EXPECT_TRUE(client_.list(kTimeout));
        server_->Shutdown();
        server_.reset();
        EXPECT_FALSE(client_.list(kTimeout));
    }
}

TEST_F(PodResourcesTest, IsUnavailableWhenKubeletLimitsTheRate) {
    lister_.status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"};
    serve();
    const auto holders = client_.list(kTimeout);
    ASSERT_FALSE(holders);
    EXPECT_EQ(holders.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(holders.error().message, testing::HasSubstr("rejected by rate limit"));
}

TEST_F(PodResourcesTest, GivesUpAfterItsTimeout) {
    lister_.hang = true;
    serve();
    const auto holders = client_.list(milliseconds(30));
    {
        const std::scoped_lock lock(lister_.mutex);
        lister_.hang = false;
    }
    lister_.released.notify_all();
    ASSERT_FALSE(holders);
    EXPECT_EQ(holders.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace aliquot::kubelet
