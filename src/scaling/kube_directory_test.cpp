// SPDX-License-Identifier: Apache-2.0
#include "scaling/kube_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/front_proxy.h"

namespace aliquot::scaling {
namespace {

constexpr const char* kPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-abc-1",
  "namespace":"ns","uid":"u1","resourceVersion":"7","labels":{"app":"web"},"ownerReferences":[
  {"apiVersion":"v1","kind":"Node","name":"n","uid":"x"},
  {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-abc","uid":"y","controller":true}]},
  "status":{"phase":"Running"}})";

TEST(KubeDirectory, APodIsReadWithItsController) {
    const auto pod = read_pod(kPod);
    ASSERT_TRUE(pod);
    EXPECT_EQ(pod->name, "web-abc-1");
    EXPECT_EQ(pod->uid, "u1");
    EXPECT_EQ(pod->labels.at("app"), "web");
    EXPECT_EQ(pod->controller_kind, "ReplicaSet");
    EXPECT_EQ(pod->controller_name, "web-abc");
}

TEST(KubeDirectory, APodThatHasEndedIsNone) {
    std::string ended = kPod;
    ended.replace(ended.find("Running"), 7, "Failed");
    EXPECT_FALSE(read_pod(ended));
    EXPECT_FALSE(read_pod("no json"));
}

TEST(KubeDirectory, WithoutOneTheReasonIsTold) {
    const NoDirectory none("no kubeconfig");
    const auto visited = none.pods("ns", [](const PodRecord&) {});
    ASSERT_FALSE(visited);
    EXPECT_THAT(visited.error().message, testing::HasSubstr("no kubeconfig"));
}

TEST(FrontProxy, IsReadFromTheClustersConfigMap) {
    const auto authority = read_proxy_authority(
        R"({"data":{"requestheader-client-ca-file":"PEM","requestheader-allowed-names":"[\"front-proxy-client\"]"}})");
    ASSERT_TRUE(authority) << authority.error().message;
    EXPECT_EQ(authority->certificates, "PEM");
    EXPECT_THAT(authority->allowed_names, testing::ElementsAre("front-proxy-client"));
    const auto any = read_proxy_authority(
        R"({"data":{"requestheader-client-ca-file":"PEM","requestheader-allowed-names":"[\"\"]"}})");
    EXPECT_TRUE(any->allowed_names.empty());
}

TEST(FrontProxy, AClusterThatDoesNotSayIsRefused) {
    EXPECT_FALSE(read_proxy_authority(R"({"data":{}})"));
    EXPECT_FALSE(read_proxy_authority(
        R"({"data":{"requestheader-client-ca-file":"PEM","requestheader-allowed-names":"{"}})"));
    EXPECT_FALSE(read_proxy_authority(
        R"({"data":{"requestheader-client-ca-file":"PEM","requestheader-allowed-names":"[[]]"}})"));
}

}  // namespace
}  // namespace aliquot::scaling
