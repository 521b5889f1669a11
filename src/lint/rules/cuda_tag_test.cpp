// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/cuda_tag.h"

#include <gtest/gtest.h>

namespace aliquot::lint {
namespace {

TEST(CudaTagTest, TagsThatExistHaveNoMistake) {
    for (const std::string_view text :
         {"12.2.2-base-ubuntu22.04", "12.1.1-cudnn8-runtime-ubuntu22.04", "13.0.1-devel-ubi9",
          "12.4.1-cudnn-devel-rockylinux8", "11.8.0-base-ubuntu20.04",
          "12.3.2-cudnn9-devel-ubuntu22.04"}) {
        const auto tag = read_cuda_tag(text);
        ASSERT_TRUE(tag.has_value()) << text;
        EXPECT_EQ(mistake_of(*tag), "") << text;
    }
}

TEST(CudaTagTest, WhatIsMendedExists) {
    for (const std::string_view text :
         {"12.0-base", "12.3-base-ubuntu22.04", "12.7.1-base-ubuntu22.04",
          "12.1.1-base-ubuntu24.04", "12.6.3-cudnn9-runtime-ubuntu22.04",
          "12.1.0-runtime-cudnn8-ubuntu22.04", "13.0-devel", "12.2.0",
          "12.1.0-cudnn8-base-ubuntu22.04", "12.1.0-cudnn-devel-ubuntu22.04"}) {
        const auto tag = read_cuda_tag(text);
        ASSERT_TRUE(tag.has_value()) << text;
        EXPECT_NE(mistake_of(*tag), "") << text;
        const auto better = read_cuda_tag(nearest_tag(*tag));
        ASSERT_TRUE(better.has_value()) << text;
        EXPECT_EQ(mistake_of(*better), "") << text << " became " << nearest_tag(*tag);
    }
    EXPECT_EQ(nearest_tag(*read_cuda_tag("12.0-base")), "12.0.1-base-ubuntu22.04");
    EXPECT_EQ(mistake_of(*read_cuda_tag("12.4.1-runtimes-ubuntu22.04")),
              "there is no flavour runtimes");
    EXPECT_EQ(nearest_tag(*read_cuda_tag("12.4.1-runtimes-ubuntu22.04")),
              "12.4.1-runtime-ubuntu22.04");
}

TEST(CudaTagTest, OtherTextsAreNoTags) {
    EXPECT_FALSE(read_cuda_tag("latest").has_value());
    EXPECT_FALSE(read_cuda_tag("").has_value());
    EXPECT_FALSE(read_cuda_tag("12x-base").has_value());
    EXPECT_FALSE(read_cuda_tag("....").has_value());
}

}  // namespace
}  // namespace aliquot::lint
