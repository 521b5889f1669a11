// SPDX-License-Identifier: Apache-2.0
#include "agent/planned_grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kName[] = "nvidia.com/gpu.shared";

sharing::Resource two_gpus() {
    sharing::Resource resource{.name = kName, .shared = true};
    for (const char* const uuid : {"GPU-a", "GPU-b"}) {
        sharing::OfferedGpu gpu;
        gpu.gpu.uuid = {uuid};
        gpu.replicas = 3;
        resource.gpus.push_back(gpu);
    }
    return resource;
}

const std::vector<std::string> kAll{"GPU-a::0", "GPU-a::1", "GPU-a::2",
                                    "GPU-b::0", "GPU-b::1", "GPU-b::2"};

scheduling::Plan plan(unsigned count, const std::map<std::string, unsigned>& units) {
    return {.generation = 1,
            .asked = {{"main", kName, count}},
            .targets = {{"other", {{kName, {{"GPU-x", count}}}}}, {"here", {{kName, units}}}}};
}

TEST(PlannedGrants, PrefersTheGpuOfTheOldestPlanOfThatShape) {
    PlannedGrants grants;
    grants.set("young", "2026-01-01T00:00:02Z", plan(2, {{"GPU-a", 2}}), "here");
    grants.set("old", "2026-01-01T00:00:01Z", plan(2, {{"GPU-b", 2}}), "here");
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, {}, 2), ElementsAre("GPU-b::0", "GPU-b::1"));
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, {}, 1), IsEmpty()) << "nobody asked for one";
    const std::vector<std::string> given{"GPU-b::0", "GPU-b::1"};
    grants.note_granted(two_gpus(), given);
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, {}, 2), ElementsAre("GPU-a::0", "GPU-a::1"));
}

TEST(PlannedGrants, TakesTheNextPlanWhenThePlannedGpuIsIllOrFull) {
    PlannedGrants grants;
    grants.set("old", "1", plan(2, {{"GPU-b", 2}}), "here");
    const std::vector<std::string> rest{"GPU-a::0", "GPU-a::1", "GPU-b::2"};
    EXPECT_THAT(grants.prefer(two_gpus(), rest, {}, 2), IsEmpty());
    grants.set("young", "2", plan(2, {{"GPU-a", 2}}), "here");
    EXPECT_THAT(grants.prefer(two_gpus(), rest, {}, 2), ElementsAre("GPU-a::0", "GPU-a::1"));
}

TEST(PlannedGrants, KeepsWhatKubeletWantsIncluded) {
    PlannedGrants grants;
    grants.set("p", "1", plan(2, {{"GPU-b", 2}}), "here");
    const std::vector<std::string> must{"GPU-b::2"};
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, must, 2), ElementsAre("GPU-b::2", "GPU-b::0"));
    const std::vector<std::string> other{"GPU-a::2"};
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, other, 2), IsEmpty());
}

TEST(PlannedGrants, SpreadsUnitsAsPlanned) {
    PlannedGrants grants;
    grants.set("p", "1", plan(2, {{"GPU-a", 1}, {"GPU-b", 1}}), "here");
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, {}, 2), ElementsAre("GPU-a::0", "GPU-b::0"));
}

TEST(PlannedGrants, ForgetsPodsThatHoldOrAreGoneOrAreNotPlannedHere) {
    PlannedGrants grants;
    grants.set("p", "1", plan(1, {{"GPU-a", 1}}), "here");
    grants.set("q", "2", plan(1, {{"GPU-b", 1}}), "here");
    grants.set("r", "3", plan(1, {{"GPU-b", 1}}), "elsewhere");
    EXPECT_EQ(grants.size(), 2U);
    grants.note_holders({"p"});
    EXPECT_EQ(grants.size(), 1U);
    grants.set("p", "1", plan(1, {{"GPU-a", 1}}), "here");
    EXPECT_EQ(grants.size(), 1U) << "it has been served";
    grants.erase("q");
    EXPECT_EQ(grants.size(), 0U);
}

TEST(PlannedGrants, LooksOnceMoreWhenNothingOfThatShapeIsKnown) {
    PlannedGrants grants;
    unsigned looks = 0;
    grants.set_refresh([&] {
        ++looks;
        grants.set("late", "1", plan(1, {{"GPU-b", 1}}), "here");
    });
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, {}, 1), ElementsAre("GPU-b::0"));
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, {}, 1), ElementsAre("GPU-b::0"));
    EXPECT_EQ(looks, 1U);
}

TEST(PlannedGrants, ServesEachContainerOfAPodFromItsPlan) {
    PlannedGrants grants;
    scheduling::Plan two = plan(1, {{"GPU-a", 1}, {"GPU-b", 1}});
    two.asked.push_back({"second", kName, 1});
    grants.set("p", "1", two, "here");
    const std::vector<std::string> first{"GPU-a::0"};
    grants.note_granted(two_gpus(), first);
    EXPECT_THAT(grants.prefer(two_gpus(), kAll, {}, 1), ElementsAre("GPU-b::0"));
    const std::vector<std::string> second{"GPU-b::0"};
    grants.note_granted(two_gpus(), second);
    EXPECT_EQ(grants.size(), 0U);
}

TEST(PlannedGrants, KnowsMigDevicesByTheirGpu) {
    sharing::Resource resource{.name = "nvidia.com/mig-1g.5gb"};
    for (const char* const uuid : {"MIG-1", "MIG-2"}) {
        sharing::OfferedGpu device;
        device.gpu.uuid = {std::string(uuid) == "MIG-1" ? "GPU-a" : "GPU-b"};
        device.mig.emplace();
        device.mig->uuid = {uuid};
        resource.gpus.push_back(device);
    }
    PlannedGrants grants;
    grants.set("p", "1",
               {.asked = {{"main", resource.name, 1}},
                .targets = {{"here", {{resource.name, {{"GPU-b", 1}}}}}}},
               "here");
    const std::vector<std::string> available{"MIG-1", "MIG-2"};
    EXPECT_THAT(grants.prefer(resource, available, {}, 1), ElementsAre("MIG-2"));
}

}  // namespace
}  // namespace aliquot::agent
