// SPDX-License-Identifier: Apache-2.0
#include "k8s/volume.h"

#include <gmock/gmock.h>

#include "document/json.h"

namespace aliquot::k8s {
namespace {

TEST(Volume, AClaimSaysItsVolumeOrItsClass) {
    const auto claim = parse_volume_claim(R"({"metadata":{"namespace":"a","name":"data",
      "annotations":{"volume.kubernetes.io/selected-node":"n1"}},
      "spec":{"volumeName":"pv1","storageClassName":"fast","accessModes":["ReadWriteOnce"],
              "resources":{"requests":{"storage":"1Gi"}}}})");
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->volume, "pv1");
    EXPECT_EQ(claim->storage_class, "fast");
    EXPECT_EQ(claim->selected_node, "n1");
    EXPECT_EQ(claim->bytes, 1U << 30U);
    EXPECT_THAT(claim->access_modes, testing::ElementsAre("ReadWriteOnce"));
    EXPECT_FALSE(parse_volume_claim("{}"));
    EXPECT_FALSE(parse_volume_claim("["));
}

TEST(Volume, AVolumeSaysItsNodesAndWhoseItIs) {
    const auto volume = parse_persistent_volume(R"({"metadata":{"name":"pv1"},"spec":{
      "capacity":{"storage":"2Gi"},"claimRef":{"namespace":"a","name":"data"},
      "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
        {"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}}},
      "status":{"phase":"Bound"}})");
    ASSERT_TRUE(volume);
    EXPECT_EQ(volume->claim, "a/data");
    EXPECT_FALSE(volume->is_available);
    ASSERT_EQ(volume->nodes.size(), 1U);
    EXPECT_TRUE(volume->nodes[0].matches("x", {{"kubernetes.io/hostname", "n1"}}));
}

TEST(Volume, AClassSaysWhenAndWhereItMakesVolumes) {
    const auto made = parse_storage_class(R"({"metadata":{"name":"local"},
      "provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer",
      "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}]})");
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->waits_for_pod);
    EXPECT_TRUE(made->makes_none);
    ASSERT_EQ(made->topologies.size(), 1U);
    EXPECT_TRUE(made->topologies[0].matches("n", {{"zone", "b"}}));
    EXPECT_FALSE(made->topologies[0].matches("n", {{"zone", "c"}}));
}

TEST(Volume, EphemeralVolumesHaveAClaimOfTheirOwn) {
    const auto spec = document::parse_json(R"({"volumes":[{"name":"a","emptyDir":{}},
      {"name":"b","persistentVolumeClaim":{"claimName":"data"}},
      {"name":"scratch","ephemeral":{"volumeClaimTemplate":{"spec":{}}}}]})");
    ASSERT_TRUE(spec);
    EXPECT_THAT(claims_of(*spec, "pod"), testing::ElementsAre("data", "pod-scratch"));
}

}  // namespace
}  // namespace aliquot::k8s
