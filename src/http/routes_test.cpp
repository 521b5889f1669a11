// SPDX-License-Identifier: Apache-2.0
#include "http/routes.h"

#include <gtest/gtest.h>

namespace aliquot::http {
namespace {

Handler says(const char* text) {
    return [text](const Request&) { return Response{.body = text}; };
}

Routes some() {
    return Routes({{"/", "this list", says("index")},
                   {"/metrics", "for Prometheus", says("metrics")},
                   {"/prometheus", "", says("metrics")},
                   {"/apis/*", "the API", says("api")}});
}

TEST(Routes, APageIsFoundByItsWholePath) {
    EXPECT_EQ(some()({.path = "/metrics"}).body, "metrics");
    EXPECT_EQ(some()({.path = "/"}).body, "index");
    EXPECT_EQ(some()({.path = "/prometheus"}).body, "metrics");
    for (const char* path : {"/metric", "/metrics/", "/metrics/x", "", "*"}) {
        EXPECT_EQ(some()({.path = path}).status, 404) << path;
    }
}

TEST(Routes, AStarIsAllThatIsBelow) {
    EXPECT_EQ(some()({.path = "/apis/custom.metrics.k8s.io"}).body, "api");
    EXPECT_EQ(some()({.path = "/apis/"}).body, "api");
    EXPECT_EQ(some()({.path = "/apis"}).status, 404);
}

TEST(Routes, WhoAsksForNoPageIsToldThePages) {
    EXPECT_EQ(some()({.path = "/none"}).body, "there are /, /metrics and /apis/*\n");
    EXPECT_EQ(Routes({{"/mutate", "a review", says("")}})({.path = "/"}).body,
              "there is /mutate\n");
}

TEST(Routes, TheIndexHasALineForEachPage) {
    EXPECT_EQ(some().index(),
              "/             this list\n"
              "/metrics      for Prometheus\n"
              "/apis/*       the API\n");
}

}  // namespace
}  // namespace aliquot::http
