// SPDX-License-Identifier: Apache-2.0
#include "scaling/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/yaml.h"
#include "scaling/test_world.h"

namespace aliquot::scaling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kV2 = "/apis/custom.metrics.k8s.io/v1beta2/";
constexpr const char* kV1 = "/apis/custom.metrics.k8s.io/v1beta1/";
constexpr const char* kExternal = "/apis/external.metrics.k8s.io/v1beta1/";

/// Two pods of a deployment, one of somebody else.
class Answers : public testing::Test {
protected:
    Answers() {
        for (int i = 0; i <= 6; ++i) {
            const auto used = static_cast<std::uint64_t>(i) * 1'000'000'000;
            std::vector<telemetry::Tenant> tenants{tenant("vision-1", 250'000, used * 10 / 4),
                                                   tenant("vision-2", 250'000, used),
                                                   tenant("other", 500'000, 0)};
            recent.add(snapshot(i * 10, tenants), after(i * 10));
        }
        pods.records = {{.name = "vision-1",
                         .uid = "uid-vision-1",
                         .labels = {{"app", "vision"}, {"pod-template-hash", "abc"}},
                         .controller_kind = "ReplicaSet",
                         .controller_name = "vision-abc"},
                        {.name = "vision-2",
                         .uid = "uid-vision-2",
                         .labels = {{"app", "vision"}, {"pod-template-hash", "abc"}},
                         .controller_kind = "ReplicaSet",
                         .controller_name = "vision-abc"},
                        {.name = "other", .uid = "uid-other", .labels = {{"app", "other"}}}};
    }
    ApiAnswer ask(const std::string& path, const std::string& selector = "",
                  const std::string& metric_selector = "") {
        return answer({.path = path,
                       .label_selector = selector,
                       .metric_label_selector = metric_selector,
                       .now = after(60)},
                      recent, pods);
    }
    document::Value json(const std::string& path, const std::string& selector = "") {
        const ApiAnswer got = ask(path, selector);
        EXPECT_EQ(got.status, 200) << got.body;
        return document::parse_yaml(got.body).documents.at(0);
    }
    /// "name=value" of each item.
    std::vector<std::string> values(const std::string& path, const std::string& selector = "") {
        std::vector<std::string> list;
        const document::Value root = json(path, selector);
        for (const document::Value& item : root.find("items")->items) {
            list.push_back(item.find("describedObject")->find("name")->scalar + "=" +
                           item.find("value")->scalar);
        }
        return list;
    }
    RecentMetrics recent;
    ListedPods pods;
};

TEST_F(Answers, PodsThatASelectorNames) {
    EXPECT_THAT(
        values(std::string(kV2) + "namespaces/ns/pods/*/gpu_share_utilization", "app=vision"),
        ElementsAre("vision-1=100", "vision-2=40"));
    EXPECT_THAT(values(std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization"),
                ElementsAre("other=0", "vision-1=25", "vision-2=10"));
    EXPECT_THAT(values(std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization", "app=none"),
                ElementsAre());
    EXPECT_THAT(values(std::string(kV2) + "namespaces/else/pods/*/gpu_utilization"), ElementsAre());
}

TEST_F(Answers, OnePodAsTheServerOfKubernetesWritesIt) {
    const ApiAnswer got = ask(std::string(kV2) + "namespaces/ns/pods/vision-1/gpu_utilization");
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, R"({
  "kind": "MetricValueList",
  "apiVersion": "custom.metrics.k8s.io/v1beta2",
  "metadata": {},
  "items": [
    {
      "describedObject": {
        "kind": "Pod",
        "namespace": "ns",
        "name": "vision-1",
        "apiVersion": "/v1"
      },
      "metric": {
        "name": "gpu_utilization",
        "selector": null
      },
      "timestamp": "2019-12-20T00:01:00Z",
      "windowSeconds": 60,
      "value": "25"
    }
  ]
})");
}

TEST_F(Answers, TheOlderVersionHasOlderNames) {
    const document::Value root =
        json(std::string(kV1) + "namespaces/ns/pods/vision-1/gpu_utilization");
    EXPECT_EQ(root.find("apiVersion")->scalar, "custom.metrics.k8s.io/v1beta1");
    const document::Value& item = root.find("items")->items.at(0);
    EXPECT_EQ(item.find("metricName")->scalar, "gpu_utilization");
    EXPECT_EQ(item.find("window")->scalar, "60");
    EXPECT_EQ(item.find("metric"), nullptr);
    EXPECT_EQ(item.find("windowSeconds"), nullptr);
}

TEST_F(Answers, WhatIsNotThereIsAStatus) {
    const ApiAnswer pod = ask(std::string(kV2) + "namespaces/ns/pods/none/gpu_utilization");
    EXPECT_EQ(pod.status, 404);
    const document::Value status = document::parse_yaml(pod.body).documents.at(0);
    EXPECT_EQ(status.find("kind")->scalar, "Status");
    EXPECT_EQ(status.find("reason")->scalar, "NotFound");
    EXPECT_EQ(status.find("code")->scalar, "404");
    EXPECT_EQ(status.find("message")->scalar,
              "the server could not find the metric gpu_utilization for pods none");
    const ApiAnswer metric = ask(std::string(kV2) + "namespaces/ns/pods/*/gpu_heat", "app=vision");
    EXPECT_EQ(metric.status, 404);
    EXPECT_THAT(metric.body, HasSubstr("gpu_share_utilization"));
    for (const char* path :
         {"/", "/apis", "/openapi/v2", "/apis/other/v1", "/apis/custom.metrics.k8s.io/v1",
          "/apis/external.metrics.k8s.io/v1beta2", "/apis/custom.metrics.k8s.io/v1beta2/namespaces",
          "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns/pods/a/b/c"}) {
        EXPECT_EQ(ask(path).status, 404) << path;
    }
}

TEST_F(Answers, ABadSelectorIsABadRequest) {
    EXPECT_EQ(ask(std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization", "a in b").status, 400);
    EXPECT_EQ(ask(std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization", "", "=").status, 400);
}

TEST_F(Answers, WithoutTheApiServerOnlyLabelsAreMissing) {
    pods.problem = "no way to the API server";
    const ApiAnswer by_label =
        ask(std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization", "app=a");
    EXPECT_EQ(by_label.status, 503);
    EXPECT_THAT(by_label.body, HasSubstr("no way to the API server"));
    EXPECT_THAT(values(std::string(kV2) + "namespaces/ns/pods/vision-2/gpu_utilization"),
                ElementsAre("vision-2=10"));
    EXPECT_EQ(values(std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization").size(), 3U);
}

TEST_F(Answers, APodThatWasMadeAnewIsNotTheOldOne) {
    pods.records[0].uid = "uid-of-the-next-one";
    EXPECT_THAT(values(std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization", "app=vision"),
                ElementsAre("vision-2=10"));
}

TEST_F(Answers, APodThatTheAgentKnowsByUidOnlyGetsItsName) {
    RecentMetrics by_uid;
    for (int i = 0; i <= 6; ++i) {
        telemetry::Tenant one =
            tenant("vision-1", 250'000, static_cast<std::uint64_t>(i) * 1'000'000'000);
        one.owner.pod.clear();
        one.owner.pod_namespace.clear();
        by_uid.add(snapshot(i * 10, {one}), after(i * 10));
    }
    const ApiAnswer got = answer({.path = std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization",
                                  .label_selector = "app=vision",
                                  .now = after(60)},
                                 by_uid, pods);
    EXPECT_THAT(got.body, HasSubstr("\"name\": \"vision-1\""));
    EXPECT_THAT(got.body, HasSubstr("\"value\": \"10\""));
}

TEST_F(Answers, AWorkloadANamespaceAndANodeAreOneValue) {
    EXPECT_THAT(
        values(std::string(kV2) + "namespaces/ns/deployments.apps/vision/gpu_share_utilization"),
        ElementsAre("vision=70"));
    EXPECT_THAT(
        values(std::string(kV2) + "namespaces/ns/replicasets.apps/vision-abc/gpu_utilization"),
        ElementsAre("vision-abc=17500m"));
    EXPECT_THAT(values(std::string(kV2) + "namespaces/ns/metrics/gpu_utilization"),
                ElementsAre("ns=11666m"));
    EXPECT_EQ(ask(std::string(kV2) + "namespaces/ns/deployments.apps/none/gpu_utilization").status,
              404);
    EXPECT_EQ(ask(std::string(kV2) + "namespaces/ns/services/web/gpu_utilization").status, 404);
    EXPECT_EQ(ask(std::string(kV2) + "nodes/node-2/gpu_utilization").status, 404);
}

TEST_F(Answers, TheMetricsOwnSelectorIsTheNode) {
    const std::string path = std::string(kV2) + "namespaces/ns/pods/*/gpu_utilization";
    EXPECT_THAT(ask(path, "", "node=node-2").body, HasSubstr("\"items\": []"));
    EXPECT_THAT(ask(path, "", "node=node-1").body, HasSubstr("\"matchExpressions\""));
}

TEST_F(Answers, ExternalMetricsHaveThePodsLabels) {
    const document::Value root = json(
        std::string(kExternal) + "namespaces/ns/gpu_share_utilization", "app=vision,pod!=vision-2");
    EXPECT_EQ(root.find("kind")->scalar, "ExternalMetricValueList");
    ASSERT_EQ(root.find("items")->items.size(), 1U);
    const document::Value& item = root.find("items")->items[0];
    EXPECT_EQ(item.find("metricName")->scalar, "gpu_share_utilization");
    EXPECT_EQ(item.find("metricLabels")->find("pod")->scalar, "vision-1");
    EXPECT_EQ(item.find("metricLabels")->find("node")->scalar, "node-1");
    EXPECT_EQ(item.find("metricLabels")->find("app")->scalar, "vision");
    EXPECT_EQ(item.find("value")->scalar, "100");
    EXPECT_EQ(item.find("window")->scalar, "60");
}

TEST_F(Answers, DiscoveryNamesGroupVersionsAndMetrics) {
    const document::Value group = json("/apis/custom.metrics.k8s.io");
    EXPECT_EQ(group.find("preferredVersion")->find("version")->scalar, "v1beta2");
    EXPECT_EQ(group.find("versions")->items.size(), 2U);
    const document::Value list = json("/apis/custom.metrics.k8s.io/v1beta2");
    EXPECT_EQ(list.find("groupVersion")->scalar, "custom.metrics.k8s.io/v1beta2");
    bool found = false;
    for (const document::Value& resource : list.find("resources")->items) {
        EXPECT_EQ(resource.find("kind")->scalar, "MetricValueList");
        found = found || resource.find("name")->scalar == "pods/gpu_share_utilization";
    }
    EXPECT_TRUE(found);
    const document::Value external = json("/apis/external.metrics.k8s.io/v1beta1");
    EXPECT_EQ(external.find("resources")->items[0].find("kind")->scalar, "ExternalMetricValueList");
}

TEST(Quantity, IsInThousandthsWhereItMustBe) {
    EXPECT_EQ(quantity_text(0), "0");
    EXPECT_EQ(quantity_text(87'500), "87500m");
    EXPECT_EQ(quantity_text(87'000), "87");
    EXPECT_EQ(quantity_text(3'000'000'000'000), "3000000000");
    EXPECT_EQ(quantity_text(1), "1m");
}

}  // namespace
}  // namespace aliquot::scaling
