// SPDX-License-Identifier: Apache-2.0
#include "grant/mechanism.h"

#include <gtest/gtest.h>

#include <string>

namespace aliquot::grant {
namespace {

/// mechanism: metric, node, label, plan, key of the configuration
std::string words_of_all() {
    std::string text;
    for (unsigned i = 0; i <= static_cast<unsigned>(Mechanism::kUnknown); ++i) {
        const auto one = static_cast<Mechanism>(i);
        for (const auto view : {metric_text, node_text, label_text, plan_text, config_key}) {
            text.append(view(one)).append(",");
        }
        text += "\n";
    }
    return text;
}

TEST(AMechanism, IsCalledAsThoseWhoReadItExpect) {
    EXPECT_EQ(words_of_all(),
              "exclusive,none,none,exclusive,,\n"
              "time-slicing,time-slicing,time-slicing,time-slicing,timeSlicing,\n"
              "time-slicing,memory,time-slicing,fraction,timeSlicing,\n"
              "mps,mps,mps,mps,mps,\n"
              "mig,mig,none,mig,,\n"
              "unknown,unknown,none,unknown,,\n");
}

TEST(AMechanism, IsReadBackFromANodesAnnotation) {
    for (unsigned i = 0; i <= static_cast<unsigned>(Mechanism::kUnknown); ++i) {
        const auto one = static_cast<Mechanism>(i);
        EXPECT_EQ(parse_node_text(node_text(one)), one);
    }
    EXPECT_EQ(parse_node_text("exclusive"), Mechanism::kUnknown);
    EXPECT_EQ(parse_node_text(""), Mechanism::kUnknown);
}

TEST(AMechanism, IsReadBackFromAMetricWithoutTheGuard) {
    EXPECT_EQ(parse_metric_text("exclusive"), Mechanism::kNone);
    EXPECT_EQ(parse_metric_text("time-slicing"), Mechanism::kTimeSlicing);
    EXPECT_EQ(parse_metric_text("mps"), Mechanism::kMps);
    EXPECT_EQ(parse_metric_text("mig"), Mechanism::kMig);
    EXPECT_EQ(parse_metric_text("none"), Mechanism::kUnknown);
}

}  // namespace
}  // namespace aliquot::grant
