// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/claim_control.h"

#include <gtest/gtest.h>

#include "document/json.h"
#include "document/path.h"

namespace aliquot::sim::cluster {
namespace {

constexpr std::string_view kObjects = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  extendedResourceName: example.com/gpu
  selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-a}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    allowMultipleAllocations: true
    attributes: {uuid: {string: GPU-0}}
    capacity:
      memory: {value: 8Gi, requestPolicy: {default: 8Gi, validRange: {min: 256Mi, max: 8Gi, step: 256Mi}}}
      compute: {value: "100", requestPolicy: {default: "100", validRange: {min: "0", max: "100", step: "1"}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: share}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
          capacity: {requests: {memory: 3Gi, compute: "25"}}
)";

class ClaimControlTest : public testing::Test {
protected:
    void SetUp() override {
        auto started = ApiServer::start({.https_address = ""});
        ASSERT_TRUE(started);
        api = *std::move(started);
        const auto applied = api->apply(kObjects);
        ASSERT_TRUE(applied) << applied.error().message;
        control.emplace(*api, "n1", k8s::Labels{});
    }
    static PodTemplate pod_of(std::vector<PodClaim> claims, std::vector<ContainerClaim> uses) {
        PodTemplate pod;
        Container container;
        container.name = "main";
        container.image = "none";
        container.claims = std::move(uses);
        pod.containers.push_back(std::move(container));
        pod.claims = std::move(claims);
        return pod;
    }
    document::Value claims_now() {
        auto read = document::parse_json(
            api->request("GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims").body);
        return read ? *read : document::Value{};
    }
    std::size_t claim_count() { return document::items_at(claims_now(), {"items"}).size(); }

    std::unique_ptr<ApiServer> api;
    std::optional<ClaimControl> control;
    const PodTemplate share = pod_of({{"gpu", "", "share"}}, {{"gpu", ""}});
};

TEST_F(ClaimControlTest, AClaimIsMadeFromTheTemplateAllocatedAndReserved) {
    EXPECT_TRUE(control->has_devices());
    const auto bound = control->bind("default", "job", share);
    ASSERT_TRUE(bound) << bound.error().message;
    ASSERT_EQ(bound->devices.size(), 1U);
    EXPECT_EQ(bound->devices[0].gpu, "GPU-0");
    EXPECT_EQ(bound->devices[0].text, "3Gi, 25 %");
    EXPECT_EQ(bound->claims.at("gpu").drivers, std::vector<std::string>{"gpu.example.com"});
    const auto stored = claims_now();
    const auto& claim = document::items_at(stored, {"items"}).front();
    EXPECT_TRUE(document::text_at(claim, "metadata.name").starts_with("job-gpu-"));
    EXPECT_EQ(document::text_at(claim, "status.reservedFor.0.uid"), bound->pod_uid);
    EXPECT_EQ(document::text_at(claim, "status.allocation.devices.results.0.device"), "gpu-0");

    const auto again = control->bind("default", "job", share);
    ASSERT_TRUE(again);
    EXPECT_EQ(claim_count(), 1U);
    control->release("default", "job");
    EXPECT_EQ(claim_count(), 0U);
}

TEST_F(ClaimControlTest, APodWaitsUntilThereIsRoom) {
    ASSERT_TRUE(control->bind("default", "a", share));
    ASSERT_TRUE(control->bind("default", "b", share));
    const auto third = control->bind("default", "c", share);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::kConflict);
    EXPECT_NE(third.error().message.find("capacity memory: the claim takes 3Gi, 2Gi of 8Gi left"),
              std::string::npos)
        << third.error().message;
    control->release("default", "a");
    EXPECT_TRUE(control->bind("default", "c", share));
}

TEST_F(ClaimControlTest, AClaimOfSeveralPodsStaysUntilTheLast) {
    ASSERT_TRUE(
        api->apply("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: both}\n"
                   "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: "
                   "gpu.example.com}}]}}\n"));
    const PodTemplate user = pod_of({{"gpu", "both", ""}}, {{"gpu", ""}});
    ASSERT_TRUE(control->bind("default", "a", user));
    ASSERT_TRUE(control->bind("default", "b", user));
    control->release("default", "a");
    EXPECT_FALSE(control->bind("default", "other", share));
    control->release("default", "b");
    EXPECT_TRUE(control->bind("default", "other", share));
    EXPECT_EQ(claim_count(), 2U);
}

TEST_F(ClaimControlTest, AnExtendedResourceIsServedByItsClass) {
    PodTemplate pod = pod_of({}, {});
    pod.containers[0].devices["example.com/gpu"] = 1;
    EXPECT_TRUE(control->serves("example.com/gpu"));
    EXPECT_FALSE(control->serves("nvidia.com/gpu"));
    const auto bound = control->bind("default", "old", pod);
    ASSERT_TRUE(bound) << bound.error().message;
    EXPECT_EQ(bound->devices[0].text, "8Gi, 100 %");
    EXPECT_EQ(bound->requests_of_container.at("main"),
              std::vector<std::string>{"container-0-request-0"});
    EXPECT_FALSE(control->bind("default", "job", share));
}

TEST_F(ClaimControlTest, WhatIsNotThereIsNamed) {
    const auto bound = control->bind("default", "job", pod_of({{"gpu", "", "none"}}, {}));
    ASSERT_FALSE(bound);
    EXPECT_NE(bound.error().message.find("waiting for ResourceClaimTemplate none"),
              std::string::npos);
}

}  // namespace
}  // namespace aliquot::sim::cluster
