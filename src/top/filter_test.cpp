// SPDX-License-Identifier: Apache-2.0
#include "top/filter.h"

#include <gtest/gtest.h>

namespace aliquot::top {
namespace {

bool keeps(const char* text) {
    const Subject subject{.node = "gpu-node-1",
                          .gpu = "1",
                          .model = "NVIDIA H100 80GB HBM3",
                          .pod_namespace = "team-a",
                          .pod = "cat-watcher-x2x9q",
                          .command = "python3 "};
    const auto filter = Filter::parse(text);
    EXPECT_TRUE(filter) << text;
    return filter && filter->keeps(subject);
}

TEST(TopFilter, KeepsWhatHasAllTheWords) {
    for (const auto* text : {"", "cat", "CAT team-a", "ns=team pod=cat", "model=h100", "gpu=1",
                             "!ns=team-b", "!dog cat", "cmd=python", "ns=", "node=gpu-node"})
        EXPECT_TRUE(keeps(text)) << text;
    for (const auto* text : {"dog", "cat dog", "ns=cat", "gpu=10", "gpu=0", "!cat", "!gpu=1"})
        EXPECT_FALSE(keeps(text)) << text;
}

TEST(TopFilter, SaysWhichNamesThereAre) {
    const auto filter = Filter::parse("namspace=x");
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(filter.error().message.find("did you mean 'namespace'"), std::string::npos)
        << filter.error().message;
}

}  // namespace
}  // namespace aliquot::top
