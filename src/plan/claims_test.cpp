// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "document/path.h"
#include "document/yaml.h"
#include "plan/plan.h"

namespace aliquot::plan {
namespace {

using document::text_at;

std::vector<document::Value> templates_of(const std::vector<Share>& shares) {
    Plan plan;
    plan.shares = shares;
    auto read = document::parse_yaml(claim_templates(plan));
    EXPECT_TRUE(read.errors.empty());
    return read.documents;
}

constexpr const char* kRequest = "spec.spec.devices.requests.0.exactly.";

TEST(PlanClaims, AskForWhatWasPlannedInStepsOfTheDriver) {
    const auto made =
        templates_of({{.workload = "Whisper v3",
                       .mode = Mode::kFraction,
                       .need_mib = 5000,
                       .memory_mib = 7232,
                       .compute_percent = 50},
                      {.workload = "tight",
                       .mode = Mode::kMps,
                       .need_mib = 1100,
                       .memory_mib = 1120,
                       .compute_percent = 12},
                      {.workload = "turns", .mode = Mode::kTimeSlicing, .memory_mib = 4096}});
    ASSERT_EQ(made.size(), 3U);
    const std::string at = kRequest;
    EXPECT_EQ(text_at(made[0], "metadata.name"), "whisper-v3");
    EXPECT_EQ(text_at(made[0], at + "deviceClassName"), "gpu.aliquot.dev");
    EXPECT_EQ(text_at(made[0], at + "capacity.requests.memory"), "7168Mi");
    EXPECT_EQ(text_at(made[0], at + "capacity.requests.compute"), "50");
    EXPECT_EQ(text_at(made[1], at + "capacity.requests.memory"), "1280Mi")
        << "no less than it needs";
    EXPECT_EQ(text_at(made[2], at + "capacity.requests.compute"), "0") << "nothing was promised";
}

TEST(PlanClaims, TakeWholeGpusAndMigDevicesAsTheyAre) {
    const auto made = templates_of(
        {{.workload = "train", .replica = 0, .mode = Mode::kExclusive, .need_mib = 20480},
         {.workload = "train", .replica = 0, .mode = Mode::kExclusive, .need_mib = 20480},
         {.workload = "part", .replica = 0, .mode = Mode::kMig, .profile = "1g.10gb"},
         {.workload = "part", .replica = 1, .mode = Mode::kMig, .profile = "1g.10gb"},
         {.workload = "small", .mode = Mode::kCpu}});
    ASSERT_EQ(made.size(), 2U);
    const std::string at = kRequest;
    EXPECT_EQ(text_at(made[0], at + "count"), "2") << "of one replica";
    EXPECT_EQ(text_at(made[0], at + "selectors.0.cel.expression"),
              "device.attributes[\"gpu.aliquot.dev\"].memoryMiB >= 20480");
    EXPECT_EQ(document::at_path(made[0], at + "capacity"), nullptr);
    EXPECT_EQ(text_at(made[1], at + "deviceClassName"), "mig.aliquot.dev");
    EXPECT_EQ(text_at(made[1], at + "count"), "");
    EXPECT_EQ(text_at(made[1], at + "selectors.0.cel.expression"),
              "device.attributes[\"gpu.aliquot.dev\"].profile == \"1g.10gb\"");
    EXPECT_EQ(claim_templates(Plan{}), "");
}

}  // namespace
}  // namespace aliquot::plan
