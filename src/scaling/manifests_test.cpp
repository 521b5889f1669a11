// SPDX-License-Identifier: Apache-2.0
#include "scaling/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/yaml.h"

namespace aliquot::scaling {
namespace {

/// "Kind/name" of all documents.
std::vector<std::string> objects(const std::string& text) {
    const auto stream = document::parse_yaml(text);
    EXPECT_TRUE(stream.errors.empty());
    std::vector<std::string> names;
    for (const document::Value& node : stream.documents) {
        if (!node.is_mapping()) continue;  // a remark only
        names.push_back(node.find("kind")->scalar + "/" +
                        node.find("metadata")->find("name")->scalar);
    }
    return names;
}

TEST(Manifests, AreAllThatTheClusterNeeds) {
    const auto text = manifests({.image = "registry.example:5000/aliquot@sha256:0a"});
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(
        objects(*text),
        testing::ElementsAre(
            "ServiceAccount/aliquot-metrics-api", "ClusterRole/aliquot-metrics-api",
            "ClusterRoleBinding/aliquot-metrics-api", "RoleBinding/aliquot-metrics-api",
            "ClusterRole/aliquot-metrics-reader", "ClusterRoleBinding/aliquot-metrics-reader",
            "Service/aliquot-agents", "Service/aliquot-metrics-api", "Secret/aliquot-metrics-api",
            "Deployment/aliquot-metrics-api", "PodDisruptionBudget/aliquot-metrics-api",
            "APIService/v1beta2.custom.metrics.k8s.io", "APIService/v1beta1.custom.metrics.k8s.io",
            "APIService/v1beta1.external.metrics.k8s.io"));
    EXPECT_FALSE(text->contains('@' + std::string("NAME")));
    EXPECT_TRUE(text->contains("caBundle: "));
    EXPECT_FALSE(text->contains("insecureSkipTLSVerify"));
}

TEST(Manifests, WithoutACertificateNobodyChecksIt) {
    const auto text = manifests({.with_certificate = false});
    EXPECT_FALSE(text->contains("kind: Secret"));
    EXPECT_FALSE(text->contains("--tls-cert-file"));
    EXPECT_TRUE(text->contains("insecureSkipTLSVerify: true"));
}

TEST(Manifests, WhatSomebodyElseServesIsLeftOut) {
    const auto text = manifests({.taken = {"v1beta1.external.metrics.k8s.io"}});
    EXPECT_FALSE(text->contains("name: v1beta1.external.metrics.k8s.io"));
    EXPECT_TRUE(text->contains("# v1beta1.external.metrics.k8s.io is not here"));
    const auto& names = api_service_names();
    EXPECT_FALSE(manifests({.taken = {names.begin(), names.end()}}));
}

TEST(Manifests, NamesThatAreNoneAreRefused) {
    EXPECT_FALSE(manifests({.namespace_name = "a b"}));
    EXPECT_FALSE(manifests({.namespace_name = ""}));
    EXPECT_FALSE(manifests({.image = "a\n- --evil"}));
    EXPECT_FALSE(manifests({.image = "\"a"}));
}

TEST(Manifests, TheOwnerOfAnApiServiceIsItsService) {
    EXPECT_EQ(
        api_service_owner(R"({"spec":{"service":{"name":"keda","namespace":"keda-system"}}})"),
        "keda-system/keda");
    EXPECT_EQ(api_service_owner(R"({"spec":{"group":"apps"}})"), "");
}

}  // namespace
}  // namespace aliquot::scaling
