// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gang_objects.h"

#include <gtest/gtest.h>

#include "kube_client/stub_api.h"

namespace aliquot::scheduling {
namespace {

using Source = GangClaim::Source;

TEST(GangObjects, AreAskedForWhereTheClusterHasThem) {
    kube_client::StubApi api;
    api.put("/apis/batch/v1/jobs", {"team", "j"}, R"({"spec":{"parallelism":3}})");
    api.put("/apis/jobset.x-k8s.io/v1alpha2/jobsets", {"team", "s"}, "{}");
    api.put("/apis/scheduling.k8s.io/v1alpha2/podgroups", {"team", "g"},
            R"({"spec":{"schedulingPolicy":{"gang":{"minCount":4}}}})");
    const auto fetch = gang_objects(api);
    const GangClaim job{.source = Source::kJob, .object = "j", .is_named = true};
    const auto text = fetch(job, "team");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(read_gang_size(job, *text)->size, 3U);
    EXPECT_TRUE(fetch({.source = Source::kJobSet, .object = "s"}, "team"));
    const GangClaim group{.source = Source::kPodGroup, .object = "g"};
    const auto found = fetch(group, "team");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(read_gang_size(group, *found)->size, 4U);
    EXPECT_EQ(fetch({.source = Source::kPodGroup, .object = "none"}, "team").error().code,
              ErrorCode::kNotFound);
}

TEST(GangObjects, SayWhatIsForbidden) {
    kube_client::StubApi api;
    api.before =
        [](const kube_client::Request&) -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        return kube_client::Reply{
            403, R"({"kind":"Status","reason":"Forbidden","message":"jobs \"j\" is forbidden"})"};
    };
    const auto found = gang_objects(api)({.source = Source::kJob, .object = "j"}, "team");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kPermission);
    EXPECT_NE(found.error().message.find("is forbidden"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::scheduling
