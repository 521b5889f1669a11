// SPDX-License-Identifier: Apache-2.0
#include "k8s/node_selector.h"

#include <gtest/gtest.h>

#include "document/yaml.h"

namespace aliquot::k8s {
namespace {

TEST(NodeSelector, OneTermMustHoldAndAnEmptyOneNeverDoes) {
    const Labels labels{{"zone", "a"}};
    NodeSelector where;
    EXPECT_TRUE(where.is_anywhere());
    EXPECT_TRUE(where.matches("gpu-1", labels));
    where.has_terms = true;
    EXPECT_FALSE(where.matches("gpu-1", labels));
    where.terms.emplace_back();
    EXPECT_FALSE(where.matches("gpu-1", labels));
    EXPECT_FALSE(where.terms[0].matches("gpu-1", labels));
    EXPECT_EQ(where.terms[0].first_unmet("gpu-1", labels), nullptr);
    where.terms.push_back(
        {.labels = {}, .fields = {{.key = "metadata.name", .values = {"gpu-1"}}}});
    EXPECT_TRUE(where.matches("gpu-1", labels));
    EXPECT_FALSE(where.matches("gpu-2", labels));
    where.labels = {{"zone", "b"}};
    EXPECT_FALSE(where.matches("gpu-1", labels));
    where.labels = {{"zone", "a"}};
    where.node_name = "gpu-2";
    EXPECT_FALSE(where.matches("gpu-1", labels));
}

TEST(NodeSelector, IsReadFromAPodSpec) {
    const auto read = document::parse_yaml(R"(
nodeSelector: {zone: a}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: gpu, operator: In, values: [a100, h100]}
        - {key: memory, operator: Gt, values: ["4000"]}
      - matchFields:
        - {key: metadata.name, operator: In, values: [special]}
)");
    ASSERT_EQ(read.documents.size(), 1U);
    const document::Value* const spec = read.documents.data();
    const NodeSelector where = read_node_selector(*spec);
    EXPECT_TRUE(where.matches("n1", {{"zone", "a"}, {"gpu", "h100"}, {"memory", "8000"}}));
    EXPECT_FALSE(where.matches("n1", {{"zone", "a"}, {"gpu", "h100"}, {"memory", "4000"}}));
    EXPECT_TRUE(where.matches("special", {{"zone", "a"}}));
    EXPECT_FALSE(where.matches("special", {{"zone", "b"}}));
}

}  // namespace
}  // namespace aliquot::k8s
