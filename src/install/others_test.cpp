// SPDX-License-Identifier: Apache-2.0
#include "install/others.h"

#include <gtest/gtest.h>

namespace aliquot::install {
namespace {

kube_client::Object daemon_set(const std::string& space, const std::string& name,
                               const std::string& image, int nodes, const std::string& owner = "") {
    const std::string owners =
        owner.empty() ? "" : R"("ownerReferences":[{"kind":")" + owner + R"("}],)";
    return {.json = R"({"metadata":{)" + owners + R"("name":")" + name +
                    R"("},"spec":{"template":{"spec":{"containers":[{"image":")" + image +
                    R"("}]}}},"status":{"desiredNumberScheduled":)" + std::to_string(nodes) + "}}",
            .namespace_name = space,
            .name = name};
}

TEST(OtherPlugins, AreKnownByNameAndImage) {
    const auto found = others_among(
        {daemon_set("kube-system", "nvidia-device-plugin-daemonset",
                    "nvcr.io/nvidia/k8s-device-plugin:v0.17.0", 2),
         daemon_set("gpu-operator", "nvidia-device-plugin-daemonset", "registry/gpu-operator:v25",
                    1, "ClusterPolicy"),
         daemon_set("kube-system", "hami-device-plugin", "projecthami/hami:v2.6", 1),
         daemon_set("nvidia", "gpu-feature-discovery", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0",
                    2),
         daemon_set("kube-system", "nvidia-device-plugin-mps-control-daemon", "x", 0),
         daemon_set("aliquot-system", "aliquot-agent", "ghcr.io/aliquot/aliquot:0.1.0", 2),
         daemon_set("kube-system", "kube-proxy", "kube-proxy:1", 2)});
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].what, "NVIDIA's device plugin");
    EXPECT_EQ(found[0].title, "DaemonSet kube-system/nvidia-device-plugin-daemonset");
    EXPECT_EQ(found[1].what, "NVIDIA's GPU operator");
    EXPECT_EQ(found[2].what, "HAMi");
    for (const OtherPlugin& one : found)
        EXPECT_NE(one.advice.find("docs/guide/migrate"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::install
