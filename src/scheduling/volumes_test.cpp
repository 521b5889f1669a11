// SPDX-License-Identifier: Apache-2.0
#include "scheduling/volumes.h"

#include <gmock/gmock.h>

#include "scheduling/fit.h"

namespace aliquot::scheduling {
namespace {

using testing::HasSubstr;

ServedNode node(const std::string& name) {
    ServedNode made{.name = name, .labels = {{"kubernetes.io/hostname", name}}};
    made.is_open = true;
    return made;
}

std::vector<k8s::NodeSelectorTerm> on(const std::string& name) {
    return {{.labels = {{.key = "kubernetes.io/hostname", .values = {name}}}, .fields = {}}};
}

class VolumesTest : public testing::Test {
protected:
    /// Why the node does not do; empty: it does.
    std::string off(const std::string& name) {
        GpuPod pod{.uid = "u", .name_space = "a", .name = "p"};
        pod.claims = {"data"};
        pod.volumes = volumes_.rules_of(pod);
        return keeps_off(pod, node(name));
    }
    Volumes volumes_;
};

TEST_F(VolumesTest, ABoundClaimGoesWhereItsVolumeIs) {
    volumes_.set_claim({.name_space = "a", .name = "data", .volume = "pv"});
    EXPECT_THAT(off("n1"), HasSubstr("the volume pv of its claim data does not exist"));
    volumes_.set_volume({.name = "pv", .claim = "a/data", .nodes = on("n1")});
    EXPECT_EQ(off("n1"), "");
    EXPECT_THAT(off("n2"), HasSubstr("the volume of its claim data is on other nodes"));
    volumes_.set_volume({.name = "pv", .claim = "a/data", .nodes = {}});
    EXPECT_EQ(off("n2"), "") << "a volume that is everywhere";
}

TEST_F(VolumesTest, AMissingClaimGoesNowhereUntilItIsThere) {
    EXPECT_THAT(off("n1"), HasSubstr("its volume claim data does not exist"));
    volumes_.set_claim({.name_space = "a", .name = "data", .storage_class = "now"});
    EXPECT_THAT(off("n1"), HasSubstr("is not bound to a volume yet"));
    volumes_.set_class({.name = "now", .waits_for_pod = true});
    EXPECT_EQ(off("n1"), "");
    volumes_.remove_claim("a", "data");
    EXPECT_THAT(off("n1"), HasSubstr("does not exist"));
}

TEST_F(VolumesTest, AClaimThatWaitsForItsPodGoesWhereAFreeVolumeIs) {
    volumes_.set_class({.name = "local", .waits_for_pod = true, .makes_none = true});
    volumes_.set_claim({.name_space = "a", .name = "data", .storage_class = "local", .bytes = 5});
    EXPECT_THAT(off("n1"), HasSubstr("no free volume of class local"));
    volumes_.set_volume({.name = "small", .storage_class = "local", .nodes = on("n1"), .bytes = 4});
    volumes_.set_volume({.name = "other", .storage_class = "x", .nodes = on("n1"), .bytes = 9});
    volumes_.set_volume(
        {.name = "taken", .storage_class = "local", .claim = "a/b", .nodes = on("n1"), .bytes = 9});
    volumes_.set_volume({.name = "good", .storage_class = "local", .nodes = on("n2"), .bytes = 9});
    EXPECT_NE(off("n1"), "");
    EXPECT_EQ(off("n2"), "");
}

TEST_F(VolumesTest, AClassMayMakeVolumesInSomePlacesOnly) {
    volumes_.set_class({.name = "zonal", .waits_for_pod = true, .topologies = on("n2")});
    volumes_.set_claim({.name_space = "a", .name = "data", .storage_class = "zonal"});
    EXPECT_THAT(off("n1"), HasSubstr("makes no volumes there"));
    EXPECT_EQ(off("n2"), "");
    volumes_.set_claim(
        {.name_space = "a", .name = "data", .storage_class = "zonal", .selected_node = "n1"});
    EXPECT_EQ(off("n1"), "");
    EXPECT_NE(off("n2"), "");
}

}  // namespace
}  // namespace aliquot::scheduling
