// SPDX-License-Identifier: Apache-2.0
#include "k8s/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/yaml.h"

namespace aliquot::k8s {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(Pod, IsReadAsTheSchedulerSeesIt) {
    const auto read = document::parse_yaml(R"(
metadata: {name: train, namespace: ml, labels: {app: train}}
spec:
  nodeName: gpu-1
  nodeSelector: {zone: a}
  tolerations: [{operator: Exists}]
  initContainers:
  - {name: fetch, resources: {requests: {cpu: 2, memory: 1Gi}}}
  containers:
  - {name: main, resources: {requests: {cpu: 500m}, limits: {cpu: 4, "nvidia.com/gpu": 1}}}
  - {name: side, resources: {requests: {cpu: 250m, memory: " 2Gi "}}}
status: {phase: Failed}
)");
    ASSERT_EQ(read.documents.size(), 1U);
    const Pod pod = read_pod(read.documents[0]);
    EXPECT_EQ(pod.name_space + "/" + pod.name, "ml/train");
    EXPECT_TRUE(pod.is_finished());
    EXPECT_EQ(pod.where.node_name, "gpu-1");
    EXPECT_EQ(pod.where.labels.at("zone"), "a");
    EXPECT_EQ(pod.labels.at("app"), "train");
    EXPECT_TRUE(tolerates(pod.tolerations, {"any", "thing", "NoExecute"}));
    ASSERT_EQ(pod.containers.size(), 3U);
    EXPECT_TRUE(pod.containers[0].init);
    EXPECT_THAT(pod.requests(), UnorderedElementsAre(Pair("cpu", 2), Pair("memory", 2147483648.0),
                                                     Pair("nvidia.com/gpu", 1)));
}

TEST(Pod, OfAnythingElseIsEmpty) {
    EXPECT_TRUE(read_pod({}).requests().empty());
    const auto read = document::parse_yaml("{spec: [1], metadata: x, status: {phase: {a: b}}}");
    EXPECT_TRUE(read_pod(read.documents[0]).containers.empty());
}

TEST(Requests, OfThePodAsAWholeCountInsteadAndOfItsRuntimeClassBesides) {
    const auto requests = [](const std::string& more) {
        return read_pod(document::parse_yaml(
                            "spec:\n  containers: [{name: main, resources: {requests: {cpu: 2, "
                            "memory: 1Gi}, limits: {gpu: 1}}}]\n" +
                            more)
                            .documents[0])
            .requests();
    };
    auto sums = requests("  overhead: {cpu: 250m}\n");
    EXPECT_EQ(sums["cpu"], 2.25);
    EXPECT_EQ(sums["gpu"], 1);
    sums = requests("  resources: {requests: {cpu: 3}, limits: {cpu: 8, memory: 2Gi}}\n");
    EXPECT_EQ(sums["cpu"], 3);
    EXPECT_EQ(sums["memory"], 2.0 * 1024 * 1024 * 1024) << "a limit where there is no request";
    EXPECT_EQ(sums["gpu"], 1) << "devices are of containers";
    sums = requests("  resources: {requests: {cpu: 3}}\n  overhead: {cpu: 1}\n");
    EXPECT_EQ(sums["cpu"], 4);
}

TEST(Requests, OfASidecarCountBesideTheContainers) {
    const auto gpus = [](std::vector<Container> containers) {
        return requests_of(containers)["gpu"];
    };
    const Container main{.requests = {{"gpu", 2}}};
    const Container init{.init = true, .requests = {{"gpu", 3}}};
    const Container sidecar{.init = true, .sidecar = true, .requests = {{"gpu", 1}}};
    EXPECT_EQ(gpus({main, main}), 4);
    EXPECT_EQ(gpus({init, main}), 3);
    EXPECT_EQ(gpus({sidecar, main}), 3);
    EXPECT_EQ(gpus({sidecar, init, main}), 4) << "an init container runs beside earlier sidecars";
    EXPECT_EQ(gpus({init, sidecar, main}), 3) << "and before later ones";
    EXPECT_EQ(gpus({init, init}), 3);
}

}  // namespace
}  // namespace aliquot::k8s
