// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/visible_devices.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "sim/node/identity.h"
#include "sim/node/mig.h"
#include "sim/node/node.h"

namespace aliquot::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class VisibleDevices : public ::testing::Test {
protected:
    void SetUp() override {
        auto made = state_for({.gpus = {{"t4", 1}, {"a100-40", 2}}});
        ASSERT_TRUE(made);
        state_ = *std::move(made);
    }
    std::vector<unsigned> slots(DeviceChoice choice) {
        std::vector<unsigned> found;
        for (const VisibleDevice& device : visible_devices(*state_, choice)) {
            found.push_back(device.slot);
        }
        return found;
    }
    std::vector<unsigned> chosen(std::string_view list) {
        return slots({.chosen = list, .chosen_set = true, .order = "PCI_BUS_ID"});
    }
    std::string uuid(unsigned slot) { return std::string(state_->gpus[slot].uuid.view()); }
    std::unique_ptr<State> state_;
};

TEST_F(VisibleDevices, AreAllTheFasterFirstUnlessAskedByBus) {
    EXPECT_THAT(slots({}), ElementsAre(1, 2, 0));
    EXPECT_THAT(slots({.order = "PCI_BUS_ID"}), ElementsAre(0, 1, 2));
}

TEST_F(VisibleDevices, EndAtTheFirstEntryThatMeansNone) {
    EXPECT_THAT(chosen("2,0"), ElementsAre(2, 0));
    EXPECT_THAT(chosen("1,7,0"), ElementsAre(1));
    EXPECT_THAT(chosen("1,-1,0"), ElementsAre(1));
    EXPECT_THAT(chosen(""), IsEmpty());
    EXPECT_THAT(chosen("none"), IsEmpty());
    EXPECT_THAT(chosen("1,1"), IsEmpty()) << "one named twice voids the list";
}

TEST_F(VisibleDevices, CanBeNamedByUuidOrItsBeginning) {
    EXPECT_THAT(chosen(uuid(2)), ElementsAre(2));
    EXPECT_THAT(chosen(uuid(1).substr(0, 14) + "," + uuid(0)), ElementsAre(1, 0));
    EXPECT_THAT(chosen("GPU-"), IsEmpty()) << "not just one";
}

TEST_F(VisibleDevices, AreNoMoreThanTheContainerHas) {
    EXPECT_THAT(slots({.container = "0,2", .container_set = true}), ElementsAre(2, 0));
    EXPECT_THAT(slots({.container = "", .container_set = true}), IsEmpty());
    EXPECT_THAT(
        slots({.container = uuid(1), .container_set = true, .chosen = "0", .chosen_set = true}),
        ElementsAre(1));
}

TEST_F(VisibleDevices, OfMigAreOneAtATime) {
    ASSERT_TRUE(cut_gpu(*state_, 1, "3g.20gb,1g.5gb"));
    const auto devices = mig_devices(*state_, 1);
    ASSERT_EQ(devices.size(), 2U);
    const std::string second(find_compute_instance(*state_, 1, devices[1])->uuid.view());
    EXPECT_THAT(visible_devices(*state_, {.chosen = second, .chosen_set = true}),
                ElementsAre(VisibleDevice{1, devices[1]}));
    EXPECT_THAT(slots({}), ElementsAre(2, 0)) << "whole GPUs hide MIG devices";
    EXPECT_THAT(visible_devices(*state_, {.container = "1", .container_set = true}),
                ElementsAre(VisibleDevice{1, devices[0]}));
    EXPECT_THAT(visible_devices(*state_, {.container = second, .container_set = true}),
                ElementsAre(VisibleDevice{1, devices[1]}));
}

}  // namespace
}  // namespace aliquot::sim
