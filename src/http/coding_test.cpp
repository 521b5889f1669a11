// SPDX-License-Identifier: Apache-2.0
#include "http/coding.h"

#include <gtest/gtest.h>

#include "http/test_client.h"

namespace aliquot::http {
namespace {

TEST(Coding, GzipIsTakenAsTheWeightsSay) {
    EXPECT_TRUE(takes_gzip("gzip"));
    EXPECT_TRUE(takes_gzip("deflate, GZIP ;q=0.5"));
    EXPECT_TRUE(takes_gzip("x-gzip"));
    EXPECT_TRUE(takes_gzip("br;q=1.0, *;q=0.1"));
    EXPECT_TRUE(takes_gzip("identity;q=0.5,gzip;q=1.0"));
    EXPECT_FALSE(takes_gzip(""));
    EXPECT_FALSE(takes_gzip("deflate"));
    EXPECT_FALSE(takes_gzip("gzip;q=0"));
    EXPECT_FALSE(takes_gzip("gzip;q=0.000, *"));
    EXPECT_FALSE(takes_gzip("gzip;q=0.3, identity"));
    EXPECT_FALSE(takes_gzip("gzip;q=x"));
    EXPECT_FALSE(takes_gzip("gzip;level=1"));
}

TEST(Coding, SmallAndForeignBodiesStayPlain) {
    EXPECT_TRUE(is_compressible("text/plain; version=0.0.4", 2000));
    EXPECT_TRUE(is_compressible("application/openmetrics-text", 2000));
    EXPECT_TRUE(is_compressible("application/json", 2000));
    EXPECT_FALSE(is_compressible("text/plain", 100));
    EXPECT_FALSE(is_compressible("image/png", 2000));
}

TEST(Coding, WhatIsCompressedIsTheSameAgain) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "gpu_pod_busy_seconds_total " + std::to_string(i) + "\n";
    const std::string small = gzip(text);
    EXPECT_LT(small.size(), text.size() / 3);
    EXPECT_EQ(gunzip(small), text);
}

TEST(Coding, WhatDoesNotGetSmallerIsNotCompressed) {
    std::string noise;
    unsigned state = 1;
    for (int i = 0; i < 4000; ++i) {
        state = state * 1664525U + 1013904223U;
        noise += static_cast<char>(state >> 24U);
    }
    EXPECT_EQ(gzip(noise), "");
}

TEST(Coding, ASharedBodyIsCompressedOnce) {
    CompressedBodies bodies;
    auto body = std::make_shared<const std::string>(std::string(5000, 'a'));
    const auto first = bodies.of(body);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(bodies.of(body), first);
    const auto other = std::make_shared<const std::string>(std::string(5000, 'b'));
    EXPECT_NE(bodies.of(other), first);
    EXPECT_EQ(bodies.of(body), first);
    const std::weak_ptr<const std::string> gone = body;
    body.reset();
    EXPECT_TRUE(gone.expired());
}

}  // namespace
}  // namespace aliquot::http
