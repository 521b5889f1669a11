// SPDX-License-Identifier: Apache-2.0
#include "job_server/fleet.h"

#include <gtest/gtest.h>

namespace aliquot::job_server {
namespace {

std::vector<Device> devices(std::initializer_list<const char*> words) {
    std::vector<Device> all;
    for (const char* const word : words) {
        auto more = simulated_devices(word, static_cast<unsigned>(all.size()));
        EXPECT_TRUE(more) << more.error().message;
        all.insert(all.end(), more->begin(), more->end());
    }
    return all;
}

bool takes(const Fleet& fleet, jobs::Request request) { return fleet.request_of(request).ok(); }

TEST(JobFleet, KnowsWhichGpusAJobCanHave) {
    const Fleet fleet(devices({"a2:2", "a100-80:4"}));
    EXPECT_TRUE(takes(fleet, {.gpu_count = 4}));
    EXPECT_FALSE(takes(fleet, {.gpu_count = 8}));
    EXPECT_TRUE(takes(fleet, {.gpu_count = 2, .gpu_type = "a2"}));
    EXPECT_FALSE(takes(fleet, {.gpu_count = 4, .gpu_type = "a2"}));
    EXPECT_TRUE(takes(fleet, {.gpu_type = "a100"}));
    EXPECT_TRUE(takes(fleet, {.gpu_type = "a100-80"}));
    EXPECT_FALSE(takes(fleet, {.gpu_type = "a100-40"}));
    EXPECT_FALSE(takes(fleet, {.gpu_type = "h100"}));
    EXPECT_TRUE(takes(fleet, {.gpu_memory = "70Gi"}));
    EXPECT_FALSE(takes(fleet, {.gpu_type = "a2", .gpu_memory = "70Gi"}));
    EXPECT_FALSE(takes(fleet, {.gpu_memory = "100Gi"}));
    EXPECT_TRUE(takes(fleet, {.gpu_compute = 100}));
}

TEST(JobFleet, FindsThePlaceOfDevicesAgain) {
    const Fleet fleet(devices({"a2:2", "t4:2"}));
    const auto& all = fleet.devices();
    const std::vector<std::string> second{all[3].uuid};
    EXPECT_EQ(fleet.devices_at(fleet.places_of(second)), second);
    const std::vector<std::string> both{all[0].uuid, all[1].uuid};
    EXPECT_EQ(fleet.devices_at(fleet.places_of(both)), both);
    EXPECT_TRUE(fleet.places_of({all[0].uuid, all[2].uuid}).empty());
    EXPECT_TRUE(fleet.places_of({"GPU-gone"}).empty());
    EXPECT_TRUE(fleet.devices_at(fleet.places_of({})).empty());
}

TEST(JobFleet, RefusesWhatIsNoModelOrCount) {
    for (const char* words : {"", "a1000", "a2:0", "a2:x", "a2:65", "a2:-1", "a2:"}) {
        EXPECT_FALSE(simulated_devices(words, 0)) << words;
    }
}

}  // namespace
}  // namespace aliquot::job_server
