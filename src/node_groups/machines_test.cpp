// SPDX-License-Identifier: Apache-2.0
#include "node_groups/machines.h"

#include <gtest/gtest.h>

namespace aliquot::node_groups {
namespace {

const char* const kLab = R"(apiVersion: aliquot.dev/v1alpha1
kind: Pool
metadata: {name: lab}
spec:
  max: 2
  engine: external
  node: {resources: {cpu: 8, memory: 32Gi, nvidia.com/gpu.shared: 4}}
---
kind: Machines
metadata: {name: lab}
spec:
  start: [wakeonlan, "{mac}"]
  stop: [ssh, "root@{name}", poweroff]
  timeout: 20s
  machines:
  - {name: gpu-a, mac: "3c:ec:ef:00:00:01"}
  - {name: gpu-b, mac: "3c:ec:ef:00:00:02"}
)";

std::string broken(const std::string& from, const std::string& to) {
    std::string text = kLab;
    text.replace(text.find(from), from.size(), to);
    const auto read = read_groups("lab.yaml", text);
    return read ? "" : read.error().message;
}

TEST(Machines, AreReadWithTheirPool) {
    const auto groups = read_groups("lab.yaml", kLab);
    ASSERT_TRUE(groups) << groups.error().message;
    ASSERT_EQ(groups->size(), 1U);
    const Group& lab = groups->at(0);
    EXPECT_EQ(lab.machines.size(), 2U);
    EXPECT_EQ(lab.power.timeout, std::chrono::seconds(20));
    EXPECT_EQ(*command_for(lab.power.stop, lab.machines[0]),
              (std::vector<std::string>{"ssh", "root@gpu-a", "poweroff"}));
    EXPECT_EQ(provider_id("lab", "gpu-a"), "aliquot://lab/gpu-a");
}

TEST(Machines, AreRefusedWithTheirPlace) {
    EXPECT_EQ(broken("\"{mac}\"", "\"{ip}\"")
                  .find("lab.yaml:16:5: error: machine 'gpu-a' has no value for {ip}"),
              0U);
    EXPECT_NE(broken("timeout: 20s", "timeout: 2h").find("lab.yaml:14:12"), std::string::npos);
    EXPECT_NE(broken("name: gpu-b", "name: gpu-a").find("there twice"), std::string::npos);
    EXPECT_NE(broken("max: 2", "max: 3").find("has 2 machines, max is 3"), std::string::npos);
    EXPECT_NE(broken("\"3c:ec:ef:00:00:01\"", "\"-oProxyCommand=x\"").find("begins with '-'"),
              std::string::npos);
    EXPECT_NE(broken("engine: external", "engine: karpenter").find("no pool of engine external"),
              std::string::npos);
    EXPECT_FALSE(read_groups("x", ""));
}

}  // namespace
}  // namespace aliquot::node_groups
