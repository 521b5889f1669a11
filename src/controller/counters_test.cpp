// SPDX-License-Identifier: Apache-2.0
#include "controller/counters.h"

#include <gmock/gmock.h>

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Counters, CountReviewsByResultAndTime) {
    Counters counters;
    counters.add_review(admission::ReviewResult::kPatched, 80us);
    counters.add_review(admission::ReviewResult::kPatched, 5ms);
    counters.add_review(admission::ReviewResult::kRefused, 2s);
    counters.add_tending_failure();
    const std::string text = counters.text({.leads = true, .gpu_nodes = 3});
    EXPECT_THAT(text, HasSubstr("aliquot_admission_reviews_total{result=\"patched\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_admission_reviews_total{result=\"refused\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"0.00005\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"0.0001\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"0.005\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"1\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"+Inf\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("_seconds_count 3\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_admission_gpu_nodes 3\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_controller_leader 1\n"));
    EXPECT_THAT(text, HasSubstr("aliquot_controller_tending_failures_total 1\n"));
}

}  // namespace
}  // namespace aliquot::controller
