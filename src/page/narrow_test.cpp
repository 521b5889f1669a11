// SPDX-License-Identifier: Apache-2.0
#include "page/narrow.h"

#include <gmock/gmock.h>

#include "top/test_world.h"

namespace aliquot::page {
namespace {

using testing::HasSubstr;
using testing::Not;

telemetry::Tenant tenant(std::string space, std::string pod) {
    telemetry::Tenant made;
    made.owner = {.pod_uid = "uid-" + pod,
                  .pod_namespace = std::move(space),
                  .pod = std::move(pod),
                  .container = "main"};
    made.resource = "nvidia.com/gpu";
    made.source = telemetry::Source::kDriver;
    return made;
}

/// Two nodes: on one, ours and theirs share a GPU beside one that is theirs; the other is theirs.
Sight two_teams() {
    Sight sight{.title = "Cluster", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
    for (const char* const name : {"shared-node", "secret-node"}) {
        auto node = std::make_shared<telemetry::Snapshot>();
        node->node = name;
        for (unsigned i = 0; i < 2; ++i) {
            telemetry::Device device;
            device.gpu.index = i;
            device.gpu.uuid = {"GPU-" + std::string(name) + std::to_string(i)};
            device.gpu.model = "NVIDIA A2";
            device.parts.resize(1);
            device.parts[0].others.push_back({.pid = 1, .command = "secret-process"});
            device.parts[0].tenants.push_back(tenant("secret", "secret-pod"));
            if (i == 0 && node->node == "shared-node") {
                device.parts[0].tenants.push_back(tenant("ours", "our-pod"));
            }
            node->devices.push_back(std::move(device));
        }
        node->regions = std::make_shared<const std::vector<guard_region::RegionStatus>>(1);
        sight.cluster.agents.push_back(
            {.address = name, .snapshot = std::move(node), .problem = ""});
    }
    sight.pods = {{.name = "our-waiting", .pod_namespace = "ours", .phase = "Pending"},
                  {.name = "secret-waiting", .pod_namespace = "secret", .phase = "Pending"}};
    sight.remarks = {{"error", "secret-place", "secret-words", ""}};
    sight.more = {{.name = "jobs", .columns = {"job"}, .rows = {RowWriter("secret-job").done()}}};
    return sight;
}

std::string told(const Sight& sight) {
    State state{.tables = tables_of(sight, Breadth::kWhole), .about = "{}"};
    settle(state);
    return tables_json(state);
}

TEST(PageNarrow, KeepsWhatIsOurs) {
    const std::string json = told(only_of(two_teams(), "ours"));
    EXPECT_THAT(json, HasSubstr("shared-node/0"));
    EXPECT_THAT(json, HasSubstr("our-pod"));
    EXPECT_THAT(json, HasSubstr("our-waiting"));
}

TEST(PageNarrow, NamesNothingOfOthers) {
    ASSERT_THAT(told(two_teams()), HasSubstr("secret"));
    const Sight ours = only_of(two_teams(), "ours");
    EXPECT_THAT(told(ours), Not(HasSubstr("secret")));
    EXPECT_THAT(told(ours), Not(HasSubstr("shared-node/1")));
    EXPECT_EQ(ours.cluster.agents.front().snapshot->regions, nullptr);
}

TEST(PageNarrow, ShowsNothingOfANamespaceThatHasNothing) {
    const std::string json = told(only_of(two_teams(), "elsewhere"));
    EXPECT_THAT(json, Not(HasSubstr("node/")));
    EXPECT_THAT(json, Not(HasSubstr("secret")));
    EXPECT_TRUE(only_of(two_teams(), "").cluster.agents.empty());
}

TEST(PageNarrow, OfMigShowsOnlyOurInstances) {
    Sight sight = two_teams();
    auto node = std::make_shared<telemetry::Snapshot>(*sight.cluster.agents[0].snapshot);
    telemetry::Device& device = node->devices[0];
    device.parts.resize(2);
    device.parts[1].tenants = {tenant("secret", "secret-pod")};
    device.parts[0].tenants = {tenant("ours", "our-pod")};
    device.parts[0].gpu_instance = 1;
    device.parts[1].gpu_instance = 2;
    device.parts[1].profile = "secret-profile";
    device.gpu.mig_devices.resize(2);
    device.gpu.mig_devices[0].gpu_instance = 1;
    device.gpu.mig_devices[1].gpu_instance = 2;
    sight.cluster.agents[0].snapshot = node;
    const Sight ours = only_of(sight, "ours");
    EXPECT_THAT(told(ours), Not(HasSubstr("secret")));
    EXPECT_EQ(ours.cluster.agents[0].snapshot->devices[0].gpu.mig_devices.size(), 1U);
}

}  // namespace
}  // namespace aliquot::page
